//! A naive model of what users have done, and the lines of an export that follow from it.

use std::collections::{BTreeMap, BTreeSet};

use fanfold::model::clock::Timestamp;
use fanfold::model::id::{PostId, UserId};
use fanfold::model::reaction::ReactionKind;
use fanfold::model::relation::MuteScope;
use serde_json::{Value, json};

use crate::harness::id::global;

/// A naive model of what users have done.
#[derive(Default)]
pub(super) struct Model {
    pub(super) private: BTreeSet<UserId>,
    pub(super) suspended: BTreeSet<UserId>,
    pub(super) follows: BTreeMap<(UserId, UserId), Timestamp>,
    pub(super) requests: BTreeMap<(UserId, UserId), Timestamp>,
    pub(super) blocks: BTreeMap<(UserId, UserId), Timestamp>,
    pub(super) mutes: BTreeMap<(UserId, UserId), (Timestamp, Option<Timestamp>, MuteScope)>,
    pub(super) posts: BTreeMap<PostId, Value>,
    /// By kind, as [`ReactionKind`] numbers them, and post.
    pub(super) reactions: BTreeMap<(usize, PostId), Timestamp>,
}

impl Model {
    fn has_block(&self, one: UserId, other: UserId) -> bool {
        self.blocks.contains_key(&(one, other)) || self.blocks.contains_key(&(other, one))
    }

    pub(super) fn follow(&mut self, from: UserId, to: UserId, now: Timestamp) {
        let edge = (from, to);
        if self.has_block(from, to) || self.follows.contains_key(&edge) || self.requests.contains_key(&edge) {
            return;
        }
        let list = if self.private.contains(&to) { &mut self.requests } else { &mut self.follows };
        list.insert(edge, now);
    }

    pub(super) fn end(&mut self, from: UserId, to: UserId) {
        self.follows.remove(&(from, to));
        self.requests.remove(&(from, to));
    }

    pub(super) fn accept(&mut self, from: UserId, to: UserId, now: Timestamp) {
        if self.requests.remove(&(from, to)).is_some() {
            self.follows.insert((from, to), now);
        }
    }

    pub(super) fn make_public(&mut self, user: UserId, now: Timestamp) {
        self.private.remove(&user);
        let waiting: Vec<_> = self.requests.keys().filter(|(_, to)| *to == user).copied().collect();
        for (from, to) in waiting {
            self.accept(from, to, now);
        }
    }

    pub(super) fn block(&mut self, from: UserId, to: UserId, now: Timestamp) {
        self.end(from, to);
        self.end(to, from);
        self.blocks.entry((from, to)).or_insert(now);
    }

    /// Returns the lines of a user's lists and posts, in any order.
    pub(super) fn lines(&self, owner: UserId, now: Timestamp, name: impl Fn(UserId) -> String) -> Vec<Value> {
        let is_seen = |user: &UserId| {
            !self.suspended.contains(user) && !self.blocks.contains_key(&(*user, owner)) && *user != owner
        };
        let line = |kind: &str, user: UserId, since: Timestamp| json!({ "type": kind, "userId": global("User", user.get()), "username": name(user), "since": print(since) });
        let mut lines: Vec<Value> = self.posts.values().cloned().collect();
        let edges = [
            (&self.follows, "following", "follower"),
            (&self.requests, "followRequestSent", "followRequestReceived"),
            (&self.blocks, "block", ""),
        ];
        for (edges, of_owner, of_other) in edges {
            for (&(from, to), &at) in edges {
                if from == owner && is_seen(&to) {
                    lines.push(line(of_owner, to, at));
                } else if to == owner && is_seen(&from) && !of_other.is_empty() {
                    lines.push(line(of_other, from, at));
                }
            }
        }
        for (&(from, to), &(since, until, scope)) in &self.mutes {
            if from == owner && is_seen(&to) && until.is_none_or(|until| until > now) {
                let mut mute = line("mute", to, since);
                mute["until"] = until.map_or(Value::Null, |until| Value::String(print(until)));
                mute["scope"] = json!(if scope == MuteScope::All { "ALL" } else { "REPOSTS" });
                lines.push(mute);
            }
        }
        lines.extend(self.reactions.iter().map(|((kind, post), at)| {
            let name = if *kind == ReactionKind::Like as usize { "like" } else { "bookmark" };
            json!({ "type": name, "postId": global("Post", post.get()), "since": print(*at) })
        }));
        lines
    }
}

pub(super) fn print(time: Timestamp) -> String {
    format!("{:.3}", jiff::Timestamp::from_millisecond(time.as_millis()).unwrap())
}
