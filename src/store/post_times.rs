//! Storage of what is kept beside the list of an author's hot posts: their creation times, and those of them that only
//! followers can see.
//!
//! Scripts that change the list change these too. Not here: pages and counts that use them (`store::post_list`).

use std::collections::HashMap;

use crate::model::clock::Timestamp;
use crate::model::id::{PostId, UserId};
use crate::store::command::{Command, call, command, several};
use crate::store::key::Keys;
use crate::store::post_list::{Id, ids};
use crate::store::script;

/// An author's hot posts as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The posts, in list order.
    pub posts: Vec<PostId>,
    /// The stored elements of creation times, in list order.
    pub times: Vec<String>,
    /// The stored creation time of each post that only followers can see.
    pub limited: HashMap<PostId, Timestamp>,
}

/// Reads an author's hot posts, and what is kept beside them.
pub fn stored(keys: &Keys, author: UserId) -> Command<Stored> {
    let posts = command("LRANGE").key(&keys.posts(author)).arg(0).arg(-1);
    let times = command("LRANGE").key(&keys.post_times(author)).arg(0).arg(-1);
    let limited = command("ZRANGE").key(&keys.limited(author)).arg(0).arg(-1).arg("WITHSCORES");
    let parts = several::<(Vec<Id>, Vec<String>, Vec<(Id, i64)>)>(&[posts, times, limited]);
    parts.map(|(posts, times, limited)| {
        let limited = limited.into_iter().map(|(Id(post), time)| (post, Timestamp::from_millis(time)));
        Ok(Stored { posts: ids(posts), times, limited: limited.collect() })
    })
}

/// Returns the stored element of a post's creation time, as `store/lua/part/times.lua` writes it.
#[must_use]
pub fn time_element(post: PostId, time: Timestamp) -> String {
    let bits = i64::try_from(post.get() % 1_024).unwrap_or(0);
    (time.as_millis() * 1_024 + bits).to_string()
}

/// What is kept beside a hot post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beside {
    /// The post.
    pub post: PostId,
    /// Its creation time.
    pub time: Timestamp,
    /// True if only followers can see it.
    pub is_limited: bool,
}

/// Writes what is kept beside an author's hot posts, unless the posts have changed since they were read. Returns true
/// if it was written.
pub fn write(keys: &Keys, author: UserId, posts: &[Beside]) -> Command<bool> {
    let write = call(&script::WRITE_TIMES).key(&keys.posts(author)).key(&keys.post_times(author));
    let write = write.key(&keys.cold(author)).key(&keys.limited(author)).arg(posts.len());
    let write = write.args(posts.iter().map(|beside| beside.post.get()));
    let write = write.args(posts.iter().map(|beside| beside.time.as_millis()));
    write.args(posts.iter().map(|beside| beside.is_limited)).reply()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_element_of_a_time_has_the_last_bits_of_the_id() {
        let element = |id, millis| time_element(PostId::new(id).unwrap(), Timestamp::from_millis(millis));
        assert_eq!(element(1_025, 1_795_163_400_123), (1_795_163_400_123_i64 * 1_024 + 1).to_string());
    }
}
