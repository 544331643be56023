#![doc = include_str!("ARCHITECTURE.md")]

pub mod app;
pub mod cli;
pub mod config;
pub mod graphql;
pub mod http;
pub mod model;
pub mod store;
