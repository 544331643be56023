//! How posts are kept: each a small hash in a slot of its own, and their ids in lists of the author.
//!
//! A post that was deleted leaves a *tombstone*: a hash that tells whose it was and nothing else.
//!
//! Not here: what is noted while a post is being published (`store::draft`), the order of the steps
//! (`app::post`), timelines (`store::timeline`).

use redis::{FromRedisValue, ParsingError, Value};

use crate::model::clock::Timestamp;
use crate::model::id::{PostId, UserId};
use crate::model::page::{Page, Window};
use crate::model::post::{Content, Delivery, Digest, Platform, Post};
use crate::store::command::{Builder, Command, call, command};
use crate::store::draft::{Attempt, Draft, Note};
use crate::store::error::Error;
use crate::store::key::Keys;
use crate::store::script;
use crate::store::user::VOID_MILLIS;

/// How many posts the set of an author's newest ones holds.
const RECENT: usize = 20;

/// Most posts that are put on their way into the archive by one command.
pub const MOST_QUEUED: usize = 1_000;

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
}

impl FromRedisValue for Settled {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let mut answer = Vec::<Value>::from_redis_value(value)?.into_iter();
        let state = answer.next().map_or(Ok(0), u8::from_redis_value)?;
        let cold: Vec<Id> = answer.map(Id::from_redis_value).collect::<Result<_, _>>()?;
        Ok(match state {
            0 => Self::Void,
            1 => Self::Visible(ids(cold)),
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
/// is one under this idempotency key.
pub fn publish(
    keys: &Keys,
    draft: &Draft,
    now: Timestamp,
    sizes: Sizes,
    attempt: Option<(Digest, &Attempt)>,
) -> Command<Settled> {
    let Draft { id, note: Note { author, .. } } = draft;
    let publish = call(&script::PUBLISH_POST).key(&keys.void(*author)).key(&keys.posts(*author));
    let publish = publish.key(&keys.recent(*author)).key(&keys.timeline(*author)).key(&keys.cold(*author));
    let described = |publish: Builder| {
        let publish = publish.arg(id.get()).arg(sizes.timeline).arg(sizes.hot).arg(RECENT);
        publish.arg(now.as_millis()).arg(VOID_MILLIS)
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

/// A post; `None` if there is none, or none any more.
pub fn read(keys: &Keys, id: PostId) -> Command<Option<Post>> {
    type Row = (Option<u64>, Option<String>, Option<i64>, Option<String>, Option<String>);
    let read = command("HMGET").key(&keys.post(id)).args(FIELDS);
    read.reply::<Row>().map(move |(author, content, created_at, platform, delivery)| {
        let (Some(author), Some(content)) = (author, content) else {
            return Ok(None);
        };
        let corrupt = |field| Error::corrupt(format!("post {id} has no {field}"));
        Ok(Some(Post {
            id,
            author: UserId::new(author).ok_or_else(|| corrupt("author"))?,
            content,
            platform,
            created_at: Timestamp::from_millis(created_at.ok_or_else(|| corrupt("created_at"))?),
            delivery: delivery.as_deref().and_then(parse_delivery).ok_or_else(|| corrupt("delivery"))?,
        }))
    })
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

/// Erases what a post says, if it is this author's, and leaves a tombstone.
pub fn erase(keys: &Keys, author: UserId, id: PostId) -> Command<Erased> {
    call(&script::ERASE_POST).key(&keys.post(id)).arg(author.get()).reply()
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

/// Takes a post out of its author's lists and timeline.
pub fn delete(keys: &Keys, author: UserId, id: PostId, now: Timestamp) -> Command<bool> {
    let delete = call(&script::DELETE_POST).key(&keys.void(author)).key(&keys.posts(author));
    let delete = delete.key(&keys.recent(author)).key(&keys.timeline(author));
    delete.arg(id.get()).arg(now.as_millis()).arg(VOID_MILLIS).arg(RECENT).reply()
}

/// Puts posts on their way into the archive. Twice does no harm.
///
/// # Panics
/// If there are none, or more than [`MOST_QUEUED`].
pub fn queue_for_archive(keys: &Keys, posts: &[PostId]) -> Command<i64> {
    assert!((1..=MOST_QUEUED).contains(&posts.len()), "1 to {MOST_QUEUED} posts are put on their way");
    command("RPUSH").key(&keys.pending()).args(posts.iter().map(|post| post.get())).reply()
}

/// A page of an author's posts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostPage {
    /// The page, of the posts that are kept here.
    pub page: Page<PostId>,
    /// The greatest of the author's posts that has become cold; 0 if none has.
    pub cold: u64,
}

/// A page of an author's posts. `O(log n + page)`.
pub fn page(keys: &Keys, author: UserId, window: &Window<PostId>) -> Command<PostPage> {
    let page = call(&script::POSTS_PAGE).key(&keys.posts(author)).key(&keys.cold(author));
    windowed(page, window).reply::<(bool, bool, Vec<Id>, u64)>().map(
        |(has_previous, has_next, found, cold)| {
            Ok(PostPage { page: Page { entries: ids(found).into(), has_previous, has_next }, cold })
        },
    )
}

/// How many posts an author has.
pub fn count(keys: &Keys, author: UserId) -> Command<u64> {
    command("LLEN").key(&keys.posts(author)).reply()
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
