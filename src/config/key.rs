//! The keys of the configuration file. They are derived from the options of the command line, so that a new option
//! needs no second entry.
//!
//! `--relation-strategy` is the key `strategy` of the section `[relation]`: the first word of an option's name is its
//! section. `--config` has no section, and thus is no key: a file cannot name itself. Options that are not in this
//! layer apply to a single run of a command, and are no keys either.

use std::any::TypeId;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction, Args as _, Command};

use crate::config::value::{mask, quotes};
use crate::config::{SecretUrl, ServerConfig, Switch};

/// Types of options whose values are whole numbers in a file.
const NUMBERS: [fn() -> TypeId; 5] =
    [TypeId::of::<u8>, TypeId::of::<u16>, TypeId::of::<u32>, TypeId::of::<u64>, TypeId::of::<usize>];

/// An option that a configuration file can set.
#[derive(Clone, Debug)]
pub struct Key {
    arg: Arg,
    /// Name of the option, without the dashes.
    option: String,
    section: String,
    name: String,
}

/// The form of a value in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) item: Item,
    pub(super) is_list: bool,
}

/// The form of a value, or of an item of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// A boolean that the command line has as `true` or `false`.
    Flag,
    /// A boolean that the command line has as `on` or `off`.
    Switch,
    Number,
    Text,
}

impl Key {
    /// Returns the keys, in the order of the options.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let command = ServerConfig::augment_args(Command::new("fanfold"));
        command.get_arguments().filter_map(Self::of).collect()
    }

    fn of(arg: &Arg) -> Option<Self> {
        let option = arg.get_long()?;
        let (section, name) = option.split_once('-')?;
        Some(Self {
            option: option.to_owned(),
            section: section.to_owned(),
            name: name.replace('-', "_"),
            arg: arg.clone(),
        })
    }

    /// Returns the section.
    #[must_use]
    pub fn section(&self) -> &str {
        &self.section
    }

    /// Returns the name in the section.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name of the option, without the dashes.
    pub(super) fn option(&self) -> &str {
        &self.option
    }

    /// Returns the name of the option's value in the matches of a command.
    pub(super) fn id(&self) -> &str {
        self.arg.get_id().as_str()
    }

    pub(super) fn arg(&self) -> &Arg {
        &self.arg
    }

    /// Returns the former names of the option, without the dashes.
    pub(super) fn former(&self) -> Vec<&str> {
        self.arg.get_all_aliases().unwrap_or_default()
    }

    /// Returns the text of `--help`.
    #[must_use]
    pub fn help(&self) -> String {
        let help = self.arg.get_long_help().or_else(|| self.arg.get_help());
        help.map(StyledStr::to_string).unwrap_or_default()
    }

    /// Returns the values that are allowed, each with its description; none if they are not a fixed list.
    #[must_use]
    pub fn choices(&self) -> Vec<(String, String)> {
        if matches!(self.form().item, Item::Flag | Item::Switch) {
            return Vec::new();
        }
        let choice = |value: clap::builder::PossibleValue| {
            let help = value.get_help().map(StyledStr::to_string).unwrap_or_default();
            (value.get_name().to_owned(), help)
        };
        self.arg.get_possible_values().into_iter().map(choice).collect()
    }

    /// Returns the default as TOML; `None` if the option has no default.
    #[must_use]
    pub fn default_literal(&self) -> Option<String> {
        let texts = self.arg.get_default_values().iter().map(|text| text.to_string_lossy().into_owned());
        let items = |text: String| match self.arg.get_value_delimiter() {
            Some(delimiter) => text.split(delimiter).map(str::to_owned).collect(),
            None => vec![text],
        };
        let texts = texts.flat_map(items);
        let texts: Vec<String> = texts.collect();
        let has_default = !texts.is_empty() || self.form().is_list || self.form().item == Item::Flag;
        has_default.then(|| self.literal(&texts))
    }

    /// Returns what a sample shows in place of the value: the name of the value in `--help`.
    #[must_use]
    pub fn placeholder(&self) -> String {
        let name =
            self.arg.get_value_names().and_then(|names| names.first()).map_or("", |name| name.as_str());
        if self.form().item == Item::Text { toml_string(name) } else { name.to_owned() }
    }

    pub(super) fn form(&self) -> Form {
        let id = self.arg.get_value_parser().type_id();
        let item = match self.arg.get_action() {
            ArgAction::SetTrue => Item::Flag,
            _ if id == TypeId::of::<Switch>() => Item::Switch,
            _ if NUMBERS.iter().any(|number| id == number()) => Item::Number,
            _ => Item::Text,
        };
        Form { item, is_list: matches!(self.arg.get_action(), ArgAction::Append) }
    }

    /// Returns a value as TOML, given its text on the command line. Secrets are masked.
    pub(super) fn literal(&self, texts: &[String]) -> String {
        let Form { item, is_list } = self.form();
        let literal = |text: &String| match item {
            Item::Flag | Item::Number => text.clone(),
            Item::Switch => (text == "on").to_string(),
            Item::Text => toml_string(&self.masked(text)),
        };
        let literals: Vec<String> = texts.iter().map(literal).collect();
        match (is_list, item) {
            (true, _) => format!("[{}]", literals.join(", ")),
            (false, Item::Flag) if literals.is_empty() => "false".to_owned(),
            (false, _) => literals.concat(),
        }
    }

    /// Returns a text without secrets. Options whose values are hidden in `--help` are secrets as a whole, unless they
    /// are URLs.
    pub(super) fn masked(&self, text: &str) -> String {
        if self.arg.is_hide_env_values_set() {
            let is_url = self.arg.get_value_parser().type_id() == TypeId::of::<SecretUrl>();
            return if is_url { SecretUrl::from(text.to_owned()).to_string() } else { "***".to_owned() };
        }
        mask(text)
    }

    /// Validates a value with the option's parser. The error is the rule that the value violates.
    pub(super) fn validate(&self, text: &str) -> Result<(), String> {
        let rule = match parse_alone(&self.arg, text) {
            Ok(()) => return Ok(()),
            Err(error) => rule(&error),
        };
        let is_secret = self.masked(text) != text;
        Err(if is_secret && quotes(&rule, text) { "the value is invalid".to_owned() } else { rule })
    }
}

/// Parses a text as the value of this option alone.
pub(super) fn parse_alone(arg: &Arg, text: &str) -> Result<(), clap::Error> {
    let option = arg.get_long().unwrap_or_default();
    let command = Command::new("fanfold").no_binary_name(true).arg(arg.clone().env(None::<&str>));
    command.try_get_matches_from([format!("--{option}={text}")]).map(drop)
}

/// Returns the rule that a value violates.
fn rule(error: &clap::Error) -> String {
    if let Some(source) = std::error::Error::source(error) {
        return source.to_string();
    }
    match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(values)) if !values.is_empty() => {
            format!("expected one of: {}", values.join(", "))
        }
        _ => "a value is required".to_owned(),
    }
}

/// Returns a text as a string of TOML.
fn toml_string(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
