//! Servers, commands and clients from outside.

pub(crate) mod archive;
pub(crate) mod batch;
pub(crate) mod budget;
pub(crate) mod check;
pub(crate) mod clients;
pub(crate) mod cluster;
pub(crate) mod command_line;
pub(crate) mod events;
pub(crate) mod generated;
pub(crate) mod handshake;
pub(crate) mod memory;
pub(crate) mod observe;
pub(crate) mod password;
pub(crate) mod permissions;
pub(crate) mod rate_limit;
pub(crate) mod sentinel;
pub(crate) mod serving;
pub(crate) mod share;
pub(crate) mod socket;
pub(crate) mod stock;
pub(crate) mod storm;
pub(crate) mod telemetry;
pub(crate) mod trusted;
pub(crate) mod turnstile;
pub(crate) mod watch;
pub(crate) mod wire;
