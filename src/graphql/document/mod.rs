//! From bytes to a document that is safe to execute.
//!
//! Not here: what its fields do (`query`, `mutation`).

pub(super) mod lexer;
