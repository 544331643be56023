//! Persisted documents, which clients reference by hash instead of sending the text. They are documents that clients
//! have sent before, and the operator's trusted documents.
//!
//! # Why each process has its own cache of client documents
//! The cache only saves network traffic: if a document is not cached, the client resends it. A cache in Redis would
//! cost a round trip for each lookup, and any client could fill the memory that holds the application's data. Each
//! process therefore has a bounded cache that evicts documents no longer in use.

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache;
use sha2::{Digest as _, Sha256};

use crate::config::{GraphqlConfig, Switch, TrustedMode};
use crate::graphql::document::Document;
use crate::graphql::error::{Code, RequestError};

/// Maximum total size of cached client documents, in bytes.
const CACHED_BYTES: u64 = 16 << 20;
/// Expected number of cached client documents.
const CACHED_TEXTS: usize = 10_000;
/// Maximum number of errors reported for a file.
const MOST_FAULTS: usize = 8;

/// A document's identifier: the SHA-256 of its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DocumentHash([u8; 32]);

impl DocumentHash {
    /// Returns the hash of a document.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self(Sha256::digest(text).into())
    }

    /// Parses a hash in hexadecimal digits, with or without the prefix `sha256:`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("sha256:").unwrap_or(text);
        let mut hash = [0; 32];
        if digits.len() != 2 * hash.len() || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        for (byte, digits) in hash.iter_mut().zip(digits.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
        }
        Some(Self(hash))
    }
}

impl fmt::Display for DocumentHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

/// The documents that clients can reference by hash.
pub(super) struct Persisted {
    /// Cache of the documents that clients have sent together with a hash; `None` if caching is disabled.
    remembered: Option<Cache<DocumentHash, Arc<str>, Length>>,
    trusted: HashMap<DocumentHash, Arc<Document>>,
    /// True if the server accepts only trusted documents.
    is_closed: bool,
}

/// A document found by its hash.
pub(super) enum Named {
    Trusted(Arc<Document>),
    Remembered(Arc<str>),
}

#[derive(Clone)]
struct Length;

impl Weighter<DocumentHash, Arc<str>> for Length {
    fn weight(&self, _: &DocumentHash, text: &Arc<str>) -> u64 {
        200 + text.len() as u64
    }
}

impl Persisted {
    /// Reads the configured trusted documents. `read` parses and validates a document.
    pub(super) fn open(
        config: &GraphqlConfig,
        read: impl Fn(&str) -> Result<Document, RequestError>,
    ) -> Result<Self, TrustedError> {
        let is_closed = config.graphql_trusted_mode == TrustedMode::Only;
        let trusted = match (&config.graphql_trusted_documents, config.graphql_trusted_mode) {
            (_, TrustedMode::Off) | (None, TrustedMode::Prefer) => HashMap::new(),
            (None, TrustedMode::Only) => return Err(TrustedError::NoFile),
            (Some(file), TrustedMode::Prefer | TrustedMode::Only) => read_file(file, read)?,
        };
        let does_remember = config.graphql_persisted_queries == Switch::On && !is_closed;
        let remembered = does_remember.then(|| Cache::with_weighter(CACHED_TEXTS, CACHED_BYTES, Length));
        Ok(Self { remembered, trusted, is_closed })
    }

    /// Returns true if documents must be hashed to determine whether they are trusted.
    pub(super) fn has_trusted(&self) -> bool {
        self.is_closed || !self.trusted.is_empty()
    }

    pub(super) fn find_trusted(&self, hash: DocumentHash) -> Option<Arc<Document>> {
        self.trusted.get(&hash).cloned()
    }

    /// Returns the document with this hash. If the hash is unknown, the error message causes clients to send the
    /// document or to stop sending hashes.
    pub(super) fn find(&self, hash: DocumentHash) -> Result<Named, RequestError> {
        if let Some(document) = self.find_trusted(hash) {
            return Ok(Named::Trusted(document));
        }
        if let Some(text) = self.remembered.as_ref().and_then(|remembered| remembered.get(&hash)) {
            return Ok(Named::Remembered(text));
        }
        Err(if self.remembered.is_some() || self.has_trusted() {
            RequestError::not_found()
        } else {
            RequestError::new(Code::PersistedQueryNotSupported, "PersistedQueryNotSupported")
        })
    }

