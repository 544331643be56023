//! `fanfold schema`: prints the schema.

use std::process::ExitCode;

use clap::Args;

use crate::cli::{Outcome, say};

/// Prints the schema in the GraphQL schema definition language.
#[derive(Args, Debug)]
pub(super) struct Schema {}

impl Schema {
    #[expect(clippy::unused_self, reason = "every command is run in the same way")]
    pub(super) fn run(self) -> Outcome {
        say(crate::graphql::sdl().trim_end())?;
        Ok(ExitCode::SUCCESS)
    }
}
