//! Exports of an account's data as JSON Lines: each line is a JSON object that names its `type` and has the `cursor`
//! after it, and the last one is `{"type":"end"}`. Fields and enum values are named as in the schema.
//!
//! Not here: which records an export has (`app::account::export`), and its download (`http::export`).

use std::time::Duration;

use async_graphql::resolver_utils::EnumType;
use async_graphql::{ID, Name, ScalarType as _, Value};
use futures::FutureExt as _;

use crate::app::App;
use crate::app::account::export::Downloader;
use crate::app::account::export::page::{OwnAccount, OwnRecovery, PAGE, Record};
use crate::app::account::export::position::{ExportPosition, OlderLike, Records, Section, SectionPosition};
use crate::app::error::Error;
use crate::app::viewer::{Caller, Viewer};
use crate::graphql::cursor::{self, Encoded, ListOf};
use crate::graphql::error::{Code, RequestError};
use crate::graphql::id::GlobalId;
use crate::graphql::json::AsJson;
use crate::graphql::preloaded::name_of;
use crate::graphql::types::post::{DeliveryMode, Visibility};
use crate::graphql::types::relation::MuteScope;
use crate::graphql::types::scalar::{DateTime, number};
use crate::graphql::types::user::User;
use crate::graphql::{Api, check_rate_limit, took_longer};
use crate::model::account::Account;
use crate::model::address::Address;
use crate::model::clock::Timestamp;
use crate::model::details::Reply;
use crate::model::edit::EarlierVersion;
use crate::model::id::{PostId, UserId};
use crate::model::page::Position;
use crate::model::post::{Delivery, Post};
use crate::model::region::{Region, Table};
use crate::model::relation::Mute;
use crate::model::session::Session;
use crate::model::user::{FieldValue, UserFields};

/// The last line of an export.
const END: &str = "{\"type\":\"end\"}\n";

/// An export that is being written.
pub struct Export {
    app: App,
    viewer: Viewer,
    owner: UserId,
    username: String,
    /// Position of the next page; `None` once the export is complete.
    next: Option<ExportPosition>,
}

/// A download of an export. A full page is paid for before a page is read, and what is left of it counts towards the
/// next.
pub struct Download {
    api: Api,
    export: Export,
    /// Cost that is paid for and not used yet.
    credit: u64,
}

/// A section, of 1 byte; then nothing, or a position in the section.
impl Encoded for ExportPosition {
    fn print(&self, bytes: &mut Vec<u8>) {
        bytes.push(self.section as u8);
        match self.after {
            None => {}
            Some(SectionPosition::Session(position)) => position.print(bytes),
            Some(SectionPosition::User(position)) => position.print(bytes),
            Some(SectionPosition::Post(post)) => post.print(bytes),
            Some(SectionPosition::Reaction(position)) => position.print(bytes),
            Some(SectionPosition::OlderLike(position)) => {
                bytes.extend(position.shard().to_be_bytes());
                if let Some(post) = position.after() {
                    post.print(bytes);
                }
            }
        }
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (section, rest) = bytes.split_first()?;
        let section = *Section::ALL.get(usize::from(*section))?;
        let after = match section.records().1 {
            _ if rest.is_empty() => None,
            Records::Account => return None,
            Records::Sessions => Some(SectionPosition::Session(Position::parse(rest)?)),
            Records::Posts => Some(SectionPosition::Post(PostId::parse(rest)?)),
            Records::Reactions(_) => Some(SectionPosition::Reaction(Position::parse(rest)?)),
            Records::OlderLikes => Some(SectionPosition::OlderLike(older_like(rest)?)),
            Records::Listed(_) | Records::Own(_) => Some(SectionPosition::User(Position::parse(rest)?)),
        };
        Some(Self { section, after })
    }
}

/// The index of a shard, of 4 bytes; then nothing, or the last post.
fn older_like(bytes: &[u8]) -> Option<OlderLike> {
    let (shard, rest) = bytes.split_first_chunk()?;
    let after = if rest.is_empty() { None } else { Some(PostId::parse(rest)?) };
    OlderLike::new(u32::from_be_bytes(*shard), after)
}

/// Returns the cost of a page with this number of records: each is an object with some fields.
const fn cost_of(records: usize) -> u64 {
    let cost = records + records / 2;
    if cost == 0 { 1 } else { cost as u64 }
}

