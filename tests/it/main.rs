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

mod account;
mod agreement;
mod archive;
mod archiving;
mod audience;
mod batch;
mod batching;
mod budget;
mod caching;
mod check;
mod circle;
mod clients;
mod cold;
mod command_line;
mod delivery;
mod document;
mod edge;
mod events;
mod execution;
mod failover;
mod fanout;
mod fields;
mod generated;
mod graph;
mod house;
mod input;
mod keys;
mod lists;
mod live;
mod look;
mod memory;
mod merge;
mod midnight;
mod moving;
mod observe;
mod operation;
mod page;
mod password;
mod permissions;
mod persisted;
mod post;
mod rate_limit;
mod region;
mod registration;
mod relation;
mod schema;
mod screen;
mod server;
mod serving;
mod share;
mod socket;
mod sql;
mod stage;
mod stock;
mod telemetry;
mod throttle;
mod timeline;
mod traces;
mod turnstile;
mod unreadable;
mod visit;
mod walk;
mod watch;
mod wire;
mod world;