    /// Returns the number of cached client documents.
    pub(super) fn cached(&self) -> usize {
        self.remembered.as_ref().map_or(0, Cache::len)
    }

    /// Rejects an untrusted document if the server accepts only trusted documents.
    pub(super) fn admit_others(&self) -> Result<(), RequestError> {
        if self.is_closed {
            let message = "This server accepts only trusted documents.";
            return Err(RequestError::new(Code::Forbidden, message));
        }
        Ok(())
    }

    /// Caches the text of a valid document.
    pub(super) fn remember(&self, hash: DocumentHash, text: &str) {
        if let Some(remembered) = &self.remembered
            && remembered.get(&hash).is_none()
        {
            remembered.insert(hash, text.into());
        }
    }
}

/// The reason that the trusted documents cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TrustedError {
    /// No trusted-documents file is configured.
    #[error("--graphql-trusted-mode=only requires a file: set --graphql-trusted-documents")]
    NoFile,
    /// The file cannot be read.
    #[error("the trusted documents in {0} cannot be read")]
    Read(PathBuf, #[source] io::Error),
    /// The file is not a JSON object of strings.
    #[error("{0} is not a JSON object from hashes to documents")]
    Form(PathBuf, #[source] serde_json::Error),
    /// Some documents in the file are invalid or do not match their keys.
    #[error("the trusted documents in {0} cannot be used:{1}")]
    Faults(PathBuf, Faults),
}

/// The errors in a file's documents, each with the document's key.
#[derive(Debug, Default)]
pub struct Faults(Vec<(String, String)>);

impl fmt::Display for Faults {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (key, fault) in self.0.iter().take(MOST_FAULTS) {
            write!(formatter, "\n  {key}: {fault}")?;
        }
        match self.0.len().saturating_sub(MOST_FAULTS) {
            0 => Ok(()),
            more => write!(formatter, "\n  and {more} more"),
        }
    }
}

/// Reads the documents in a file, in the format that GraphQL code generators write. Each document must match its key
/// and be valid.
fn read_file(
    file: &Path,
    read: impl Fn(&str) -> Result<Document, RequestError>,
) -> Result<HashMap<DocumentHash, Arc<Document>>, TrustedError> {
    let text = fs::read_to_string(file).map_err(|error| TrustedError::Read(file.to_owned(), error))?;
    let texts: HashMap<String, String> =
        serde_json::from_str(&text).map_err(|error| TrustedError::Form(file.to_owned(), error))?;
    let mut documents = HashMap::with_capacity(texts.len());
    let mut faults = Faults::default();
    for (key, text) in texts {
        match read_entry(&key, &text, &read) {
            Ok((hash, document)) => drop(documents.insert(hash, Arc::new(document))),
            Err(fault) => faults.0.push((key, fault)),
        }
    }
    if faults.0.is_empty() {
        return Ok(documents);
    }
    faults.0.sort();
    Err(TrustedError::Faults(file.to_owned(), faults))
}

fn read_entry(
    key: &str,
    text: &str,
    read: impl Fn(&str) -> Result<Document, RequestError>,
) -> Result<(DocumentHash, Document), String> {
    let hash = DocumentHash::parse(key).ok_or("the key is not a SHA-256 in 64 hexadecimal digits")?;
    if hash != DocumentHash::of(text) {
        return Err("this is not the SHA-256 of the document".to_owned());
    }
    let document = read(text).map_err(|rejected| {
        let messages = rejected.errors.iter().map(|error| error.message.as_str());
        messages.collect::<Vec<_>>().join(" ")
    })?;
    Ok((hash, Document { is_trusted: true, ..document }))
}
