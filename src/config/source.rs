//! Resolves the options of a command from their sources: the command line, the environment, the configuration file and
//! the defaults, in this order of precedence.
//!
//! The command line is parsed twice. The first pass yields the path of the file. In the second pass, the values of the
//! file are the defaults of the options, so that the same parsers apply to all sources.
//!
//! # Former names
//! The former names of an option are its aliases, and `FANFOLD_` with a former name is a former variable. A variable
//! with the present name takes precedence.
//!
//! # Empty variables
//! An empty variable counts as unset, except if the option has a default and accepts an empty value, as
//! `--redis-prefix` does.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::Resettable;
use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::config::file::{File, FileError};
use crate::config::key::{Key, parse_alone};
use crate::config::nearest::nearest_name;
use crate::config::value::{is_secret, quotes};

/// What the names of all variables begin with.
const PREFIX: &str = "FANFOLD_";

/// A command line that was parsed together with the environment and the configuration file.
#[derive(Debug)]
pub struct Resolved {
    /// The values of all options.
    pub matches: ArgMatches,
    /// The configuration file, if the command reads one and there is one.
    pub file: Option<File>,
}

/// The effective value of an option.
#[derive(Debug)]
pub struct Setting {
    /// The option.
    pub key: Key,
    /// The value as TOML, with secrets masked; `None` if the option is not set and has no default.
    pub literal: Option<String>,
    /// The source of the value.
    pub source: Source,
}

/// The source of an option's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The default.
    Default,
    /// The configuration file.
    File {
        /// The file.
        path: PathBuf,
        /// The line of the key, counted from 1.
        line: usize,
    },
    /// A variable of the environment.
    Environment(String),
    /// The command line.
    CommandLine,
}

/// The reason that options cannot be resolved.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// The command line or the environment is invalid, or asks for help.
    #[error(transparent)]
    Usage(#[from] clap::Error),
    /// The configuration file is invalid.
    #[error(transparent)]
    File(#[from] FileError),
}

impl Resolved {
    /// Parses a command line.
    pub fn parse(command: &Command, arguments: &[OsString]) -> Result<Self, ResolveError> {
        let conceal = |error| conceal(error, command);
        let prepared = prepare(command.clone(), &Key::all());
        let first = prepared.clone().try_get_matches_from(arguments).map_err(conceal)?;
        let Some(file) = read_file(innermost(&first))? else {
            return Ok(Self { matches: first, file: None });
        };
        let matches = with_defaults(prepared, &file).try_get_matches_from(arguments).map_err(conceal)?;
        Ok(Self { matches, file: Some(file) })
    }

    /// Returns the effective values of all options that a file can set.
    #[must_use]
    pub fn settings(&self) -> Vec<Setting> {
        let matches = innermost(&self.matches);
        Key::all().into_iter().map(|key| self.setting(matches, key)).collect()
    }

    fn setting(&self, matches: &ArgMatches, key: Key) -> Setting {
        let raw = matches.get_raw(key.id()).unwrap_or_default();
        let texts: Vec<String> = raw.map(|text| text.to_string_lossy().into_owned()).collect();
        let is_set = !texts.is_empty() || key.form().is_list;
        let literal = is_set.then(|| key.literal(&texts));
        let source = match matches.value_source(key.id()) {
            Some(ValueSource::CommandLine) => Source::CommandLine,
            Some(ValueSource::EnvVariable) => Source::Environment(variable(key.arg()).unwrap_or_default()),
            _ => self.source_in_file(&key).unwrap_or(Source::Default),
        };
        Setting { key, literal, source }
    }

    fn source_in_file(&self, key: &Key) -> Option<Source> {
        let file = self.file.as_ref()?;
        file.line(key.option()).map(|line| Source::File { path: file.path().to_owned(), line })
    }
}

/// Returns the matches of the command that runs.
fn innermost(matches: &ArgMatches) -> &ArgMatches {
    matches.subcommand().map_or(matches, |(_, matches)| innermost(matches))
}

/// Reads the file that the command line names, or else the file in the data directory, if the command uses one.
fn read_file(matches: &ArgMatches) -> Result<Option<File>, FileError> {
    let path = |id: &str| matches.try_get_one::<PathBuf>(id).ok().flatten().map(PathBuf::as_path);
    let Some(data_dir) = path("data_dir") else { return Ok(None) };
    match path("checked_file").or_else(|| path("config")) {
        Some(named) => File::read(named).map(Some),
        None => File::find(data_dir),
    }
}

/// Prepares all options of a command and its subcommands.
fn prepare(command: Command, keys: &[Key]) -> Command {
    let is_key = |arg: &Arg| keys.iter().any(|key| key.id() == arg.get_id().as_str());
    let prepared = |arg| {
        let arg = with_variable(arg);
        if is_key(&arg) { negatable(arg) } else { arg }
    };
    command.mut_args(prepared).mut_subcommands(|command| prepare(command, keys))
}

/// Lets an option read the variable that is set, if it is set under a former name, and ignore an empty variable. A
/// value that may be a secret is hidden in `--help`.
fn with_variable(arg: Arg) -> Arg {
    let Some(name) = arg.get_env() else { return arg };
    match variable(&arg) {
        Some(variable) => {
            let is_hidden = env::var_os(&variable).is_some_and(|value| is_secret(&value.to_string_lossy()));
            let is_hidden = is_hidden || arg.is_hide_env_values_set();
            arg.env(variable).hide_env_values(is_hidden)
        }
        None if env::var_os(name).is_some() => arg.env(Resettable::Reset),
        None => arg,
    }
}

/// Returns the names of the variables that can set an option: the present one, and the former ones.
fn variables(arg: &Arg) -> Option<impl Iterator<Item = String>> {
    let name = arg.get_env()?.to_str()?.to_owned();
    let former = arg.get_all_aliases().unwrap_or_default();
    let former = former.into_iter().map(|name| format!("{PREFIX}{}", name.replace('-', "_").to_uppercase()));
    Some(std::iter::once(name).chain(former))
}

/// Returns the variables of the environment that no option of a command or its subcommands has, but whose names are
/// nearly those of one: each with the name that it probably means. Orchestrators set others that begin like them, such
/// as `FANFOLD_SERVICE_HOST`.
#[must_use]
pub fn misspelt_variables(command: &Command) -> Vec<(String, String)> {
    let mut known = Vec::new();
    add_variables(command, &mut known);
    let set = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let mut misspelt: Vec<(String, String)> = set
        .filter(|name| name.starts_with(PREFIX) && !known.contains(name))
        .filter_map(|name| nearest_name(&name, &known).map(|near| (name, near)))
        .collect();
    misspelt.sort_unstable();
    misspelt
}

fn add_variables(command: &Command, known: &mut Vec<String>) {
    known.extend(command.get_arguments().filter_map(variables).flatten());
    command.get_subcommands().for_each(|command| add_variables(command, known));
}

/// Returns the name of the variable that sets an option.
fn variable(arg: &Arg) -> Option<String> {
    let mut names = variables(arg)?;
    let is_set = |name: &String| match env::var_os(name) {
        Some(value) if value.is_empty() => {
            !arg.get_default_values().is_empty() && parse_alone(arg, "").is_ok()
        }
        value => value.is_some(),
    };
    names.find(is_set)
}

/// Lets a switch of the configuration file be turned off again on the command line, as in `--log-requests=false`.
fn negatable(arg: Arg) -> Arg {
    if !matches!(arg.get_action(), ArgAction::SetTrue) {
        return arg;
    }
    let arg = arg.action(ArgAction::Set).num_args(0..=1).require_equals(true).value_name("BOOL");
    arg.default_missing_value("true")
        .default_value("false")
        .hide_default_value(true)
        .hide_possible_values(true)
}

/// Makes the values of a file the defaults of a command and its subcommands.
fn with_defaults(command: Command, file: &File) -> Command {
    let with_default = |arg: Arg| match arg.get_long().and_then(|option| file.values(option)) {
        Some(values) => arg.default_values(values.to_vec()),
        None => arg,
    };
    command.mut_args(with_default).mut_subcommands(|command| with_defaults(command, file))
}

/// Removes values that may be secrets from an error of the command line.
fn conceal(mut error: clap::Error, command: &Command) -> clap::Error {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        _ => String::new(),
    };
    let (option, value) = (context(ContextKind::InvalidArg), context(ContextKind::InvalidValue));
    let is_value_secret = !value.is_empty() && (is_hidden(command, &option) || is_secret(&value));
    let reason = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
    if is_value_secret && quotes(&reason, &value) {
        let message = format!("the value of '{option}' is invalid\n");
        return clap::Error::raw(error.kind(), message).with_cmd(command);
    }
    let is_secret = |kind: ContextKind, text: &str| match kind {
        ContextKind::InvalidValue => is_value_secret,
        _ => is_secret(text),
    };
    let secrets = error.context().filter_map(|(kind, value)| match value {
        ContextValue::String(text) if is_secret(kind, text) => Some(kind),
        _ => None,
    });
    for kind in secrets.collect::<Vec<_>>() {
        error.insert(kind, ContextValue::String("***".to_owned()));
    }
    error
}

