//! `fanfold completions`: prints completions for a shell.

use std::process::ExitCode;

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::cli::{Cli, Outcome, say};

/// Prints a script with which a shell completes Fanfold's commands and options.
///
/// For bash: fanfold completions bash > ~/.local/share/bash-completion/completions/fanfold
#[derive(Args, Debug)]
pub(super) struct Completions {
    /// Shell.
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl Completions {
    pub(super) fn run(self) -> Outcome {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "fanfold", &mut script);
        say(String::from_utf8(script)?.trim_end())?;
        Ok(ExitCode::SUCCESS)
    }
}
