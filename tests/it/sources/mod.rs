//! The sources, the schema and the documents themselves.

mod areas;
mod circle;
mod deploy;
mod deployments;
mod document;
mod figures;
mod house;
mod keys;
mod operating;
mod schema;
