//! The sources, the schema and the documents themselves.

pub(crate) mod circle;
mod deploy;
pub(crate) mod document;
pub(crate) mod figures;
pub(crate) mod house;
pub(crate) mod keys;
mod left_out;
mod operating;
pub(crate) mod schema;
