//! How posts are kept: each a small hash in a slot of its own, and their ids in lists of the author.
//!
//! A post that was deleted leaves a *tombstone*: a hash that tells whose it was and nothing else.
//!
//! Not here: what is noted while a post is being published (`store::draft`), the order of the steps
//! (`app::post`), timelines (`store::timeline`).

use redis::{FromRedisValue, ParsingError, Value};

use crate::model::clock::Timestamp;
use crate::model::digest::Digest;
use crate::model::id::{PostId, UserId};
use crate::model::page::{Direction, Page, Window};
use crate::model::post::{Content, Delivery, Platform, Post};
use crate::store::command::{Builder, Command, call, command, several};
use crate::store::draft::{Attempt, Draft, Note};
use crate::store::error::Error;
use crate::store::key::Keys;
use crate::store::script;
use crate::store::timeline::REMOVED_MILLIS;
use crate::store::user::VOID_MILLIS;

/// How many posts the set of an author's newest ones holds.
const RECENT: usize = 20;

const FIELDS: [&str; 5] = ["author", "content", "created_at", "platform", "delivery"];

/// An id as Redis answers it.
pub(super) struct Id(pub(super) PostId);

impl FromRedisValue for Id {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let text = String::from_redis_value(value)?;
        text.parse().map(Self).map_err(|_| ParsingError::from(format!("{text:?} is no post id")))
    }
}

pub(super) fn ids(ids: Vec<Id>) -> Vec<PostId> {
    ids.into_iter().map(|Id(id)| id).collect()
}

/// Adds what says which page a script shall answer.
pub(super) fn windowed(builder: Builder, window: &Window<PostId>) -> Builder {
    let from = window.from.map_or(String::new(), |from| from.to_string());
    builder.arg(window.direction.as_str()).arg(window.size).arg(from)
}

/// Makes the record of a post. Answers how it is delivered, which is decided by whoever makes the
/// record; `None` if the id cannot be used: somebody else has it, or it is void.
pub fn create(
    keys: &Keys,
    draft: &Draft,
    content: &Content,
    platform: Option<&Platform>,
    delivery: Delivery,
) -> Command<Option<Delivery>> {
    let Draft { id, note } = draft;
    let create = call(&script::CREATE_POST).key(&keys.post(*id));
    let create = create.arg("author").arg(note.author.get()).arg("content").arg(content.as_str());
    let create = create.arg("created_at").arg(note.created_at.as_millis());
    let create = create.arg("delivery").arg(print_delivery(delivery));
    let create = match platform {
        Some(platform) => create.arg("platform").arg(platform.as_str()),
        None => create,
    };
    create.reply::<Option<String>>().map(|delivery| Ok(delivery.as_deref().and_then(parse_delivery)))
}

/// A delivery as it is kept.
#[must_use]
pub fn print_delivery(delivery: Delivery) -> String {
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

/// What has become of making a post visible, or void.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// It is visible, or was and has been deleted since. With the posts of its author that shall
    /// become cold.
    Visible(Vec<PostId>),
    /// It never will be.
    Void,
    /// It may become visible yet.
    Open,
    /// It is visible if the archive has it, and otherwise never will be.
    Cold,
}

impl FromRedisValue for Settled {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let mut answer = Vec::<Value>::from_redis_value(value)?.into_iter();
        let state = answer.next().map_or(Ok(0), u8::from_redis_value)?;
        let cold: Vec<Id> = answer.map(Id::from_redis_value).collect::<Result<_, _>>()?;
        Ok(match state {
            0 => Self::Void,
            1 => Self::Visible(ids(cold)),
            3 => Self::Cold,
            _ => Self::Open,
        })
    }
}

/// How much of what is kept of an author.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Posts of a timeline.
    pub timeline: u32,
    /// Posts of an author before they become cold.
    pub hot: u32,
}

/// Makes a post visible: puts it into its author's lists, and notes that the attempt is done, if there
/// is one under this idempotency key. If it is pulled, its readers are told.
pub fn publish(
    keys: &Keys,
    draft: &Draft,
    delivery: Delivery,
    sizes: Sizes,
    attempt: Option<(Digest, &Attempt)>,
) -> Command<Settled> {
    let Draft { id, note: Note { author, .. } } = draft;
    let publish = call(&script::PUBLISH_POST).key(&keys.void(*author)).key(&keys.posts(*author));
    let publish = publish.key(&keys.recent(*author)).key(&keys.timeline(*author)).key(&keys.cold(*author));
    let told = if delivery == Delivery::Pulled { keys.pulled() } else { String::new() };
    let described = |publish: Builder| {
        let publish = publish.arg(id.get()).arg(sizes.timeline).arg(sizes.hot).arg(RECENT);
        publish.arg(told).arg(author.get())
    };
    match attempt {
        Some((key, attempt)) => {
            let publish = described(publish.key(&keys.attempt(*author, key)));
            publish.arg(attempt.text(false)).arg(attempt.text(true)).reply()
        }
        None => described(publish).reply(),
    }
}

