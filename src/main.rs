//! The fanfold program.
fn main() {}
