//! Redis, SQL servers, Fanfold servers and worlds for the tests to run in.

pub(crate) mod check;
pub(crate) mod cluster;
pub(crate) mod demo;
pub(crate) mod deployment;
pub(crate) mod document;
pub(crate) mod edits;
pub(crate) mod feed;
pub(crate) mod graph;
pub(crate) mod instance;
pub(crate) mod issuer;
pub(crate) mod manifest;
mod merge;
pub(crate) mod monitor;
pub(crate) mod placement;
pub(crate) mod program;
pub(crate) mod proxy;
pub(crate) mod request;
pub(crate) mod screen;
pub(crate) mod sentinel;
pub(crate) mod server;
pub(crate) mod socket;
pub(crate) mod sql;
pub(crate) mod stage;
pub(crate) mod story;
pub(crate) mod turnstile;
pub(crate) mod walk;
pub(crate) mod world;
