//! Storage of posts. Each post is a small hash in its own slot; the author's slot holds lists of post ids, which these
//! commands change.
//!
//! A deleted post leaves a *tombstone*: a hash that records the author but no content.
//!
//! Not here: the state of a post being published (`store::draft`), reading the lists (`store::post_list`), the
//! order of the steps (`app::post`), timelines (`store::timeline`).

use redis::{FromRedisValue, ParsingError, Value};

use crate::driver::reply::Reply;
use crate::model::attachment::{OnDeletion, ReferrerKind};
use crate::model::clock::Timestamp;
use crate::model::details::{Details, References};
use crate::model::digest::Digest;
use crate::model::id::{PostId, UserId};
use crate::model::post::{Content, Delivery, Platform, Post, Visibility};
use crate::store::command::{Builder, Command, call, command, each};
use crate::store::draft::{Attempt, Draft, Note};
use crate::store::error::Error;
use crate::store::key::Keys;
use crate::store::post_list::{Id, ids};
use crate::store::script;
use crate::store::user::REVOKED_MILLIS;

/// Maximum number of posts in an author's set of newest posts.
const RECENT: usize = 20;

/// Lifetime of the marker that replaces the record of an archived post: longer than any publish attempt.
const MARKER_MILLIS: u64 = 60_000;

const FIELDS: [&str; 7] =
    ["author", "content", "created_at", "platform", "delivery", "visibility", "details"];

/// Creates a post's record if it does not exist. Returns the delivery mode in the record, as set by the
/// process that created the record. Returns `None` if the id was revoked or belongs to another post.
pub fn create(
    keys: &Keys,
    draft: &Draft,
    content: &Content,
    platform: Option<&Platform>,
    visibility: Visibility,
    references: &References,
    delivery: Delivery,
) -> Command<Option<Delivery>> {
    let Draft { id, note } = draft;
    let create = call(&script::CREATE_POST).key(&keys.post(*id));
    let create = create.arg(note.author.get()).arg(print_delivery(delivery));
    let create = create.arg("content").arg(content.as_str());
    let create = create.arg("created_at").arg(note.created_at.as_millis());
    let create = match platform {
        Some(platform) => create.arg("platform").arg(platform.as_str()),
        None => create,
    };
    let create = match visibility.word() {
        Some(word) => create.arg("visibility").arg(word),
        None => create,
    };
    let create = match print_details(&Details { references: references.clone(), ..Details::default() }) {
        details if details.is_empty() => create,
        details => create.arg("details").arg(details),
    };
    create.reply::<Option<String>>().map(|delivery| Ok(delivery.as_deref().and_then(parse_delivery)))
}

/// Formats details for storage: nothing for those of a plain post.
pub(super) fn print_details(details: &Details) -> String {
    if *details == Details::default() { String::new() } else { details.to_string() }
}

/// Formats a delivery mode for storage.
fn print_delivery(delivery: Delivery) -> String {
    match delivery {
        Delivery::Pulled => "pulled".to_owned(),
        Delivery::Pushed { followers } => format!("pushed:{followers}"),
        Delivery::Delivered { followers } => format!("delivered:{followers}"),
    }
}

fn parse_delivery(text: &str) -> Option<Delivery> {
    match text.split_once(':') {
        None => (text == "pulled").then_some(Delivery::Pulled),
        Some(("pushed", followers)) => Some(Delivery::Pushed { followers: followers.parse().ok()? }),
        Some(("delivered", followers)) => Some(Delivery::Delivered { followers: followers.parse().ok()? }),
        Some(_) => None,
    }
}

/// The outcome of publishing or revoking a post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// The post is visible, or was visible and has been deleted. Contains the author's posts that are due to
    /// become cold.
    Visible(Vec<PostId>),
    /// The post will never be visible.
    Revoked,
    /// The post may still become visible.
    Open,
    /// The post is visible if the archive contains it; otherwise, it will never be visible.
    Cold,
    /// The author has reposted the same post before, as this one, so the new repost is not visible.
    Reposted(PostId),
}

