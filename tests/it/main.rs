//! The integration tests: one binary, a file an area, sentences for names. They run against a real
//! Redis, a still clock and a seeded chance, through the router in process.

mod account;
mod batching;
mod check;
mod command_line;
mod crash;
mod document;
mod edge;
mod execution;
mod graph;
mod house;
mod input;
mod lists;
mod relation;
mod schema;
mod serving;
mod turnstile;
mod world;
