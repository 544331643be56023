//! Reads the configuration file: TOML with a table for each section. Reports all faults, each with its line, column and
//! rule. No fault contains a value that may be a secret.

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use crate::config::key::{Form, Item, Key};
use crate::config::nearest::{nearest_key, nearest_section};
use crate::config::value::mask;

/// Name of the file in the data directory.
pub const FILE_NAME: &str = "fanfold.toml";

/// A valid configuration file.
#[derive(Clone, Debug)]
pub struct File {
    path: PathBuf,
    entries: Vec<Entry>,
    /// The file contains a secret, and others can read it.
    is_exposed: bool,
}

/// A key and its value in a file.
#[derive(Clone, Debug)]
struct Entry {
    /// Name of the option, without the dashes.
    option: String,
    /// The location of the key.
    key: Location,
    /// The location of the value.
    value: Location,
    /// The values in the form of the command line; several for a list.
    texts: Vec<String>,
}

/// An error of the configuration file.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file cannot be read.
    #[error("cannot read the configuration file {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The file has faults.
    #[error("{}", lines(path, faults))]
    Invalid {
        /// The file.
        path: PathBuf,
        /// All faults, in order.
        faults: Vec<Fault>,
    },
}

/// A fault in a file.
#[derive(Debug)]
pub struct Fault {
    location: Location,
    rule: String,
}

/// A line and a column, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Location {
    line: usize,
    column: usize,
}

impl File {
    /// Reads a file.
    pub(super) fn read(path: &Path) -> Result<Self, FileError> {
        let cannot = |source| FileError::Read { path: path.to_owned(), source };
        let bytes = fs::read(path).map_err(cannot)?;
        let mode = fs::metadata(path).map_err(cannot)?.mode();
        let keys = Key::all();
        let entries =
            parse(&bytes, &keys).map_err(|faults| FileError::Invalid { path: path.to_owned(), faults })?;
        let has_secret = keys.iter().any(|key| {
            let texts =
                entries.iter().filter(|entry| entry.option == key.option()).flat_map(|entry| &entry.texts);
            texts.into_iter().any(|text| key.masked(text) != *text)
        });
        Ok(Self { path: path.to_owned(), entries, is_exposed: has_secret && mode & 0o007 != 0 })
    }

    /// Reads the file in a data directory; `None` if there is none. The file must not name another data directory.
    pub(super) fn find(data_dir: &Path) -> Result<Option<Self>, FileError> {
        let path = data_dir.join(FILE_NAME);
        let file = match Self::read(&path) {
            Err(FileError::Read { source, .. }) if is_missing(&source) => return Ok(None),
            read => read?,
        };
        let other =
            file.entry("data-dir").filter(|entry| !entry.texts.iter().all(|text| is_same(text, data_dir)));
        let Some(other) = other else { return Ok(Some(file)) };
        let rule = "data.dir: a file in the data directory cannot name another one; move the file, and name it with \
            --config"
            .to_owned();
        let fault = Fault { location: other.value, rule };
        Err(FileError::Invalid { path, faults: vec![fault] })
    }

    /// Returns the path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true if the file contains a secret and others can read it.
    #[must_use]
    pub fn is_exposed(&self) -> bool {
        self.is_exposed
    }

    /// Returns the values of an option in the form of the command line, if the file has it.
    pub(super) fn values(&self, option: &str) -> Option<&[String]> {
        self.entry(option).map(|entry| &entry.texts[..])
    }

    /// Returns the line of an option, if the file has it.
    pub(super) fn line(&self, option: &str) -> Option<usize> {
        self.entry(option).map(|entry| entry.key.line)
    }

    fn entry(&self, option: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.option == option)
    }
}

/// Returns true if there is no such file, also because the directory does not exist.
fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Returns true if both paths lead to the same directory.
fn is_same(path: &str, other: &Path) -> bool {
    let path = Path::new(path);
    path == other
        || fs::canonicalize(path).ok().is_some_and(|path| fs::canonicalize(other).is_ok_and(|o| o == path))
}

/// Returns the entries of a file, or all its faults.
fn parse(bytes: &[u8], keys: &[Key]) -> Result<Vec<Entry>, Vec<Fault>> {
    let text = match str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let at = error.valid_up_to();
            let rule = "the file is not encoded as UTF-8".to_owned();
            return Err(vec![Fault { location: Location::of(bytes, at), rule }]);
        }
    };
    let mut reader = Reader { text, keys, entries: Vec::new(), faults: Vec::new() };
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        reader.fault(error.span().map_or(0, |span| span.start), error.message().replace('\n', ", "));
    }
    // After an error in the syntax, keys may be in the wrong section.
    if reader.faults.is_empty() {
        reader.read(table.get_ref());
    }
    let Reader { entries, mut faults, .. } = reader;
    faults.sort_by_key(|fault| fault.location);
    if faults.is_empty() { Ok(entries) } else { Err(faults) }
}

/// A file that is being read.
struct Reader<'a> {
    text: &'a str,
    keys: &'a [Key],
    entries: Vec<Entry>,
    faults: Vec<Fault>,
}

