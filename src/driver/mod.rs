//! The connection to Redis: pipelines to a single server, which Sentinel may watch, or to the masters of a Redis
//! Cluster. It knows no area, and no key but by its slot.
//!
//! # Interface
//! - `encode` and `reply`: the bytes of commands and of replies. A caller encodes commands into a `Pipeline`, with the
//!   slot of each, and reads `Replies` where they are.
//! - `deployment`: opens the connections, sends pipelines, and asks each server about itself.
//! - `shard`: subscriptions to the channels of a cluster. Those of a single server are opened over `Pool::client`.
//! - `wire::Listener` and `pool::Tracker`: receive what a server pushes.
//! - `peer`: whether a server responds, and how often it was restarted. `replica`: how far behind a replica may be.
//! - [`error`]: why a command failed, and why no connection could be opened.
//!
//! The other modules are behind it: `wire` is a connection, `pool` keeps the connections to a server, `peer` what is
//! known of a server, `topology` says which master serves which slot, `known` what is known of it, `cluster` has the
//! connections to all masters, `distribution` divides a pipeline among these, `replica` and `lag` choose the replicas
//! to read, and `sentinel` finds a watched master.
//!
//! # Why not the connections of the `redis` crate
//! It rejects a pipeline over several slots, and reads replies into values of their own.

mod cluster;
pub(crate) mod deployment;
mod distribution;
pub(crate) mod encode;
pub mod error;
mod known;
mod lag;
mod metric;
pub(crate) mod peer;
pub(crate) mod pool;
pub(crate) mod replica;
pub(crate) mod reply;
mod sentinel;
pub(crate) mod shard;
pub(crate) mod topology;
pub(crate) mod wire;
