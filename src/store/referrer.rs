//! Storage of the lists of posts that refer to a post: its replies, the posts that quote it, and its reposts. They are in
//! the post's slot as long as its record is in Redis; afterwards, they are in the archive. The reposts of a deleted post
//! stay listed until they are deleted as well.
//!
//! Not here: the record (`store::post`), and the order of the steps (`app::post::referral`).

use redis::{FromRedisValue, ParsingError, Value};

use crate::model::details::{Details, Referral, ReferrerKind};
use crate::model::id::{PostId, UserId};
use crate::model::page::{Page, Window};
use crate::store::command::{Command, call, command};
use crate::store::key::Keys;
use crate::store::post::print_details;
use crate::store::post_list::{Id, ids, windowed};
use crate::store::script;

/// The outcome of entering a post in a list, or removing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Referred {
    /// The list is as requested.
    Done,
    /// The post that has the list is deleted, and the list with it.
    Deleted,
    /// The post that has the list has no record, and may be archived.
    Missing,
}

impl FromRedisValue for Referred {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        match String::from_redis_value(value)?.as_str() {
            "done" => Ok(Self::Done),
            "deleted" => Ok(Self::Deleted),
            "missing" => Ok(Self::Missing),
            other => Err(ParsingError::from(format!("{other:?} is not an outcome of a referral"))),
        }
    }
}

/// Enters a post in the list of a hot post, and counts it; or removes it. Idempotent. Takes `O(log n)`, plus the time to
/// insert the post before later ones.
pub fn refer(keys: &Keys, referral: &Referral, is_entered: bool) -> Command<Referred> {
    let Referral { kind, target, referrer, is_counted } = *referral;
    let refer = call(&script::REFER).key(&keys.post(target)).key(&keys.referrers(target, kind));
    refer.arg(referrer.get()).arg(is_entered).arg(is_counted).arg(position(kind)).reply()
}

/// Returns the position of a count in the stored details of a post.
fn position(kind: ReferrerKind) -> u8 {
    match kind {
        ReferrerKind::Repost => 4,
        ReferrerKind::Reply => 5,
        ReferrerKind::Quote => 6,
    }
}

/// Reads a page of a hot post's list, in descending order of id, in `O(log n + page)`. `None` if the post has no record.
pub fn page(
    keys: &Keys,
    target: PostId,
    kind: ReferrerKind,
    window: &Window<PostId>,
) -> Command<Option<Page<PostId>>> {
    let page = call(&script::REFERRERS_PAGE).key(&keys.post(target)).key(&keys.referrers(target, kind));
    let page = windowed(page, window).reply::<Option<(bool, bool, Vec<Id>)>>().walking(window.size);
    let page = page.map(|page| {
        let of =
            |(has_previous, has_next, found)| Page { entries: ids(found).into(), has_previous, has_next };
        Ok(page.map(of))
    });
    let window = *window;
    let apart = move |keys: &Keys| {
        // The list first: when the record is dropped, the list is already in the archive.
        let record = command("HEXISTS").key(&keys.post(target)).arg("author");
        vec![command("LRANGE").key(&keys.referrers(target, kind)).arg(0).arg(-1), record]
    };
    page.or_apart(keys, apart, move |(found, has_record): (Vec<Id>, bool)| {
        Ok(has_record.then(|| Page::of(&ids(found), &window)))
    })
}

/// Reads the repost of each of these posts by this user; `None` for posts that the user has not reposted.
pub fn reposts_by(keys: &Keys, user: UserId, posts: &[PostId]) -> Command<Vec<Option<PostId>>> {
    let read = command("HMGET").key(&keys.reposted(user)).args(posts.iter().map(|post| post.get()));
    read.reply::<Vec<Option<u64>>>()
        .map(|reposts| Ok(reposts.into_iter().map(|repost| repost.and_then(PostId::new)).collect()))
}

/// Lists reposts of a deleted post, read from the archive, so that they can be deleted as well. Does nothing unless the
/// post has a tombstone that the archive does not have yet. Idempotent.
pub fn list_reposts(keys: &Keys, deleted: PostId, reposts: &[PostId]) -> Command<bool> {
    let list = call(&script::LIST_REPOSTS)
        .key(&keys.post(deleted))
        .key(&keys.referrers(deleted, ReferrerKind::Repost));
    list.args(reposts.iter().map(|repost| repost.get())).reply()
}

/// Removes a repost that has been deleted from the list of a deleted post.
pub fn remove_repost(keys: &Keys, deleted: PostId, repost: PostId) -> Command<i64> {
    let list = keys.referrers(deleted, ReferrerKind::Repost);
    command("LREM").key(&list).arg(1).arg(repost.get()).reply()
}

/// Reads `size` posts of a list, from this index on, in descending order of id.
pub fn portion(
    keys: &Keys,
    target: PostId,
    kind: ReferrerKind,
    start: usize,
    size: usize,
) -> Command<Vec<PostId>> {
    let range = command("LRANGE").key(&keys.referrers(target, kind)).arg(start).arg(start + size - 1);
    range.reply::<Vec<Id>>().map(|found| Ok(ids(found)))
}

/// Corrects the details of a hot post, unless they have changed since they were read. Returns true if they are corrected.
pub fn correct_details(keys: &Keys, post: PostId, read: &Details, right: &Details) -> Command<bool> {
    let correct = call(&script::CORRECT_DETAILS).key(&keys.post(post));
    correct.arg(print_details(read)).arg(print_details(right)).reply()
}
