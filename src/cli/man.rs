//! `fanfold man`: prints or writes manual pages.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Command, CommandFactory as _};

use crate::cli::{Cli, Outcome, say};

/// Name and version of the program, in the footer of all pages.
const SOURCE: &str = concat!("fanfold ", env!("CARGO_PKG_VERSION"));

/// Prints the manual page of the program, or writes a page for each command.
#[derive(Args, Debug)]
pub(super) struct Man {
    /// Directory for the pages of the program and of all commands, such as fanfold-serve.1.
    #[arg(long, value_name = "DIR", env = "FANFOLD_MAN_DIR")]
    dir: Option<PathBuf>,
}

impl Man {
    pub(super) fn run(self) -> Outcome {
        let mut command = Cli::command().disable_help_subcommand(true);
        command.build();
        if let Some(dir) = self.dir {
            let written = fs::create_dir_all(&dir).and_then(|()| write_pages(&command, &dir));
            written.map_err(|error| format!("cannot write manual pages to {}: {error}", dir.display()))?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut text = Vec::new();
        page(&command).render(&mut text)?;
        say(String::from_utf8(text)?.trim_end())?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Writes the page of a command, and those of its subcommands.
fn write_pages(command: &Command, dir: &Path) -> io::Result<()> {
    page(command).generate_to(dir)?;
    command.get_subcommands().try_for_each(|command| write_pages(command, dir))
}

fn page(command: &Command) -> clap_mangen::Man {
    clap_mangen::Man::new(command.clone()).source(SOURCE).manual("Fanfold")
}
