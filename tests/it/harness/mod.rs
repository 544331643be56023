//! Redis, SQL servers, Fanfold servers and worlds for the tests to run in.

pub(crate) mod cluster;
pub(crate) mod deployment;
pub(crate) mod edits;
pub(crate) mod graph;
pub(crate) mod instance;
pub(crate) mod issuer;
mod merge;
pub(crate) mod port;
pub(crate) mod proxy;
pub(crate) mod screen;
pub(crate) mod sentinel;
pub(crate) mod server;
pub(crate) mod sql;
pub(crate) mod stage;
pub(crate) mod wait;
pub(crate) mod walk;
pub(crate) mod world;