/// Tells what has become of a post. If it is abandoned, makes it void unless it is visible: whoever may
/// still be publishing it finds that it must not.
pub fn settle_if_possible(
    keys: &Keys,
    draft: &Draft,
    is_abandoned: bool,
    now: Timestamp,
    sizes: Sizes,
) -> Command<Settled> {
    let Draft { id, note: Note { author, .. } } = draft;
    let void = call(&script::VOID_POST).key(&keys.void(*author)).key(&keys.posts(*author));
    let void = void.key(&keys.cold(*author)).arg(id.get());
    void.arg(now.as_millis()).arg(VOID_MILLIS).arg(sizes.hot).arg(is_abandoned).reply()
}

/// Keeps the record of a void post from coming to be, and erases it if it has. `false` if the record is
/// of another post.
pub fn bury(keys: &Keys, draft: &Draft) -> Command<bool> {
    let Draft { id, note: Note { author, created_at, .. } } = draft;
    let bury = call(&script::BURY_POST).key(&keys.post(*id)).arg(author.get());
    bury.arg(created_at.as_millis()).arg(VOID_MILLIS).reply()
}

/// What is kept of a post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// The post.
    Live(Post),
    /// It was deleted.
    Tombstone {
        /// Whose it was.
        author: UserId,
        /// Whether the archive knows of it.
        is_settled: bool,
    },
    /// It was never visible and never will be.
    Void {
        /// Who would have been its author.
        author: UserId,
    },
    /// Nothing: there was no such post, or it is in the archive.
    Missing,
}

/// What is kept of a post.
pub fn read(keys: &Keys, id: PostId) -> Command<Record> {
    type Row = (Option<u64>, Option<String>, Option<i64>, Option<String>, Option<String>, Option<u8>);
    let read = command("HMGET").key(&keys.post(id)).args(FIELDS).arg("settled");
    read.reply::<Row>().map(move |(author, content, created_at, platform, delivery, settled)| {
        let corrupt = |field| Error::corrupt(format!("post {id} has no {field}"));
        let Some(author) = author else {
            return Ok(Record::Missing);
        };
        let author = UserId::new(author).ok_or_else(|| corrupt("author"))?;
        let Some(content) = content else {
            // Versions that do not know this take it for a tombstone that needs nothing more, which is right, too.
            if settled == Some(2) {
                return Ok(Record::Void { author });
            }
            return Ok(Record::Tombstone { author, is_settled: settled.is_some() });
        };
        let created_at = Timestamp::from_millis(created_at.ok_or_else(|| corrupt("created_at"))?);
        let delivery = delivery.as_deref().and_then(parse_delivery).ok_or_else(|| corrupt("delivery"))?;
        Ok(Record::Live(Post { id, author, content, platform, created_at, delivery }))
    })
}

/// Drops the record of a post that the archive has, unless it has changed. `true` if it is gone.
pub fn drop(keys: &Keys, post: &Post) -> Command<bool> {
    let drop = call(&script::DROP_POST).key(&keys.post(post.id));
    let drop = drop.arg("author").arg(post.author.get()).arg("content").arg(&post.content);
    let drop = drop.arg("created_at").arg(post.created_at.as_millis());
    let drop = drop.arg("platform").arg(post.platform.as_deref().unwrap_or_default());
    drop.arg("delivery").arg(print_delivery(post.delivery)).reply()
}

/// Lets the tombstone of a deleted post expire, since the archive knows of the deletion.
pub fn settle_tombstone(keys: &Keys, id: PostId) -> Command<bool> {
    call(&script::SETTLE_TOMBSTONE).key(&keys.post(id)).arg(VOID_MILLIS).reply()
}

/// Notes on a post that so many followers were served, unless it has been deleted.
pub fn mark_delivered(keys: &Keys, id: PostId, followers: u64) -> Command<bool> {
    let mark = call(&script::MARK_DELIVERED).key(&keys.post(id));
    mark.arg(print_delivery(Delivery::Delivered { followers })).reply()
}

/// What has become of an attempt to erase a post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Erased {
    /// It says nothing any more.
    Erased,
    /// There is no such post.
    Missing,
    /// It is somebody else's.
    Foreign,
}

impl FromRedisValue for Erased {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        match String::from_redis_value(value)?.as_str() {
            "erased" => Ok(Self::Erased),
            "missing" => Ok(Self::Missing),
            "foreign" => Ok(Self::Foreign),
            other => Err(ParsingError::from(format!("{other:?} is no outcome of an erasure"))),
        }
    }
}

/// Erases what a post says, if it is this author's, and leaves a tombstone; also of a post that only the
/// archive has, if that is told.
pub fn erase(keys: &Keys, author: UserId, id: PostId, is_archived: bool) -> Command<Erased> {
    call(&script::ERASE_POST).key(&keys.post(id)).arg(author.get()).arg(is_archived).reply()
}

/// What is left of a post, or of one that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Whose it is or was.
    pub author: UserId,
    /// How it comes, or came, to timelines; `None` if it never did.
    pub delivery: Option<Delivery>,
    /// Whether it has been deleted.
    pub is_deleted: bool,
}

