//! The API, area by area, through the router in process.

pub(crate) mod account;
pub(crate) mod audience;
pub(crate) mod batching;
mod cache;
pub(crate) mod caching;
pub(crate) mod cold;
mod compact;
pub(crate) mod delivery;
mod errors;
mod exclusion;
pub(crate) mod execution;
pub(crate) mod fields;
pub(crate) mod input;
pub(crate) mod lists;
pub(crate) mod operation;
mod partial;
mod period;
pub(crate) mod persisted;
pub(crate) mod post;
mod post_visibility;
pub(crate) mod region;
pub(crate) mod relation;
pub(crate) mod session;
pub(crate) mod throttle;
pub(crate) mod timeline;
pub(crate) mod visit;
