//! The integration tests: one binary, one file per area, sentences as names. They run against a real Redis, with a
//! manual clock and a seeded random number generator, through the router in process.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue must panic")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "the numbers of tests are small"
)]

mod api;
mod cluster;
mod harness;
mod pages;
mod protocols;
mod service;
mod sources;
