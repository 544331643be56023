//! The integration tests: one binary, a file an area, sentences for names.
