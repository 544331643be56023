//! Counts daily unique visitors.
//!
#![doc = include_str!("README.md")]

mod close;
mod count;
pub mod history;
mod record;

pub use self::close::CLOSED_AFTER;
pub(super) use self::count::Counts;
pub(super) use self::record::Visits;
