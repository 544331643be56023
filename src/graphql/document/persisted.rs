//! Persisted documents, which clients reference by hash instead of sending the text. They are documents that clients
//! have sent before, and the operator's trusted documents.
//!
//! # Why each process has its own cache of client documents
//! The cache only saves network traffic: if a document is not cached, the client resends it. A cache in Redis would
//! cost a round trip for each lookup, and any client could fill the memory that holds the application's data. Each
//! process therefore has a bounded cache that evicts documents no longer in use.

use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::config::{GraphqlConfig, Switch, TrustedMode};
use crate::graphql::document::Document;
use crate::graphql::document::hash::DocumentHash;
use crate::graphql::document::trusted::{Trusted, TrustedError};
use crate::graphql::error::{Code, RequestError};

/// Maximum total size of cached client documents, in bytes.
const CACHED_BYTES: u64 = 16 << 20;
/// Expected number of cached client documents.
const CACHED_TEXTS: usize = 10_000;

/// The documents that clients can reference by hash.
pub(super) struct Persisted {
    /// Cache of the documents that clients have sent together with a hash; `None` if caching is disabled.
    remembered: Option<Cache<DocumentHash, Arc<str>, Length>>,
    trusted: Trusted,
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
    /// Reads the configured trusted documents. `validate` parses and validates a document.
    pub(super) fn open(
        config: &GraphqlConfig,
        validate: impl Fn(&str) -> Result<Document, RequestError>,
    ) -> Result<Self, TrustedError> {
        let is_closed = config.graphql_trusted_mode == TrustedMode::Only;
        let trusted = Trusted::open(config.trusted_files(), validate)?;
        if is_closed && !trusted.has_files() {
            return Err(TrustedError::NoFile);
        }
        let does_remember = config.graphql_persisted_queries == Switch::On && !is_closed;
        let remembered = does_remember.then(|| Cache::with_weighter(CACHED_TEXTS, CACHED_BYTES, Length));
        Ok(Self { remembered, trusted, is_closed })
    }

    pub(super) fn trusted(&self) -> &Trusted {
        &self.trusted
    }

    /// Returns the document with this hash. If the hash is unknown, the error message causes clients to send the
    /// document or to stop sending hashes.
    pub(super) fn find(&self, hash: DocumentHash) -> Result<Named, RequestError> {
        if let Some(document) = self.trusted.find(hash) {
            return Ok(Named::Trusted(document));
        }
        if let Some(text) = self.remembered.as_ref().and_then(|remembered| remembered.get(&hash)) {
            return Ok(Named::Remembered(text));
        }
        Err(if self.remembered.is_some() || self.trusted.has_files() {
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
