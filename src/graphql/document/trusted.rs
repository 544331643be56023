//! Trusted documents: the documents in the operator's files, which are read at start, and again when a file changes.
//!
//! Not here: documents that clients have sent (`persisted`).
//!
//! # Why the files are polled
//! Change notifications of the system refer to files, not to paths. They miss files that are replaced behind a symbolic
//! link, and all changes on network file systems. Querying the attributes of a few files once a second costs
//! microseconds.

use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::fs::{self, Metadata};
use std::io;
use std::mem;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

use crate::graphql::document::Document;
use crate::graphql::document::hash::DocumentHash;
use crate::graphql::error::RequestError;

/// Maximum number of errors reported for a file.
const MOST_FAULTS: usize = 8;

/// Valid documents by hash.
type ByHash = HashMap<DocumentHash, Arc<Document>>;

/// The content of each file, or the reason that the file cannot be read.
type Texts = Vec<io::Result<String>>;

/// The current trusted documents, and the files that contain them.
pub(super) struct Trusted {
    files: Vec<PathBuf>,
    documents: RwLock<Arc<ByHash>>,
    seen: Mutex<Seen>,
}

impl Trusted {
    /// Reads the files. `validate` parses and validates a document.
    pub(super) fn open(
        files: &[PathBuf],
        validate: impl Fn(&str) -> Result<Document, RequestError>,
    ) -> Result<Self, TrustedError> {
        let (seen, texts) = Seen::read(files);
        let documents = load(files, texts, &ByHash::new(), validate)?;
        Ok(Self {
            files: files.to_vec(),
            documents: RwLock::new(Arc::new(documents)),
            seen: Mutex::new(seen),
        })
    }

    /// Returns true if documents may be trusted, and must be hashed to determine whether they are.
    pub(super) fn has_files(&self) -> bool {
        !self.files.is_empty()
    }

    /// Returns the trusted document with this hash.
    pub(super) fn find(&self, hash: DocumentHash) -> Option<Arc<Document>> {
        self.documents.read().get(&hash).cloned()
    }

    /// Reads the files again if they have changed, or if `is_asked`, and replaces all documents at once. If a file is
    /// broken, all former documents stay in use, and the error is logged once, until the files change again.
    pub(super) fn refresh(&self, is_asked: bool, validate: impl Fn(&str) -> Result<Document, RequestError>) {
        let Some(texts) = self.read_changes(is_asked) else { return };
        let former = Arc::clone(&self.documents.read());
        match load(&self.files, texts, &former, validate) {
            Ok(documents) => {
                let count = documents.len();
                // `former` is still referenced, so that its documents are not freed while the lock is held.
                *self.documents.write() = Arc::new(documents);
                tracing::info!(documents = count, "the trusted documents were read again");
            }
            Err(error) => {
                let error = &error as &dyn Error;
                tracing::warn!(
                    error,
                    "the trusted documents were not replaced; the former documents stay in use"
                );
            }
        }
    }

    /// Reads the files, unless their attributes are unchanged. Returns `None` if their content is unchanged. With
    /// `is_asked`, always returns the content.
    fn read_changes(&self, is_asked: bool) -> Option<Texts> {
        let mut seen = self.seen.lock();
        let is_same = seen.stamps == stamps(&self.files);
        if is_same && seen.is_settled && !is_asked {
            return None;
        }
        let (current, texts) = Seen::read(&self.files);
        let former = mem::replace(&mut *seen, current);
        seen.is_settled = !is_asked && former.stamps == seen.stamps;
        (is_asked || former.contents != seen.contents).then_some(texts)
    }
}

/// The files as last read.
struct Seen {
    stamps: Vec<Option<Stamp>>,
    contents: Vec<Result<DocumentHash, io::ErrorKind>>,
    /// True if the files have been read twice with these attributes, an interval apart. A file that changes twice
    /// within the resolution of its timestamps may have the same attributes, but other content.
    is_settled: bool,
}

impl Seen {
    /// Reads the files.
    fn read(files: &[PathBuf]) -> (Self, Texts) {
        // Before the content: a file that changes in between is read again.
        let stamps = stamps(files);
        let texts: Texts = files.iter().map(fs::read_to_string).collect();
        let content = |text: &io::Result<String>| match text {
            Ok(text) => Ok(DocumentHash::of(text)),
            Err(error) => Err(error.kind()),
        };
        (Self { stamps, contents: texts.iter().map(content).collect(), is_settled: false }, texts)
    }
}

/// A file's attributes that differ after the file has been written or replaced.
#[derive(PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    /// Seconds and nanoseconds.
    modified: (i64, i64),
    /// Seconds and nanoseconds. Unlike the time of modification, programs cannot set it.
    changed: (i64, i64),
}

impl From<Metadata> for Stamp {
    fn from(metadata: Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

fn stamps(files: &[PathBuf]) -> Vec<Option<Stamp>> {
    files.iter().map(|file| fs::metadata(file).ok().map(Stamp::from)).collect()
}

/// The reason that the trusted documents cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TrustedError {
    /// No files of trusted documents are configured.
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

/// Loads the documents in all files, and reuses those in `known`, which are valid.
fn load(
    files: &[PathBuf],
    texts: Texts,
    known: &ByHash,
    validate: impl Fn(&str) -> Result<Document, RequestError>,
) -> Result<ByHash, TrustedError> {
    let mut loader = Loader { known, validate, documents: ByHash::new() };
    for (file, text) in files.iter().zip(texts) {
        loader.add_file(file, &text.map_err(|error| TrustedError::Read(file.clone(), error))?)?;
    }
    Ok(loader.documents)
}

/// Collects the documents of several files.
struct Loader<'a, V> {
    known: &'a ByHash,
    validate: V,
    documents: ByHash,
}

impl<V: Fn(&str) -> Result<Document, RequestError>> Loader<'_, V> {
    /// Adds the documents in a file, in the format that GraphQL code generators write. Each document must match its key
    /// and be valid.
    fn add_file(&mut self, file: &Path, text: &str) -> Result<(), TrustedError> {
        let texts: HashMap<String, String> =
            serde_json::from_str(text).map_err(|error| TrustedError::Form(file.to_owned(), error))?;
        let mut faults = Faults::default();
        for (key, text) in texts {
            if let Err(fault) = self.add(&key, &text) {
                faults.0.push((key, fault));
            }
        }
        if faults.0.is_empty() {
            return Ok(());
        }
        faults.0.sort();
        Err(TrustedError::Faults(file.to_owned(), faults))
    }

    fn add(&mut self, key: &str, text: &str) -> Result<(), String> {
        let hash = DocumentHash::parse(key).ok_or("the key is not a SHA-256 in 64 hexadecimal digits")?;
        if hash != DocumentHash::of(text) {
            return Err("this is not the SHA-256 of the document".to_owned());
        }
        // Another file may have the same document.
        if !self.documents.contains_key(&hash) {
            let document = self.known.get(&hash).cloned().map_or_else(|| self.validated(text), Ok)?;
            self.documents.insert(hash, document);
        }
        Ok(())
    }

    fn validated(&self, text: &str) -> Result<Arc<Document>, String> {
        let document = (self.validate)(text).map_err(|rejected| {
            let messages = rejected.errors.iter().map(|error| error.message.as_str());
            messages.collect::<Vec<_>>().join(" ")
        })?;
        Ok(Arc::new(Document { is_trusted: true, ..document }))
    }
}
