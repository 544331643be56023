//! How far the lists of referrers of a store that earlier versions have written are converted. It is part of the
//! layout.
//!
//! Not here: the conversion (`app::check::conversion`).

use std::fmt;
use std::str::FromStr;

use crate::store::command::{Command, call, command};
use crate::store::error::Error;
use crate::store::key::Keys;
use crate::store::script;

/// The field of the layout.
const FIELD: &str = "entry_kinds";

/// What is converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The lists of the hot posts of the users up to this id.
    Users(u64),
    /// All of these, and those of the archived posts up to this id.
    Posts(u64),
    /// All of these, and the lists in the archive that are found by themselves, of the posts up to this id.
    Lists(u64),
    /// Everything.
    Done,
}

impl fmt::Display for Progress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Users(last) => write!(formatter, "users:{last}"),
            Self::Posts(last) => write!(formatter, "posts:{last}"),
            Self::Lists(last) => write!(formatter, "lists:{last}"),
            Self::Done => formatter.write_str("done"),
        }
    }
}

/// The text is not that of progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseProgressError;

impl FromStr for Progress {
    type Err = ParseProgressError;

    fn from_str(text: &str) -> Result<Self, ParseProgressError> {
        if text == "done" {
            return Ok(Self::Done);
        }
        let (part, last) = text.split_once(':').ok_or(ParseProgressError)?;
        let last = last.parse().map_err(|_| ParseProgressError)?;
        match part {
            "users" => Ok(Self::Users(last)),
            "posts" => Ok(Self::Posts(last)),
            "lists" => Ok(Self::Lists(last)),
            _ => Err(ParseProgressError),
        }
    }
}

/// Reads the progress; `None` if the conversion has not begun.
pub fn progress(keys: &Keys) -> Command<Option<Progress>> {
    let read = command("HGET").key(&keys.layout()).arg(FIELD).reply::<Option<String>>();
    read.map(|text| {
        let Some(text) = text else { return Ok(None) };
        let corrupt = |_| Error::corrupt(format!("{text:?} is not the progress of a conversion"));
        text.parse().map(Some).map_err(corrupt)
    })
}

/// Records progress, unless it has changed since it was read. Returns true if it is recorded.
pub fn advance(keys: &Keys, read: Option<Progress>, now: Progress) -> Command<bool> {
    let read = read.map_or(String::new(), |read| read.to_string());
    call(&script::ADVANCE_CONVERSION).key(&keys.layout()).arg(read).arg(now.to_string()).reply()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_of_progress_is_part_of_the_stored_data() {
        let all = [Progress::Users(0), Progress::Posts(17), Progress::Lists(u64::MAX), Progress::Done];
        let texts = ["users:0", "posts:17", "lists:18446744073709551615", "done"];
        assert_eq!(all.map(|progress| progress.to_string()), texts);
        assert_eq!(texts.map(str::parse), all.map(Ok));
        for text in ["", "users", "users:", "users:x", "names:1", "done:1"] {
            assert_eq!(text.parse::<Progress>(), Err(ParseProgressError), "{text:?}");
        }
    }
}
