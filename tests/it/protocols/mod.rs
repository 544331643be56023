//! Model tests: steps in any order, interrupted at any point.

pub(crate) mod accounts;
pub(crate) mod agreement;
pub(crate) mod archiving;
pub(crate) mod boundaries;
pub(crate) mod cut;
pub(crate) mod edge;
pub(crate) mod edits;
pub(crate) mod failover;
pub(crate) mod fanout;
pub(crate) mod first_sign_in;
mod invites;
pub(crate) mod live;
pub(crate) mod look;
pub(crate) mod merge;
pub(crate) mod midnight;
pub(crate) mod moving;
pub(crate) mod referral;
pub(crate) mod registration;
pub(crate) mod traces;
pub(crate) mod unreadable;