/// Returns true if the values of an option, such as `--redis-url <URL>`, are hidden in `--help`.
fn is_hidden(command: &Command, printed: &str) -> bool {
    let option = printed.split([' ', '=', '[']).next().and_then(|option| option.strip_prefix("--"));
    let is_it = |arg: &Arg| arg.is_hide_env_values_set() && option.is_some() && arg.get_long() == option;
    command.get_arguments().any(is_it) || command.get_subcommands().any(|command| is_hidden(command, printed))
}

#[cfg(test)]
mod tests {
    use clap::value_parser;

    use super::*;

    fn error(arguments: [&str; 3]) -> String {
        let hidden = Arg::new("key").long("key").hide_env_values(true).value_parser(value_parser!(u8));
        let plain = Arg::new("host").long("host").value_parser(value_parser!(u8));
        let command = Command::new("serve").arg(hidden).arg(plain);
        let command = Command::new("fanfold").subcommand(command);
        let error = command.clone().try_get_matches_from(["fanfold"].iter().chain(&arguments)).unwrap_err();
        conceal(error, &command).to_string()
    }

    #[test]
    fn the_value_of_a_hidden_option_is_not_in_its_error() {
        let printed = error(["serve", "--key", "pencil"]);
        assert!(printed.contains("invalid value '***' for '--key <key>': invalid digit"), "{printed}");
        // The reason of a number outside the range contains the number.
        let printed = error(["serve", "--key", "4711"]);
        assert!(printed.contains("the value of '--key <key>' is invalid"), "{printed}");
        assert!(!printed.contains("4711"), "{printed}");
    }

    #[test]
    fn the_value_of_another_option_is_in_its_error_unless_it_is_a_url_with_a_password() {
        assert!(error(["serve", "--host", "pencil"]).contains("invalid value 'pencil' for '--host <host>'"));
        let printed = error(["serve", "--host", "redis://ada:pencil@h"]);
        assert!(printed.contains("invalid value '***' for '--host <host>'"), "{printed}");
    }
}
