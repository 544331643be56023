//! Storage of the lists of posts that refer to a post: its replies, the posts that quote it, and its reposts, each
//! divided into listed, limited and withheld entries. They are in the post's slot as long as its record is in Redis;
//! afterwards, they are in the archive. The reposts of a deleted post stay in their lists until they are deleted as
//! well.
//!
//! Not here: the record (`store::post`), and the order of the steps (`app::post::referral`).

use std::cmp::Reverse;

use crate::budget::{self, Resource};
use crate::driver::reply::size_of_text;
use crate::model::attachment::ReferrerKind;
use crate::model::details::Details;
use crate::model::id::{PostId, UserId};
use crate::model::page::{Page, Window};
use crate::model::referrer::{EntryKind, EntryList, EntryPage, LimitedEntry, Referral, ReferrerEntry};
use crate::store::command::{Builder, Command, call, command};
use crate::store::error::Error;
use crate::store::key::{Key, Keys, List};
use crate::store::post::{Attached, print_details};
use crate::store::post_list::{Id, ids, windowed};
use crate::store::script;
use crate::store::tree::Shard;

/// Makes the entry of a post in the lists of a hot post one of this kind, moved from another list if it is there; or
/// removes it. Counts listed entries. Idempotent. Takes `O(log n)`, plus the time to insert the entry before later
/// ones.
pub fn refer(keys: &Keys, referral: &Referral, entry: Option<EntryKind>) -> Command<Attached> {
    let Referral { kind, target, referrer, .. } = *referral;
    let refer = with_entries(call(&script::REFER), keys, target, kind);
    let place = entry.map_or(0, |entry| 1 + EntryKind::ALL.iter().take_while(|kind| **kind != entry).count());
    let text = entry.map_or(String::new(), |entry| ReferrerEntry::of(referral, entry).to_string());
    refer.arg(referrer.get()).arg(place).arg(text).arg(kind.attachment().position).reply()
}

/// Adds the keys of a post's record, and of the lists of its referrers of this kind.
fn with_entries(call: Builder, keys: &Keys, post: PostId, kind: ReferrerKind) -> Builder {
    keys.entries(post, kind).iter().fold(call.key(&keys.post(post)), Builder::key)
}

/// Reads a page of a hot post's listed entries, in descending order of id, and up to `limited` limited entries next to
/// the page's position, in `O(log n + page)`. `None` if the post has no record. Limited entries are not charged: what a
/// request costs must not tell of entries that its viewer may not see.
pub fn page(
    keys: &Keys,
    target: PostId,
    kind: ReferrerKind,
    window: &Window<PostId>,
    limited: usize,
) -> Command<Option<EntryPage>> {
    let [listed_key, limited_key] =
        [EntryKind::Listed, EntryKind::Limited].map(|entries| keys.referrers(target, kind, entries));
    let page = call(&script::REFERRERS_PAGE).key(&keys.post(target)).key(&listed_key);
    let page = if limited > 0 { page.key(&limited_key) } else { page };
    let page = windowed(page, window).arg(limited);
    let page = page.reply::<Option<(bool, bool, Vec<Id>, String)>>().walking(window.size);
    let direction = window.direction;
    let page = page.map(move |page| {
        let Some((has_previous, has_next, listed, entries)) = page else { return Ok(None) };
        budget::refund(Resource::ReplyBytes, size_of_text(Some(entries.len())) - size_of_text(Some(0)));
        let listed = Page { entries: ids(listed).into(), has_previous, has_next };
        let entries = limited_entries(entries.split_whitespace())?;
        Ok(Some(EntryPage::new(listed, entries, direction, limited)))
    });
    let window = *window;
    let apart = move |keys: &Keys| {
        // The lists first: when the record is dropped, they are already in the archive. The limited entries before and
        // after the listed ones: an entry that moves in between is in one of the lists that are read.
        let all = |entries| command("LRANGE").key(&keys.referrers(target, kind, entries)).arg(0).arg(-1);
        let record = command("HEXISTS").key(&keys.post(target)).arg("author");
        vec![all(EntryKind::Limited), all(EntryKind::Listed), all(EntryKind::Limited), record]
    };
    page.or_apart(keys, apart, move |(before, listed, after, has_record): Parts| {
        if !has_record {
            return Ok(None);
        }
        let listed = Page::of(&ids(listed), &window);
        let mut entries = limited_entries(before.iter().chain(&after).map(String::as_str))?;
        entries.sort_unstable_by_key(|entry| Reverse(entry.post));
        entries.dedup();
        let next = Page::of(&entries, &Window { size: limited.saturating_add(1), ..window });
        Ok(Some(EntryPage::new(listed, next.entries.to_vec(), direction, limited)))
    })
}