impl Api {
    /// Opens the export with this token after a cursor, or from the beginning, and charges its user; `None` if there is
    /// no such export, or if it has ended. Makes two round trips.
    pub async fn open_export(
        &self,
        token: &str,
        after: Option<&str>,
        address: Option<Address>,
        request_id: &str,
    ) -> Result<Option<Download>, RequestError> {
        let failed = |error: Error| RequestError::of(&error, request_id);
        let opened = self.app.open_export(token, self.charge_of(cost_of(PAGE))).await.map_err(failed)?;
        let Some(Downloader { viewer, user, username, rate_limit }) = opened else { return Ok(None) };
        check_rate_limit(&Caller { viewer: viewer.clone(), address, rate_limit })?;
        let export = Export::new(&self.app, viewer, user, username, after).map_err(failed)?;
        Ok(Some(Download { api: self.clone(), export, credit: cost_of(PAGE) }))
    }
}

impl Download {
    /// Returns the export.
    #[must_use]
    pub fn export(&self) -> &Export {
        &self.export
    }

    /// Returns the user whose data the export contains.
    #[must_use]
    pub fn viewer(&self) -> &Viewer {
        &self.export.viewer
    }

    /// Returns the lines of the next page, like [`Export::next_page`], once the user has enough tokens left. Fails if
    /// the page takes longer than a query may.
    pub async fn next_page(&mut self, request_id: &str) -> Result<String, RequestError> {
        let Self { api, export, credit } = self;
        let due = cost_of(PAGE) - *credit;
        if let Some(charge) = api.charge_of(due).filter(|charge| charge.cost > 0) {
            api.app.wait_for_allowance(&export.viewer, Some(charge)).await;
        }
        *credit = cost_of(PAGE);
        let timeout: Duration = api.config.query_timeout();
        match tokio::time::timeout(timeout, export.next_page()).await {
            Ok(Ok((text, records))) => {
                *credit = credit.saturating_sub(cost_of(records));
                Ok(text)
            }
            Ok(Err(error)) => Err(RequestError::of(&error, request_id)),
            Err(_elapsed) => Err(RequestError::new(Code::Timeout, took_longer(timeout))),
        }
    }
}

impl Export {
    fn new(
        app: &App,
        viewer: Viewer,
        owner: UserId,
        username: String,
        after: Option<&str>,
    ) -> Result<Self, Error> {
        let parse = |after| cursor::parse("after", ListOf { kind: cursor::Export, owner }, after);
        let next = Some(after.map(parse).transpose()?.unwrap_or(ExportPosition::START));
        Ok(Self { app: app.clone(), viewer, owner, username, next })
    }

    /// Opens an export for the operator after a cursor, or from the beginning, whether or not the account is active.
    /// Makes one round trip.
    pub async fn of_operator(app: &App, account: &Account, after: Option<&str>) -> Result<Self, Error> {
        let viewer = app.operator_as(account.user).await?;
        Self::new(app, viewer, account.user, account.username.clone(), after)
    }

    /// Returns the name of the user whose data the export contains.
    #[must_use]
    pub fn username(&self) -> &str {
        &self.username
    }

    /// Returns true once the last line was returned.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.next.is_none()
    }

    /// Returns the lines of the next page, and the number of its records. There may be no lines although others follow;
    /// after the last line, there are none. Makes at most four round trips, like [`App::export_page`].
    pub async fn next_page(&mut self) -> Result<(String, usize), Error> {
        let Some(from) = self.next else { return Ok((String::new(), 0)) };
        // Boxed because the futures' types nest deeper than the compiler's limit.
        let page = self.app.export_page(&self.viewer, from).boxed().await?;
        let mut text = String::new();
        for record in &page.records {
            let cursor =
                cursor::print(ListOf { kind: cursor::Export, owner: self.owner }, &record.position());
            text.push_str(&line(record, cursor));
        }
        self.next = page.next;
        if self.is_complete() {
            text.push_str(END);
        }
        Ok((text, page.records.len()))
    }
}

/// Returns the id of the user whose data a line of an export contains, if it is the line of an account; used to
/// recognize an export in a file.
#[must_use]
pub fn owner_of(line: &str) -> Option<UserId> {
    let value: serde_json::Value = serde_json::from_str(line).ok()?;
    (value.get("type")? == "account").then_some(())?;
    GlobalId::user("id", &ID(value.get("id")?.as_str()?.to_owned())).ok()
}

