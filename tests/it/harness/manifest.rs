//! Documents under their hashes, as clients and the files of trusted documents name them.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::harness::world::hex;

/// Returns the hash of a document.
pub(crate) fn hash(document: &str) -> String {
    hex(&Sha256::digest(document))
}

/// Returns the content of a file of these documents, each under its hash.
pub(crate) fn content_of(documents: &[&str]) -> String {
    let entries = documents.iter().enumerate().map(|(index, document)| {
        // Some generators write the name of the hash before it, some do not.
        let prefix = if index % 2 == 0 { "sha256:" } else { "" };
        (format!("{prefix}{}", hash(document)), json!(document))
    });
    Value::Object(entries.collect()).to_string()
}