impl Reader<'_> {
    fn fault(&mut self, at: usize, rule: String) {
        self.faults.push(Fault { location: self.location(at), rule });
    }

    fn location(&self, at: usize) -> Location {
        Location::of(self.text.as_bytes(), at)
    }

    fn read(&mut self, file: &DeTable<'_>) {
        for (section, content) in file {
            let (name, at) = (section.get_ref().as_ref(), section.span().start);
            let is_section = self.keys.iter().any(|key| key.section() == name);
            match content.get_ref() {
                DeValue::Table(table) if is_section => self.read_section(name, table),
                other if is_section => {
                    let found = other.type_str();
                    self.fault(
                        at,
                        format!(
                            "{name} is a section, written [{name}], but the file has {}",
                            with_article(found)
                        ),
                    );
                }
                DeValue::Table(_) => {
                    self.fault(
                        at,
                        format!("unknown section [{}]; {}", mask(name), nearest_section(name, self.keys)),
                    );
                }
                _ => self
                    .fault(at, format!("unknown key {}; {}", mask(name), nearest_key("", name, self.keys))),
            }
        }
    }

    fn read_section(&mut self, section: &str, table: &DeTable<'_>) {
        let keys = self.keys;
        for (name, value) in table {
            let at = name.span().start;
            let name = name.get_ref().as_ref();
            if let Some(key) = keys.iter().find(|key| key.section() == section && key.name() == name) {
                self.read_value(key, at, value);
            } else {
                let hint = nearest_key(section, name, keys);
                self.fault(at, format!("unknown key {section}.{}; {hint}", mask(name)));
            }
        }
    }

    fn read_value(&mut self, key: &Key, at: usize, value: &Spanned<DeValue<'_>>) {
        let Form { item, is_list } = key.form();
        let items: Vec<&Spanned<DeValue<'_>>> = match value.get_ref() {
            DeValue::Array(items) if is_list => items.iter().collect(),
            other if is_list => {
                let found = with_article(other.type_str());
                let rule = format!("expected a list, such as {}, found {found}", example_of_list(item));
                return self.value_fault(key, value.span().start, &rule);
            }
            _ => vec![value],
        };
        let mut texts = Vec::with_capacity(items.len());
        for value in items {
            match text_of(item, value.get_ref()).and_then(|text| check(key, &text).map(|()| text)) {
                Ok(text) => texts.push(text),
                Err(rule) => self.value_fault(key, value.span().start, &rule),
            }
        }
        let (at, value) = (self.location(at), self.location(value.span().start));
        self.entries.push(Entry { option: key.option().to_owned(), key: at, value, texts });
    }

    fn value_fault(&mut self, key: &Key, at: usize, rule: &str) {
        self.fault(at, format!("{}.{}: {rule}", key.section(), key.name()));
    }
}

/// Returns a value in the form of the command line.
fn text_of(item: Item, value: &DeValue<'_>) -> Result<String, String> {
    let expected = match (item, value) {
        (Item::Flag, DeValue::Boolean(is_on)) => return Ok(is_on.to_string()),
        (Item::Switch, DeValue::Boolean(true)) => return Ok("on".to_owned()),
        (Item::Switch, DeValue::Boolean(false)) => return Ok("off".to_owned()),
        (Item::Number, DeValue::Integer(number)) => return number_of(number),
        (Item::Text, DeValue::String(text)) => return Ok(text.to_string()),
        (Item::Flag | Item::Switch, _) => "true or false",
        (Item::Number, _) => "a whole number",
        (Item::Text, _) => "a string",
    };
    Err(format!("expected {expected}, found {}", with_article(value.type_str())))
}

/// Returns a whole number in decimal digits.
fn number_of(number: &DeInteger<'_>) -> Result<String, String> {
    let parsed = i128::from_str_radix(number.as_str(), number.radix());
    parsed.map(|number| number.to_string()).map_err(|_| "the number is too great".to_owned())
}

/// Validates a value in the form of the command line.
fn check(key: &Key, text: &str) -> Result<(), String> {
    match key.arg().get_value_delimiter() {
        Some(delimiter) if text.contains(delimiter) => Err(format!("an item cannot contain `{delimiter}`")),
        _ if key.form().item == Item::Flag => Ok(()),
        _ => key.validate(text),
    }
}

fn example_of_list(item: Item) -> &'static str {
    match item {
        Item::Number => "[1, 2]",
        _ => "[\"a\", \"b\"]",
    }
}

/// Returns the name of a TOML type with its article.
fn with_article(kind: &str) -> String {
    let article = if kind.starts_with(['a', 'i']) { "an" } else { "a" };
    format!("{article} {kind}")
}

impl Location {
    fn of(text: &[u8], at: usize) -> Self {
        let before = &text[..at.min(text.len())];
        let lines: Vec<&[u8]> = before.split(|byte| *byte == b'\n').collect();
        let last = lines.last().copied().unwrap_or_default();
        Self { line: lines.len(), column: String::from_utf8_lossy(last).chars().count() + 1 }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { location: Location { line, column }, rule, .. } = self;
        write!(formatter, "line {line}, column {column}: {rule}")
    }
}

/// Formats the faults, each on one line.
fn lines(path: &Path, faults: &[Fault]) -> String {
    let mut lines = format!("the configuration file {} is invalid", path.display());
    for fault in faults {
        lines.push_str("\n  ");
        lines.push_str(&fault.to_string());
    }
    lines
}