/// The end of a file with an export, as its last complete line shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileEnd {
    /// The export was interrupted.
    Cut {
        /// The cursor with which it continues.
        cursor: String,
    },
    /// The export is complete.
    Complete,
}

/// Returns what the last complete line of a file shows; `None` if it is not a line of an export.
#[must_use]
pub fn end_of(line: &str) -> Option<FileEnd> {
    if line == END.trim_end() {
        return Some(FileEnd::Complete);
    }
    let value: serde_json::Value = serde_json::from_str(line).ok()?;
    let cursor = value.get("cursor")?.as_str()?.to_owned();
    Some(FileEnd::Cut { cursor })
}

/// Returns the line of a record.
fn line(record: &Record, cursor: String) -> String {
    let mut fields = match record {
        Record::Account(account) => account_fields(account),
        Record::Session(session) => session_fields(session),
        Record::User { section, entry, username } => {
            let mut fields = user_fields(*section, entry.id, username);
            fields.push(("since", time(entry.at)));
            fields
        }
        Record::Mute { user, username, mute } => mute_fields(*user, username, *mute),
        Record::Post(post, versions) => post_fields(post, versions),
        Record::Reaction { section, entry: Position { at, id: post } } => {
            vec![begin(*section), ("postId", id(GlobalId::Post(*post))), ("since", time(*at))]
        }
        Record::OlderLike { post, .. } => {
            vec![begin(Section::OlderLikes), ("postId", id(GlobalId::Post(*post))), ("since", Value::Null)]
        }
    };
    fields.push(("cursor", Value::from(cursor)));
    // A value of strings, numbers and lists can always be written.
    let text = serde_json::to_string(&AsJson(&object(fields))).unwrap_or_default();
    format!("{text}\n")
}

