//! GraphQL types, each a thin layer over a `model` value.

pub(super) mod connection;
pub(super) mod event;
pub(super) mod moderation;
pub(super) mod node;
pub(super) mod period;
pub(super) mod post;
pub(super) mod rate_limit;
pub(super) mod recovery;
pub(super) mod region;
pub(super) mod relation;
pub(super) mod scalar;
pub(super) mod segment;
pub(super) mod selection;
pub(super) mod session;
pub(super) mod user;
pub(super) mod user_by;
pub(super) mod user_error;
pub(super) mod viewer;
pub(super) mod visit;
