//! Storage of the log of what moderators did: a stream, of which the newest entries are kept.
//!
//! An entry has the fields `nonce`, by which a repeated command is recognized, `actor`, `action` and, if they apply,
//! `user`, `post`, `report`, `invite` and `note`.
//!
//! Not here: the actions (`app::moderation`).

use std::collections::HashMap;

use redis::{FromRedisValue, ParsingError, Value};

use crate::model::clock::Timestamp;
use crate::model::invite::InviteCode;
use crate::model::moderation::{Action, ActionNote, LogEntry, LogId, LoggedAction, Objects};
use crate::model::page::{Direction, Page, Window};
use crate::store::command::{Command, call, command, several};
use crate::store::key::Keys;
use crate::store::script;

/// Number of entries that the log keeps. Redis removes older ones a block at a time, so that there may be some more.
const MOST: usize = 100_000;

const ACTOR: &str = "actor";
const ACTION: &str = "action";
const USER: &str = "user";
const POST: &str = "post";
const REPORT: &str = "report";
const INVITE: &str = "invite";
const NOTE: &str = "note";

/// Adds an entry to the log. The nonce distinguishes calls.
pub fn add(keys: &Keys, logged: &LoggedAction, now: Timestamp, nonce: u64) -> Command<String> {
    let LoggedAction { moderator, action, objects, note } = logged;
    let Objects { user, post, report, invite } = objects;
    let add = call(&script::LOG_ACTION).key(&keys.moderation_log());
    let add = add.arg(now.as_millis()).arg(MOST).arg(format!("{nonce:x}"));
    let add = add.arg(ACTOR).arg(moderator.to_string()).arg(ACTION).arg(action.word());
    let optional = [
        (USER, user.map(|user| user.to_string())),
        (POST, post.map(|post| post.to_string())),
        (REPORT, report.map(|report| report.to_string())),
        (INVITE, invite.map(|invite| invite.as_str().to_owned())),
        (NOTE, Some(note.as_str().to_owned()).filter(|note| !note.is_empty())),
    ];
    let present = optional.into_iter().filter_map(|(name, value)| Some([name.to_owned(), value?]));
    add.args(present.flatten()).reply()
}

/// Reads a page of the log, newest first. Leaves out actions that this version does not know.
pub fn page(keys: &Keys, window: &Window<LogId>) -> Command<Page<LogEntry>> {
    let log = keys.moderation_log();
    let (older, newer) = ("XREVRANGE", "XRANGE");
    let (ahead, behind) = match window.direction {
        Direction::Forward => (older, newer),
        Direction::Backward => (newer, older),
    };
    let end = if ahead == older { ["+", "-"] } else { ["-", "+"] };
    let start = window.from.map_or_else(|| end[0].to_owned(), |from| format!("({from}"));
    let ahead = command(ahead).key(&log).arg(start).arg(end[1]).arg("COUNT").arg(window.size + 1);
    // Without a position, nothing is behind the page: no entry has the least id.
    let start = window.from.map_or_else(|| "0-0".to_owned(), |from| from.to_string());
    let stop = if window.from.is_some() { end[0] } else { "0-0" };
    let behind = command(behind).key(&log).arg(start).arg(stop).arg("COUNT").arg(1);
    let window = *window;
    let read = several::<(Vec<StoredEntry>, Vec<StoredEntry>)>(&[ahead, behind]).walking(window.size);
    read.map(move |(ahead, behind)| {
        let page = Page::beyond(&window, ahead, !behind.is_empty());
        let entries = page.entries.iter().filter_map(|stored| stored.0.clone()).collect();
        Ok(Page { entries, has_previous: page.has_previous, has_next: page.has_next })
    })
}

/// An entry of the stream; `None` if this version does not know the action.
#[derive(Clone)]
struct StoredEntry(Option<LogEntry>);

impl FromRedisValue for StoredEntry {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let (id, fields) = <(String, HashMap<String, String>)>::from_redis_value(value)?;
        Ok(Self(parse(&id, &fields)))
    }
}

fn parse(id: &str, fields: &HashMap<String, String>) -> Option<LogEntry> {
    let field = |name: &str| fields.get(name);
    let objects = Objects {
        user: field(USER).and_then(|user| user.parse().ok()),
        post: field(POST).and_then(|post| post.parse().ok()),
        report: field(REPORT).and_then(|report| report.parse().ok()),
        invite: field(INVITE).and_then(|invite| InviteCode::parse(invite)),
    };
    let note = field(NOTE).map_or_else(ActionNote::default, |note| ActionNote::of_stored(note));
    let (moderator, action) = (field(ACTOR)?.parse().ok()?, Action::of_word(field(ACTION)?)?);
    Some(LogEntry { id: id.parse().ok()?, logged: LoggedAction { moderator, action, objects, note } })
}