type Fields = Vec<(&'static str, Value)>;

fn object(fields: Fields) -> Value {
    Value::Object(fields.into_iter().map(|(name, value)| (Name::new(name), value)).collect())
}

fn begin(section: Section) -> (&'static str, Value) {
    ("type", Value::from(section.records().0))
}

fn account_fields(OwnAccount { account, profile, recovery }: &OwnAccount) -> Fields {
    let mut fields = vec![
        begin(Section::Account),
        ("id", id(GlobalId::User(account.user))),
        ("username", Value::from(account.username.as_str())),
    ];
    let optional = User::RECORDED.iter().filter(|(_, field)| *field != UserFields::NONE);
    fields.extend(
        optional.map(|(name, field)| (*name, profile.value(*field).map_or(Value::Null, field_value))),
    );
    fields.extend([
        ("isModerator", Value::from(account.is_moderator)),
        ("suspendedAt", account.suspended_at.map_or(Value::Null, time)),
        ("deletionAt", account.deletion_at.map_or(Value::Null, time)),
        ("pendingRecovery", recovery.as_ref().map_or(Value::Null, recovery_value)),
    ]);
    fields
}

fn field_value(value: FieldValue<'_>) -> Value {
    match value {
        FieldValue::Text(value) => text(value),
        FieldValue::Flag(flag) => Value::from(flag),
        FieldValue::Time(at) => time(at),
        FieldValue::Region(region) => region.map_or(Value::Null, region_value),
    }
}

fn recovery_value(OwnRecovery { pending, issuer }: &OwnRecovery) -> Value {
    let issuer = issuer.as_ref().map(|issuer| {
        let username = Value::from(issuer.record.username.as_str());
        object(vec![("userId", id(GlobalId::User(issuer.record.id))), ("username", username)])
    });
    object(vec![
        ("issuedAt", time(pending.issued_at)),
        ("validFrom", time(pending.valid_from)),
        ("expiresAt", time(pending.expires_at)),
        ("isByOperator", Value::from(pending.is_by_operator())),
        ("issuer", issuer.unwrap_or(Value::Null)),
    ])
}

fn region_value(region: Region) -> Value {
    let named = |code: &str, name: &str| object(vec![("code", code.into()), ("name", name.into())]);
    let table = Table::current();
    let country = table.country(region);
    let subdivision = table.subdivision(region);
    object(vec![
        ("country", named(country.code, country.name)),
        (
            "subdivision",
            subdivision.map_or(Value::Null, |subdivision| named(&subdivision.code, subdivision.name)),
        ),
    ])
}

fn session_fields(session: &Session) -> Fields {
    vec![
        begin(Section::Sessions),
        ("id", id(GlobalId::Session(session.id))),
        ("label", Value::from(session.label.as_str())),
        ("createdAt", time(session.created_at)),
        ("lastSeenAt", time(session.last_seen_at)),
    ]
}

fn user_fields(section: Section, user: UserId, username: &str) -> Fields {
    vec![begin(section), ("userId", id(GlobalId::User(user))), ("username", Value::from(username))]
}

fn mute_fields(user: UserId, username: &str, mute: Mute) -> Fields {
    let mut fields = user_fields(Section::Muted, user, username);
    fields.extend([
        ("since", time(mute.since)),
        ("until", mute.until.map_or(Value::Null, time)),
        ("scope", value_of(MuteScope::from(mute.scope))),
    ]);
    fields
}

fn post_fields(post: &Post, versions: &[EarlierVersion]) -> Fields {
    let references = &post.details.references;
    let referred = |post: Option<PostId>| post.map_or(Value::Null, |post| id(GlobalId::Post(post)));
    let (mode, total) = match post.delivery {
        Delivery::Pulled => (DeliveryMode::Pulled, 0),
        Delivery::Pushed { followers } | Delivery::Delivered { followers } => {
            (DeliveryMode::Pushed, number(followers))
        }
    };
    vec![
        begin(Section::Posts),
        ("id", id(GlobalId::Post(post.id))),
        ("content", Value::from(post.content.as_str())),
        ("platform", text(post.platform.as_deref())),
        ("visibility", value_of(Visibility::from(post.visibility))),
        ("createdAt", time(post.created_at)),
        ("inReplyTo", referred(references.reply.as_ref().map(Reply::parent))),
        ("quoteOf", referred(references.quoted)),
        ("repostOf", referred(references.original)),
        ("editedAt", post.details.edited_at.map_or(Value::Null, time)),
        ("edits", Value::List(versions.iter().map(version_value).collect())),
        ("delivery", object(vec![("mode", value_of(mode)), ("totalCount", Value::from(total))])),
    ]
}

fn version_value(EarlierVersion { content, written_at, .. }: &EarlierVersion) -> Value {
    object(vec![("content", Value::from(content.as_str())), ("writtenAt", time(*written_at))])
}

fn id(id: GlobalId) -> Value {
    Value::String(id.print().0)
}

fn text(text: Option<&str>) -> Value {
    text.map_or(Value::Null, Value::from)
}

fn time(time: Timestamp) -> Value {
    DateTime(time).to_value()
}

/// Returns an enum's value as the schema names it.
fn value_of<E: EnumType>(value: E) -> Value {
    text(name_of(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::session::SessionId;

    #[test]
    fn a_position_is_a_section_and_a_position_in_it() {
        let at = Timestamp::from_millis(-5);
        let session =
            SectionPosition::Session(Position { at, id: SessionId::parse("AAAAAAAAAAAAAAAA").unwrap() });
        let user = SectionPosition::User(Position { at, id: UserId::new(9).unwrap() });
        let post = SectionPosition::Post(PostId::new(9).unwrap());
        let reaction = SectionPosition::Reaction(Position { at, id: PostId::new(9).unwrap() });
        for section in Section::ALL {
            let last = match section {
                Section::Account => None,
                Section::Sessions => Some(session),
                Section::Posts => Some(post),
                Section::Bookmarks | Section::Likes => Some(reaction),
                Section::OlderLikes => {
                    Some(SectionPosition::OlderLike(OlderLike::new(7, PostId::new(9)).unwrap()))
                }
                _ => Some(user),
            };
            for after in [None, last] {
                let (position, mut bytes) = (ExportPosition { section, after }, Vec::new());
                position.print(&mut bytes);
                assert_eq!(ExportPosition::parse(&bytes), Some(position));
            }
        }
        let older = Section::OlderLikes as u8;
        for bytes in [
            &[][..],
            &[older + 1],
            &[older, 0, 0, 99, 0],
            &[older, 7],
            &[0, 0],
            &[8, 1],
            &[1, 0, 0, 0, 0, 0, 0, 0, 0],
            &[2; 16],
        ] {
            assert_eq!(ExportPosition::parse(bytes), None, "{bytes:?}");
        }
    }
}