impl FromRedisValue for Settled {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let mut answer = Vec::<Value>::from_redis_value(value)?.into_iter();
        let state = answer.next().map_or(Ok(0), u8::from_redis_value)?;
        let cold: Vec<Id> = answer.map(Id::from_redis_value).collect::<Result<_, _>>()?;
        Ok(match state {
            0 => Self::Revoked,
            1 => Self::Visible(ids(cold)),
            3 => Self::Cold,
            4 => {
                let earlier = ids(cold).first().copied();
                Self::Reposted(earlier.ok_or_else(|| ParsingError::from("no repost in the reply"))?)
            }
            _ => Self::Open,
        })
    }
}

/// Size limits of the data stored per user.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Maximum number of posts per timeline.
    pub timeline: u32,
    /// Maximum number of hot posts per author; older posts become cold.
    pub hot: u32,
}

/// What keeps a post from being published twice.
#[derive(Clone, Copy, Debug)]
pub enum Once<'a> {
    /// Nothing.
    Never,
    /// The attempt is bound to an idempotency key.
    Attempt(Digest, &'a Attempt),
    /// The post is a repost of this one, and its author has one repost of it at most.
    Repost(PostId),
}

/// Makes a post visible: adds it to its author's lists. If the publish attempt is bound to an idempotency key,
/// marks the attempt as done. If followers pull the post, announces its author on the channel
/// [`Keys::pulled`].
pub fn publish(
    keys: &Keys,
    draft: &Draft,
    (visibility, delivery): (Visibility, Delivery),
    sizes: Sizes,
    once: Once<'_>,
) -> Command<Settled> {
    let Draft { id, note: Note { author, created_at, .. } } = draft;
    let publish = call(&script::PUBLISH_POST).key(&keys.void(*author)).key(&keys.posts(*author));
    let publish = publish.key(&keys.recent(*author)).key(&keys.timeline(*author)).key(&keys.cold(*author));
    let publish = publish.key(&keys.post_times(*author)).key(&keys.limited(*author));
    // In a cluster, the channel is in another slot (`store::signal::announce`).
    let is_announced = delivery == Delivery::Pulled && !keys.is_sharded();
    let channel = if is_announced { keys.pulled().name().to_owned() } else { String::new() };
    let described = |publish: Builder| {
        let publish = publish.arg(id.get()).arg(sizes.timeline).arg(sizes.hot).arg(RECENT);
        publish.arg(channel).arg(author.get()).arg(created_at.as_millis()).arg(!visibility.is_public())
    };
    match once {
        Once::Attempt(key, attempt) => {
            let publish = described(publish.key(&keys.attempt(*author, key)));
            publish.arg(attempt.text(false)).arg(attempt.text(true)).reply()
        }
        Once::Repost(original) => {
            let publish = described(publish.key(&keys.reposted(*author)));
            publish.arg("").arg("").arg(original.get()).reply()
        }
        Once::Never => described(publish).reply(),
    }
}

/// Returns the state of a post being published. If `is_abandoned`, revokes the post unless it is visible; a
/// process that is still publishing it then fails.
pub fn settle_if_possible(
    keys: &Keys,
    draft: &Draft,
    is_abandoned: bool,
    now: Timestamp,
    sizes: Sizes,
) -> Command<Settled> {
    let Draft { id, note: Note { author, .. } } = draft;
    let revoke = call(&script::REVOKE_POST).key(&keys.void(*author)).key(&keys.posts(*author));
    let revoke = revoke.key(&keys.cold(*author)).arg(id.get());
    revoke.arg(now.as_millis()).arg(REVOKED_MILLIS).arg(sizes.hot).arg(is_abandoned).reply()
}

