//! Model tests: steps in any order, interrupted at any point.

mod accounts;
mod agreement;
mod archiving;
mod boundaries;
mod client;
mod cut;
mod edge;
mod edits;
mod failover;
mod fanout;
mod first_sign_in;
mod invites;
mod live;
mod look;
mod merge;
mod midnight;
mod moved_likes;
mod moving;
mod reactions;
mod referral;
mod referrer;
mod registration;
mod traces;
mod unreadable;
