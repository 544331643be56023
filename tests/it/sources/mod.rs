//! The sources, the schema and the documents themselves.

mod circle;
mod deploy;
mod document;
mod figures;
mod house;
mod keys;
mod left_out;
mod operating;
mod schema;