/// What is left of a post; `None` if there was none.
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

/// Takes a post out of its author's lists and timeline, and out of those that became cold. `true` if it was
/// among them.
pub fn delete(keys: &Keys, author: UserId, id: PostId, now: Timestamp) -> Command<bool> {
    let delete = call(&script::DELETE_POST).key(&keys.void(author)).key(&keys.posts(author));
    let delete = delete.key(&keys.recent(author)).key(&keys.timeline(author));
    let delete = delete.key(&keys.cold(author)).key(&keys.gone(author)).key(&keys.removed(author));
    let delete = delete.arg(id.get()).arg(now.as_millis()).arg(VOID_MILLIS).arg(RECENT);
    delete.arg(REMOVED_MILLIS).reply()
}

/// Where among its author's posts a post is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whereabouts {
    /// In the list.
    Listed,
    /// It became cold, or was never visible and never will be.
    Cold,
    /// It is not visible.
    Absent,
}

impl FromRedisValue for Whereabouts {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        match String::from_redis_value(value)?.as_str() {
            "listed" => Ok(Self::Listed),
            "cold" => Ok(Self::Cold),
            "absent" => Ok(Self::Absent),
            other => Err(ParsingError::from(format!("{other:?} is no place for a post"))),
        }
    }
}

/// Where among its author's posts a post is.
pub fn find(keys: &Keys, author: UserId, id: PostId) -> Command<Whereabouts> {
    call(&script::FIND_POST).key(&keys.posts(author)).key(&keys.cold(author)).arg(id.get()).reply()
}

/// A page of an author's posts, as far as they are in the list here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostPage {
    /// The page. What its flags say, they say of the list.
    pub page: Page<PostId>,
    /// What became cold. The posts that are neither there nor in the list are not visible.
    pub cold: Cold,
    /// Which of those that were deleted the archive may still have.
    pub gone: Gone,
}

/// Posts that were deleted and that the archive may still have, next to the position of a page. At most
/// [`MOST_GONE`] on each side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gone {
    /// Those among which the page lies, in its direction.
    pub beside: Vec<PostId>,
    /// Those on the other side, away from the position.
    pub behind: Vec<PostId>,
}

/// Most posts that were deleted and that come with a page. Movers leave fewer, unless they are away.
pub const MOST_GONE: usize = 200;

/// What became cold of an author's posts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cold {
    /// The greatest post that did, ever; 0 if none did.
    pub greatest: u64,
    /// How many did and were not deleted.
    pub count: u64,
}

/// A page of an author's posts. `O(log n + page)`.
pub fn page(keys: &Keys, author: UserId, window: &Window<PostId>) -> Command<PostPage> {
    let page = call(&script::POSTS_PAGE).key(&keys.posts(author)).key(&keys.cold(author));
    let page = windowed(page.key(&keys.gone(author)), window).arg(MOST_GONE);
    page.reply::<(bool, bool, Vec<Id>, u64, u64, Vec<Id>, Vec<Id>)>().map(
        |(has_previous, has_next, found, greatest, count, beside, behind)| {
            let page = Page { entries: ids(found).into(), has_previous, has_next };
            let gone = Gone { beside: ids(beside), behind: ids(behind) };
            Ok(PostPage { page, cold: Cold { greatest, count }, gone })
        },
    )
}

/// Where an author's posts begin, seen from one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nearest {
    /// The first post in the list.
    pub hot: Option<PostId>,
    /// The greatest cold post.
    pub cold: Option<PostId>,
}

impl Nearest {
    /// Returns whether the author has no posts.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.hot.is_none() && self.cold.is_none()
    }

    /// Returns a bound before which the author has no post in this direction; `None` if there is no known bound, or no
    /// post.
    #[must_use]
    pub fn bound(&self, direction: Direction) -> Option<PostId> {
        match direction {
            Direction::Forward => self.hot.max(self.cold),
            Direction::Backward => self.hot.filter(|_| self.cold.is_none()),
        }
    }
}

/// Reads where an author's posts begin. Far cheaper than a page.
pub fn nearest(keys: &Keys, author: UserId, direction: Direction) -> Command<Nearest> {
    let index = match direction {
        Direction::Forward => 0,
        Direction::Backward => -1,
    };
    // In this order: a post that becomes cold between the two is in one of them.
    let hot = command("LINDEX").key(&keys.posts(author)).arg(index);
    let cold = command("HGET").key(&keys.cold(author)).arg("greatest");
    several::<(Option<Id>, Option<u64>)>(vec![hot, cold])
        .map(|(hot, cold)| Ok(Nearest { hot: hot.map(|Id(id)| id), cold: cold.and_then(PostId::new) }))
}

/// How many posts an author has, wherever they are.
pub fn count(keys: &Keys, author: UserId) -> Command<u64> {
    call(&script::COUNT_POSTS).key(&keys.posts(author)).key(&keys.cold(author)).reply()
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
