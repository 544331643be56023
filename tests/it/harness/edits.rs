//! Edits of posts, and what readers should see of them: a history of versions, to which each edit adds one.

use std::collections::BTreeMap;

use fanfold::app::App;
use fanfold::app::archive::{Listed, StoredPost};
use fanfold::app::error::Error;
use fanfold::app::post::read::{EarlierVersions, PostRecords};
use fanfold::app::read::{Load as _, Shared};
use fanfold::model::clock::Timestamp;
use fanfold::model::id::PostId;

/// The text of a repost, which nobody can edit.
const REPOST: &str = "";

/// An edit that was requested. Its text is that of no other edit of the post, except with the same idempotency key.
struct Requested {
    post: PostId,
    text: String,
    began: usize,
    /// `None` unless the edit was confirmed.
    ended: Option<usize>,
}

/// All edits that were requested, and the versions that were seen.
#[derive(Default)]
pub(crate) struct Edits {
    /// Number of beginnings and ends so far.
    time: usize,
    requested: Vec<Requested>,
    seen: BTreeMap<PostId, Vec<Version>>,
}

/// A version of a post: its text, and the time at which it was written.
pub(crate) type Version = (String, Timestamp);

/// Returns all versions of a post, as a reader finds them in two round trips, the first one first; `None` if the post does
/// not exist.
pub(crate) async fn read_versions(app: &App, id: PostId) -> Result<Option<Vec<Version>>, Error> {
    let found = app.load(PostRecords { posts: Shared([Listed::Id(id)].into()), needs_archive: true }).await?;
    let Some(post) = found[0].as_ref().map(StoredPost::unchecked) else { return Ok(None) };
    let edition = post.details.edition;
    let earlier = app.load(EarlierVersions { post: id, before: edition }).await?;
    let editions: Vec<u32> = earlier.iter().map(|version| version.edition).collect();
    if !editions.iter().copied().eq((0..edition).rev()) {
        // No history, which the check reports.
        return Ok(Some(vec![(format!("{edition} after {editions:?}"), post.created_at)]));
    }
    let earlier = earlier.iter().rev().map(|version| (version.content.clone(), version.written_at));
    let current = (post.content.clone(), post.details.edited_at.unwrap_or(post.created_at));
    Ok(Some(earlier.chain([current]).collect()))
}

impl Edits {
    /// Records the beginning of an edit. Returns its number.
    pub(crate) fn begin(&mut self, post: PostId, text: String) -> usize {
        self.time += 1;
        self.requested.push(Requested { post, text, began: self.time, ended: None });
        self.requested.len() - 1
    }

    /// Records that an edit was confirmed.
    pub(crate) fn confirm(&mut self, number: usize) {
        self.time += 1;
        self.requested[number].ended = Some(self.time);
    }

    /// Returns true if all edits that were requested have been confirmed.
    pub(crate) fn are_confirmed(&self) -> bool {
        self.requested.iter().all(|edit| edit.ended.is_some())
    }

    /// Returns a text that no edit has.
    pub(crate) fn new_text(&self) -> String {
        format!("edit {}", self.requested.len())
    }

    /// Returns the posts for which edits were requested.
    pub(crate) fn posts(&self) -> Vec<PostId> {
        let mut posts: Vec<PostId> = self.requested.iter().map(|edit| edit.post).collect();
        posts.sort_unstable();
        posts.dedup();
        posts
    }

    /// Checks the versions that a reader has found. If they are those of now, they must contain all edits that were
    /// confirmed, and all versions that were seen before.
    pub(crate) fn check(&mut self, post: PostId, found: &[Version], is_now: bool) -> Result<(), String> {
        let fault = |what: &str| Err(format!("post {post}: {what}: {found:?}"));
        let of_post: Vec<&Requested> = self.requested.iter().filter(|edit| edit.post == post).collect();
        let texts: Vec<&str> = found.iter().map(|(text, _)| text.as_str()).collect();
        if !["plain", "keyed 0", "keyed 1", REPOST].contains(&texts[0]) {
            return fault("not the first version");
        }
        if texts[0] == REPOST && texts.len() > 1 {
            return fault("a repost was edited");
        }
        if !found.is_sorted_by_key(|(_, written_at)| *written_at) {
            return fault("later versions are older");
        }
        for (index, text) in texts.iter().enumerate().skip(1) {
            if texts[..index].contains(text) {
                return fault("twice the same edit");
            }
            if !of_post.iter().any(|edit| edit.text == *text) {
                return fault("an edit that was not requested");
            }
        }
        let confirmed = of_post.iter().filter(|edit| edit.ended.is_some());
        if is_now && confirmed.clone().any(|edit| !texts.contains(&edit.text.as_str())) {
            return fault("a confirmed edit is missing");
        }
        for (earlier, later) in texts.iter().zip(texts.iter().skip(1)).skip(1) {
            let ended =
                confirmed.clone().filter(|edit| edit.text == *later).filter_map(|edit| edit.ended).min();
            let began = of_post.iter().filter(|edit| edit.text == *earlier).map(|edit| edit.began).min();
            if ended.zip(began).is_some_and(|(ended, began)| ended < began) {
                return fault("an edit came before one that had been confirmed");
            }
        }
        let seen = self.seen.entry(post).or_default();
        if !(found.starts_with(seen) || seen.starts_with(found) && !is_now) {
            return Err(format!("post {post}: {seen:?} were seen, and now {found:?}"));
        }
        if found.len() > seen.len() {
            *seen = found.to_vec();
        }
        Ok(())
    }
}