/// Prevents the creation of a revoked post's record, and erases an existing record with its lists. Returns false if the
/// record belongs to another post.
pub fn bury(keys: &Keys, draft: &Draft) -> Command<bool> {
    let Draft { id, note: Note { author, created_at, .. } } = draft;
    let bury = with_lists(call(&script::BURY_POST).key(&keys.post(*id)), keys, *id, ReferrerKind::ALL);
    bury.arg(author.get()).arg(created_at.as_millis()).arg(REVOKED_MILLIS).reply()
}

/// A post's stored state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// A live post with its content.
    Live(Post),
    /// The tombstone of a deleted post.
    Tombstone {
        /// The deleted post's author.
        author: UserId,
        /// The deleted post's visibility.
        visibility: Visibility,
        /// The posts to which the deleted post referred.
        references: References,
        /// True if the archive has recorded the deletion.
        is_settled: bool,
    },
    /// A post that was never visible and never will be.
    Revoked {
        /// The intended author.
        author: UserId,
    },
    /// No record: the post never existed or is in the archive.
    Missing,
}

/// Reads a post's stored state.
pub fn read(keys: &Keys, id: PostId) -> Command<Record> {
    let missing = || Error::corrupt("no reply for a post");
    read_all(keys, vec![id]).map(move |mut records| records.pop().ok_or_else(missing)?.1)
}

/// A post's id, and its stored state, or the error of its reply.
pub type ReadPost = (PostId, Result<Record, Error>);

/// Reads the stored state of posts, as [`read`] does for one post.
pub fn read_all(keys: &Keys, ids: Vec<PostId>) -> Command<Vec<ReadPost>> {
    let build = |read: Builder, id: &PostId| read.key(&keys.post(*id)).args(FIELDS).arg("settled");
    each("HMGET", ids, build, |id, row| record(*id, row)).may_lag()
}

/// Reads a row of a record.
fn record(id: PostId, row: Reply<'_>) -> Result<Record, Error> {
    let corrupt = |field| Error::corrupt(format!("post {id} has no {field}"));
    let unexpected = || Error::corrupt(format!("the record of post {id} is not a list of texts"));
    let mut row = row.elements().ok_or_else(unexpected)?;
    let mut next = || row.next().filter(|field| !field.is_null());
    let [author, content, created_at, platform, delivery, visibility, details, settled] =
        std::array::from_fn(|_| next());
    let text = |field: Reply<'_>| field.text().map(str::to_owned).ok_or_else(unexpected);
    let number = |field: Reply<'_>| field.integer().ok_or_else(unexpected);
    let Some(author) = author else { return Ok(Record::Missing) };
    let author =
        u64::try_from(number(author)?).ok().and_then(UserId::new).ok_or_else(|| corrupt("author"))?;
    let visibility = Visibility::of_word(visibility.map(|word| word.text().unwrap_or_default()))
        .ok_or_else(|| corrupt("known visibility"))?;
    let settled = settled.map(number).transpose()?;
    let details: Details = match details {
        Some(details) => {
            details.text().and_then(|text| text.parse().ok()).ok_or_else(|| corrupt("details"))?
        }
        None => Details::default(),
    };
    let Some(content) = content else {
        // Versions that do not know this value treat the record as a settled tombstone: also correct.
        if settled == Some(2) {
            return Ok(Record::Revoked { author });
        }
        let references = details.references;
        return Ok(Record::Tombstone { author, visibility, references, is_settled: settled.is_some() });
    };
    let created_at = Timestamp::from_millis(number(created_at.ok_or_else(|| corrupt("created_at"))?)?);
    let delivery =
        delivery.and_then(Reply::text).and_then(parse_delivery).ok_or_else(|| corrupt("delivery"))?;
    let (content, platform) = (text(content)?, platform.map(text).transpose()?);
    Ok(Record::Live(Post { id, author, content, platform, visibility, created_at, delivery, details }))
}