/// The parts of a page that are read one by one: the limited entries, the listed ones, the limited ones again, and true
/// if the post has a record.
type Parts = (Vec<String>, Vec<Id>, Vec<String>, bool);

/// Parses limited entries.
fn limited_entries<'a>(texts: impl Iterator<Item = &'a str>) -> Result<Vec<LimitedEntry>, Error> {
    let entry = |text: &str| match text.parse() {
        Ok(ReferrerEntry { post, author: Some(author) }) => Ok(LimitedEntry { post, author }),
        _ => Err(Error::corrupt(format!("{text:?} is not a limited entry"))),
    };
    texts.map(entry).collect()
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
    let list = call(&script::LIST_REPOSTS).key(&keys.post(deleted));
    let list = list.key(&keys.referrers(deleted, ReferrerKind::Repost, EntryKind::Listed));
    list.args(reposts.iter().map(|repost| repost.get())).reply()
}

/// Removes the entry of a repost that has been deleted from a list of a deleted post.
pub fn remove_repost(keys: &Keys, list: EntryList, repost: ReferrerEntry) -> Command<i64> {
    command("LREM").key(&key(keys, list)).arg(1).arg(repost.to_string()).reply()
}

/// Reads `size` entries of a list, from this index on, in descending order of id.
pub fn portion(keys: &Keys, list: EntryList, start: usize, size: usize) -> Command<Vec<ReferrerEntry>> {
    let range = command("LRANGE").key(&key(keys, list)).arg(start).arg(start + size - 1);
    let unreadable = |text: &str| Error::corrupt(format!("{text:?} is not an entry of a list of referrers"));
    let entry = move |text: &String| text.parse().map_err(|_| unreadable(text));
    range.reply::<Vec<String>>().map(move |texts| texts.iter().map(entry).collect())
}

fn key(keys: &Keys, EntryList { target, kind, entries }: EntryList) -> Key<List> {
    keys.referrers(target, kind, entries)
}

/// Counts the lists of a hot post's referrers that have entries. For checks.
pub fn list_count(keys: &Keys, post: PostId) -> Command<u64> {
    let count = |count: Builder, list| count.key(&key(keys, list));
    EntryList::all(post).fold(command("EXISTS"), count).reply()
}

/// Reads the kind of a post's entry in the lists of a hot post, and true if that post has a record: `None` without an
/// entry. For checks.
pub fn kind_of(keys: &Keys, referral: &Referral) -> Command<(bool, Option<EntryKind>)> {
    let Referral { kind, target, referrer, .. } = *referral;
    let find = with_entries(call(&script::FIND_REFERRER), keys, target, kind);
    let find = find.arg(referrer.get()).reply::<i64>();
    find.map(|place| {
        let kind = usize::try_from(place - 1).ok().and_then(|index| EntryKind::ALL.get(index)).copied();
        Ok((place >= 0, kind))
    })
}

/// Corrects the details of a hot post, and the number of likes that is stored with its likes, unless the details have
/// changed since they were read. Returns true if they are corrected.
pub fn correct_details(keys: &Keys, post: PostId, read: &Details, right: &Details) -> Command<bool> {
    let likes = keys.likes(post);
    let correct = call(&script::CORRECT_DETAILS).key(&keys.post(post)).key(&likes.count());
    let correct = correct.key(&likes.shard(Shard::ROOT.index()));
    correct.arg(print_details(read)).arg(print_details(right)).arg(right.counts.likes()).reply()
}
