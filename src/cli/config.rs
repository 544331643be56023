//! `fanfold config`: prints the effective configuration, and validates configuration files.

use std::error::Error;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use tracing_subscriber::Registry;

use crate::archive::Archive;
use crate::cli::{Outcome, fail, log, say};
use crate::config::{DataConfig, FILE_NAME, Key, Resolved, ServerConfig, Setting, Source};
use crate::store::Store;

/// Width of the comments in a printed file.
const WIDTH: usize = 100;

/// Prints the effective configuration, or validates a configuration file.
#[derive(Args, Debug)]
pub(super) struct Config {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Print(Box<Print>),
    Check(Box<Check>),
}

/// Prints the effective value of every option as a configuration file, each with its source.
///
/// Passwords, and the queries of URLs, are printed as ***.
#[derive(Args, Debug)]
struct Print {
    /// Print all options with their descriptions and defaults instead, as a file to start from.
    #[arg(long, env = "FANFOLD_CONFIG_DEFAULTS")]
    defaults: bool,

    #[command(flatten)]
    config: ServerConfig,
}

/// Validates a configuration file, together with the environment, and reports all faults.
///
/// Connects to nothing. The exit code is 1 if there is a fault.
#[derive(Args, Debug)]
struct Check {
    /// Configuration file [default: that of --config, or fanfold.toml in the data directory].
    #[arg(value_name = "FILE")]
    checked_file: Option<PathBuf>,

    #[command(flatten)]
    config: ServerConfig,
}

impl Config {
    pub(super) fn run(self, resolved: &Resolved) -> Outcome {
        match self.command {
            Command::Print(print) if print.defaults => say(&sample())?,
            Command::Print(_) => say(&effective(resolved))?,
            Command::Check(check) => return report(&faults(&check.config), resolved),
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the faults that the parsers of the options leave to the commands.
fn faults(config: &ServerConfig) -> Vec<Box<dyn Error + Send + Sync>> {
    let DataConfig { redis, archive, .. } = &config.data;
    let mut faults = Vec::new();
    faults.extend(log::<Registry>(&config.log).err());
    faults.extend(Archive::new(archive, &redis.data_dir).err().map(Into::into));
    faults.extend(Store::validate(redis).err().map(Into::into));
    faults
}

fn report(faults: &[Box<dyn Error + Send + Sync>], resolved: &Resolved) -> Outcome {
    if faults.is_empty() {
        say(&verdict(resolved))?;
        return Ok(ExitCode::SUCCESS);
    }
    for fault in faults {
        fail(&**fault);
    }
    Ok(ExitCode::FAILURE)
}

fn verdict(resolved: &Resolved) -> String {
    match &resolved.file {
        Some(file) => format!("{} is valid", file.path().display()),
        None => format!("the configuration is valid; there is no {FILE_NAME} in the data directory"),
    }
}

/// Formats the effective configuration.
fn effective(resolved: &Resolved) -> String {
    let mut text = match &resolved.file {
        Some(file) => format!("# Configuration file: {}\n", file.path().display()),
        None => "# Configuration file: none\n".to_owned(),
    };
    let settings = by_section(resolved.settings(), |setting| &setting.key);
    for (section, settings) in settings {
        let _ = writeln!(text, "\n[{section}]");
        for Setting { key, literal, source } in settings {
            let name = key.name();
            let _ = match literal {
                Some(literal) => writeln!(text, "{name} = {literal} # {}", describe(&source)),
                None => writeln!(text, "# {name} is not set"),
            };
        }
    }
    text.trim_end().to_owned()
}

fn describe(source: &Source) -> String {
    match source {
        Source::Default => "default".to_owned(),
        Source::File { path, line } => format!("{}:{line}", path.display()),
        Source::Environment(variable) => format!("environment {variable}"),
        Source::CommandLine => "command line".to_owned(),
    }
}

/// Formats a file with all options, each commented out, with its description and default.
fn sample() -> String {
    let mut text = format!(
        "# Configuration of Fanfold. Without --config, Fanfold reads {FILE_NAME} in the data directory.\n\
         # The command line and the environment take precedence over this file. Remove the # before an\n\
         # option to change it; the values shown are the defaults.\n"
    );
    for (section, keys) in by_section(Key::all(), |key| key) {
        let _ = writeln!(text, "\n[{section}]");
        for key in keys {
            text.push('\n');
            text.push_str(&comment(&key.help()));
            for (choice, help) in key.choices() {
                text.push_str(&comment(&format!("- {choice}: {help}")));
            }
            let _ = match key.default_literal() {
                Some(literal) => writeln!(text, "#{} = {literal}", key.name()),
                None => writeln!(text, "#{} = {}", key.name(), key.placeholder()),
            };
        }
    }
    text.trim_end().to_owned()
}

/// Groups items by section, in the order in which the sections occur first.
fn by_section<T>(items: Vec<T>, key: impl Fn(&T) -> &Key) -> Vec<(String, Vec<T>)> {
    let mut sections: Vec<(String, Vec<T>)> = Vec::new();
    for item in items {
        let section = key(&item).section();
        match sections.iter_mut().find(|(name, _)| name == section) {
            Some((_, items)) => items.push(item),
            None => sections.push((section.to_owned(), vec![item])),
        }
    }
    sections
}

/// Formats a text as comment lines of limited width.
fn comment(text: &str) -> String {
    let mut comment = String::new();
    for line in text.lines() {
        let mut width = 1;
        comment.push('#');
        for word in line.split_whitespace() {
            if width > 1 && width + 1 + word.chars().count() > WIDTH {
                comment.push_str("\n#");
                width = 1;
            }
            comment.push(' ');
            comment.push_str(word);
            width += 1 + word.chars().count();
        }
        comment.push('\n');
    }
    comment
}