/// Replaces an archived post's record by a marker, which expires, and deletes its lists, unless the record differs from
/// `post`. Returns true if no record is left.
pub fn drop(keys: &Keys, post: &Post) -> Command<bool> {
    let drop =
        with_lists(call(&script::DROP_POST).key(&keys.post(post.id)), keys, post.id, ReferrerKind::ALL);
    let drop = drop.arg(MARKER_MILLIS);
    let drop = drop.arg("author").arg(post.author.get()).arg("content").arg(&post.content);
    let drop = drop.arg("created_at").arg(post.created_at.as_millis());
    let drop = drop.arg("platform").arg(post.platform.as_deref().unwrap_or_default());
    let drop = drop.arg("visibility").arg(post.visibility.word().unwrap_or_default());
    let drop = drop.arg("details").arg(print_details(&post.details));
    drop.arg("delivery").arg(print_delivery(post.delivery)).reply()
}

/// Sets a deleted post's tombstone to expire, because the archive has recorded the deletion.
pub fn settle_tombstone(keys: &Keys, id: PostId) -> Command<bool> {
    call(&script::SETTLE_TOMBSTONE).key(&keys.post(id)).arg(REVOKED_MILLIS).reply()
}

/// Marks a post as delivered to `followers` followers, unless the post has been deleted.
pub fn mark_delivered(keys: &Keys, id: PostId, followers: u64) -> Command<bool> {
    let mark = call(&script::MARK_DELIVERED).key(&keys.post(id));
    mark.arg(print_delivery(Delivery::Delivered { followers })).reply()
}

/// The outcome of erasing a post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Erased {
    /// The content is erased.
    Erased,
    /// The post does not exist.
    Missing,
    /// The post belongs to another user.
    Foreign,
}

impl FromRedisValue for Erased {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        match String::from_redis_value(value)?.as_str() {
            "erased" => Ok(Self::Erased),
            "missing" => Ok(Self::Missing),
            "foreign" => Ok(Self::Foreign),
            other => Err(ParsingError::from(format!("{other:?} is not an outcome of an erasure"))),
        }
    }
}

/// Erases a post's content and its lists, but for those that stay on deletion, and leaves a tombstone, if the post
/// belongs to `author`. With `archived`, the visibility and the references of a post in the archive, also leaves a
/// tombstone for a post that only the archive contains.
pub fn erase(
    keys: &Keys,
    author: UserId,
    id: PostId,
    archived: Option<(Visibility, &References)>,
) -> Command<Erased> {
    let visibility = archived.and_then(|(visibility, _)| visibility.word()).unwrap_or_default();
    let references = archived.map(|(_, references)| references.to_posts()).unwrap_or_default();
    let details = print_details(&Details { references, ..Details::default() });
    let ends = |kind: &ReferrerKind| kind.attachment().on_deletion == OnDeletion::Drop;
    let lists = ReferrerKind::ALL.into_iter().filter(ends);
    let erase = with_lists(call(&script::ERASE_POST).key(&keys.post(id)), keys, id, lists);
    erase.arg(author.get()).arg(archived.is_some()).arg(visibility).arg(details).reply()
}

/// The outcome of changing what is stored with a post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attached {
    /// It is as requested.
    Done,
    /// The post is deleted, and what was stored with it.
    Deleted,
    /// The post has no record, and may be archived.
    Missing,
}

impl FromRedisValue for Attached {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        match String::from_redis_value(value)?.as_str() {
            "done" => Ok(Self::Done),
            "deleted" => Ok(Self::Deleted),
            "missing" => Ok(Self::Missing),
            other => Err(ParsingError::from(format!("{other:?} is not an outcome of a change of a post"))),
        }
    }
}

