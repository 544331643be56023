//! Domain values shared by all layers.
//!
//! Not here: code that uses sockets or files, and `async` code.

pub mod account;
pub mod address;
pub mod attachment;
pub mod clock;
mod code;
pub mod details;
pub mod digest;
pub mod edit;
pub mod entity;
pub mod exclusion;
pub mod id;
pub mod invite;
pub mod like;
pub mod mark;
pub mod moderation;
pub mod moderator;
pub mod page;
pub mod post;
pub mod reaction;
pub mod recovery;
pub mod referrer;
pub mod region;
pub mod relation;
pub mod rng;
pub mod secret;
pub mod session;
pub mod subject;
pub mod text;
pub mod user;
