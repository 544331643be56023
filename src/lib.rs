#![doc = include_str!("ARCHITECTURE.md")]

pub mod app;
pub mod archive;
pub mod budget;
pub mod cli;
pub mod config;
pub mod driver;
pub mod gate;
pub mod graphql;
pub mod http;
pub mod managed;
pub mod metric;
pub mod model;
pub mod store;
pub mod thread;
pub mod worker;