/// Adds the keys of what is stored with a post's record: its earlier versions, its referrers, and its likes, but for
/// the shards of these, which are too many: no one reads them without the first of their keys.
fn with_lists(
    call: Builder,
    keys: &Keys,
    id: PostId,
    kinds: impl IntoIterator<Item = ReferrerKind>,
) -> Builder {
    let likes = keys.likes(id);
    let call = call.key(&keys.edits(id)).key(&likes.newest()).key(&likes.count());
    kinds.into_iter().fold(call, |call, kind| keys.entries(id, kind).iter().fold(call, Builder::key))
}

/// A live or deleted post's author and state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The post's author.
    pub author: UserId,
    /// Delivery mode; `None` if the post was never delivered.
    pub delivery: Option<Delivery>,
    /// True if the post has been deleted.
    pub is_deleted: bool,
}

/// Reads a post's trace; `None` if the post has no record.
pub fn trace(keys: &Keys, id: PostId) -> Command<Option<Trace>> {
    let read = command("HMGET").key(&keys.post(id)).arg("author").arg("delivery").arg("deleted");
    read.reply::<(Option<u64>, Option<String>, Option<u8>)>().map(|(author, delivery, deleted)| {
        Ok(author.and_then(UserId::new).map(|author| Trace {
            author,
            delivery: delivery.as_deref().and_then(parse_delivery),
            is_deleted: deleted.is_some(),
        }))
    })
}

/// A deleted post, with what decides which lists and counts contained it.
#[derive(Clone, Debug)]
pub struct DeletedPost {
    /// Id of the post.
    pub id: PostId,
    /// Id of its author.
    pub author: UserId,
    /// Its visibility.
    pub visibility: Visibility,
    /// The posts to which it referred.
    pub references: References,
}

/// Removes a deleted post from its author's lists and timeline, and from the counts of cold posts. Returns true if the
/// post was in the hot list or cold.
pub fn delete(keys: &Keys, deleted: &DeletedPost, now: Timestamp) -> Command<bool> {
    let DeletedPost { id, author, visibility, references } = deleted;
    let author = *author;
    let delete = call(&script::DELETE_POST).key(&keys.void(author)).key(&keys.posts(author));
    let delete = delete.key(&keys.recent(author)).key(&keys.timeline(author));
    let delete = delete.key(&keys.cold(author)).key(&keys.gone(author)).key(&keys.removed(author));
    let delete = delete.key(&keys.post_times(author)).key(&keys.limited(author));
    let described = |delete: Builder| {
        let delete = delete.arg(id.get()).arg(now.as_millis()).arg(REVOKED_MILLIS).arg(RECENT);
        delete.arg(!visibility.is_public())
    };
    match references.original {
        Some(original) => described(delete.key(&keys.reposted(author))).arg(original.get()).reply(),
        None => described(delete).reply(),
    }
}

/// A post's location among its author's posts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// The post is in the hot list.
    Listed,
    /// The post became cold, or was never visible and never will be.
    Cold,
    /// The post is not visible.
    Absent,
}

impl FromRedisValue for Location {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        match String::from_redis_value(value)?.as_str() {
            "listed" => Ok(Self::Listed),
            "cold" => Ok(Self::Cold),
            "absent" => Ok(Self::Absent),
            other => Err(ParsingError::from(format!("{other:?} is not a location of a post"))),
        }
    }
}

/// Locates a post among its author's posts.
pub fn find(keys: &Keys, author: UserId, id: PostId) -> Command<Location> {
    call(&script::FIND_POST).key(&keys.posts(author)).key(&keys.cold(author)).arg(id.get()).reply()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_of_a_delivery_is_part_of_the_stored_data() {
        let forms = [
            (Delivery::Pulled, "pulled"),
            (Delivery::Pushed { followers: 3 }, "pushed:3"),
            (Delivery::Delivered { followers: 4 }, "delivered:4"),
        ];
        for (delivery, text) in forms {
            assert_eq!(print_delivery(delivery), text);
            assert_eq!(parse_delivery(text), Some(delivery));
        }
        assert_eq!(parse_delivery("pushed:x"), None);
    }
}
