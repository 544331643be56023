//! The `fanfold` program: parses the command line, runs the command and reports errors.

use std::process::ExitCode;

use clap::Parser as _;
use fanfold::cli::Cli;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    fanfold::cli::main(Cli::parse())
}
