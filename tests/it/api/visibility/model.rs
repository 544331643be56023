//! The naive model of what each viewer sees.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use fanfold::model::post::Visibility;
use serde_json::{Value, json};

use crate::harness::id::global;

pub(super) const USERS: usize = 12;

pub(super) struct NaivePost {
    pub(super) number: u64,
    pub(super) author: usize,
    pub(super) is_deleted: bool,
    pub(super) visibility: Visibility,
}

#[derive(Clone, Copy)]
pub(super) struct NaiveMute {
    pub(super) since: i64,
    pub(super) until: Option<i64>,
    pub(super) hides_posts: bool,
}

/// An entry of a list of users: a time, and the index of the user.
pub(super) type Entry = (i64, usize);

/// Ordered pairs of users, with a time.
pub(super) type Pairs = BTreeMap<(usize, usize), i64>;

/// The naive model. Users are indices; times are milliseconds since the beginning.
#[derive(Default)]
pub(super) struct Model {
    pub(super) now: i64,
    pub(super) follows: Pairs,
    pub(super) requests: Pairs,
    pub(super) blocks: Pairs,
    pub(super) mutes: BTreeMap<(usize, usize), NaiveMute>,
    pub(super) private: BTreeSet<usize>,
    pub(super) suspended: BTreeSet<usize>,
    pub(super) posts: Vec<NaivePost>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Follow,
    Unfollow,
    RemoveFollower,
    Accept,
    Reject,
    Mute { until: Option<i64>, hides_posts: bool },
    Unmute,
    Block,
    Unblock,
}

impl Change {
    /// Returns the name of the mutation, and more fields of its input.
    pub(super) fn mutation(self) -> (&'static str, String) {
        match self {
            Self::Follow => ("follow", String::new()),
            Self::Unfollow => ("unfollow", String::new()),
            Self::RemoveFollower => ("removeFollower", String::new()),
            Self::Accept => ("acceptFollowRequest", String::new()),
            Self::Reject => ("rejectFollowRequest", String::new()),
            Self::Mute { until, hides_posts } => {
                let until = until.map_or("null".to_owned(), |until| format!("\"{}\"", printed(until)));
                let scope = if hides_posts { "ALL" } else { "REPOSTS" };
                ("mute", format!(", until: {until}, scope: {scope}"))
            }
            Self::Unmute => ("unmute", String::new()),
            Self::Block => ("block", String::new()),
            Self::Unblock => ("unblock", String::new()),
        }
    }
}

pub(super) fn printed(at: i64) -> String {
    let (second, milli) = (at.div_euclid(1_000), at.rem_euclid(1_000));
    format!("2026-01-01T{:02}:{:02}:{:02}.{milli:03}Z", second / 3_600, second / 60 % 60, second % 60)
}

pub(super) fn user_id(user: usize) -> String {
    global("User", user as u64 + 1)
}

pub(super) fn post_id(post: u64) -> String {
    global("Post", post)
}

pub(super) fn number_of(id: &Value) -> u64 {
    let text = URL_SAFE_NO_PAD.decode(id.as_str().unwrap()).unwrap();
    String::from_utf8(text).unwrap().split_once(':').unwrap().1.parse().unwrap()
}

/// Compares entries by their places in a list.
pub(super) fn in_list_order(one: &Entry, other: &Entry) -> Ordering {
    let key = |&(at, user): &Entry| (Reverse(at), Reverse((user + 1).to_string()));
    key(one).cmp(&key(other))
}

impl Model {
    /// Makes a change that `user` requests with the id of `other`. Returns the code of the error if it is rejected.
    pub(super) fn change(&mut self, change: Change, user: usize, other: usize) -> Option<&'static str> {
        if user == other {
            return Some("SELF");
        }
        if self.hides(Some(user), other) {
            // A block can be lifted although its user is hidden.
            if change == Change::Unblock {
                self.blocks.remove(&(user, other));
            }
            return Some("NOT_FOUND");
        }
        let (there, back) = ((user, other), (other, user));
        match change {
            Change::Follow if self.blocks.contains_key(&there) => return Some("BLOCKED"),
            Change::Follow if self.follows.contains_key(&there) => {}
            Change::Follow => {
                let to = if self.private.contains(&other) { &mut self.requests } else { &mut self.follows };
                to.entry(there).or_insert(self.now);
            }
            Change::Unfollow => self.end(there),
            Change::RemoveFollower => self.end(back),
            Change::Accept => {
                if self.requests.remove(&back).is_some() {
                    self.follows.insert(back, self.now);
                }
            }
            Change::Reject => drop(self.requests.remove(&back)),
            Change::Mute { until, hides_posts } => {
                let since = self.mute(user, other).map_or(self.now, |mute| mute.since);
                self.mutes.insert(there, NaiveMute { since, until, hides_posts });
            }
            Change::Unmute => drop(self.mutes.remove(&there)),
            Change::Block => {
                self.blocks.entry(there).or_insert(self.now);
                self.end(there);
                self.end(back);
            }
            Change::Unblock => drop(self.blocks.remove(&there)),
        }
        None
    }

    pub(super) fn end(&mut self, pair: (usize, usize)) {
        self.follows.remove(&pair);
        self.requests.remove(&pair);
    }

    pub(super) fn make_private(&mut self, user: usize, is_private: bool) {
        if is_private {
            self.private.insert(user);
            return;
        }
        self.private.remove(&user);
        self.accept_requests();
    }

    /// Accepts the requests of active users to follow users with public accounts.
    fn accept_requests(&mut self) {
        let is_accepted = |(from, to): &&(usize, usize)| {
            !self.private.contains(to) && [from, to].iter().all(|user| !self.suspended.contains(user))
        };
        let accepted: Vec<_> = self.requests.keys().filter(is_accepted).copied().collect();
        for pair in accepted {
            self.requests.remove(&pair);
            self.follows.insert(pair, self.now);
        }
    }

    pub(super) fn suspend(&mut self, user: usize, is_suspended: bool) {
        if is_suspended {
            self.suspended.insert(user);
        } else {
            self.suspended.remove(&user);
            self.accept_requests();
        }
    }

    pub(super) fn mute(&self, user: usize, other: usize) -> Option<NaiveMute> {
        let mute = self.mutes.get(&(user, other)).copied()?;
        mute.until.is_none_or(|until| until > self.now).then_some(mute)
    }

    /// Returns true if the viewer must not notice that the user exists.
    pub(super) fn hides(&self, viewer: Option<usize>, user: usize) -> bool {
        let is_blocked = viewer.is_some_and(|viewer| self.blocks.contains_key(&(user, viewer)));
        is_blocked || self.suspended.contains(&user)
    }

    /// Returns the users who can sign in.
    pub(super) fn active(&self) -> Vec<usize> {
        (0..USERS).filter(|user| !self.suspended.contains(user)).collect()
    }

    pub(super) fn has_block(&self, viewer: Option<usize>, user: usize) -> bool {
        let blocks = |viewer| self.blocks.contains_key(&(viewer, user));
        self.hides(viewer, user) || viewer.is_some_and(blocks)
    }

    /// Returns a list as the viewer sees it, in order.
    pub(super) fn list(&self, list: &str, owner: usize, viewer: Option<usize>) -> Vec<Entry> {
        let follows = |from, to| self.follows.contains_key(&(from, to));
        let followers = self.follows.iter().filter(|((_, to), _)| *to == owner);
        let followers = followers.map(|((from, _), at)| (*at, *from));
        let following = self.follows.iter().filter(|((from, _), _)| *from == owner);
        let following = following.map(|((_, to), at)| (*at, *to));
        let mut entries: Vec<Entry> = match list {
            "followers" => followers.collect(),
            "following" => following.collect(),
            "mutuals" => following.filter(|(_, user)| follows(*user, owner)).collect(),
            "knownFollowers" => {
                followers.filter(|(_, user)| viewer.is_some_and(|viewer| follows(viewer, *user))).collect()
            }
            other => panic!("no list is called {other}"),
        };
        entries.retain(|(_, user)| !self.has_block(viewer, *user));
        entries.sort_by(in_list_order);
        entries
    }

    /// Returns one of the viewer's own lists, in order.
    pub(super) fn own_list(&self, list: &str, viewer: usize) -> Vec<Entry> {
        let from = |pairs: &Pairs| -> Vec<Entry> {
            let from = pairs.iter().filter(|((from, _), _)| *from == viewer);
            from.map(|((_, to), at)| (*at, *to)).collect()
        };
        let mut entries = match list {
            "blocked" => from(&self.blocks),
            "sentFollowRequests" => from(&self.requests),
            "muted" => {
                let mute = |user| Some((self.mute(viewer, user)?.since, user));
                (0..USERS).filter_map(mute).collect()
            }
            "followRequests" => {
                let to = self.requests.iter().filter(|((_, to), _)| *to == viewer);
                to.map(|((from, _), at)| (*at, *from)).collect()
            }
            other => panic!("no list is called {other}"),
        };
        entries.retain(|(_, user)| !self.hides(Some(viewer), *user));
        entries.sort_by(in_list_order);
        entries
    }

    pub(super) fn sees(&self, viewer: Option<usize>, post: &NaivePost) -> bool {
        let author = post.author;
        let follows = viewer.is_some_and(|viewer| self.follows.contains_key(&(viewer, author)));
        let is_limited = self.private.contains(&author) || post.visibility == Visibility::Followers;
        let sees = viewer == Some(author) || !self.has_block(viewer, author) && (follows || !is_limited);
        !post.is_deleted && sees
    }

    /// Returns a user's posts as the viewer sees them, newest first.
    pub(super) fn posts_of(&self, author: usize, viewer: Option<usize>) -> Vec<u64> {
        let posts = self.posts.iter().filter(|post| post.author == author && self.sees(viewer, post));
        posts.map(|post| post.number).rev().collect()
    }

    pub(super) fn timeline(&self, viewer: usize) -> Vec<u64> {
        let belongs = |author: usize| {
            let hides = self.mute(viewer, author).is_some_and(|mute| mute.hides_posts);
            author == viewer || self.follows.contains_key(&(viewer, author)) && !hides
        };
        let posts = self.posts.iter().filter(|post| belongs(post.author) && self.sees(Some(viewer), post));
        posts.map(|post| post.number).rev().collect()
    }

    pub(super) fn status(&self, viewer: Option<usize>, user: usize) -> Value {
        let Some(viewer) = viewer.filter(|viewer| *viewer != user) else { return Value::Null };
        let follows = |pair| self.follows.contains_key(&pair);
        json!({ "status": match (follows((viewer, user)), follows((user, viewer))) {
            (false, false) => "NONE",
            (true, false) => "FOLLOWING",
            (false, true) => "FOLLOWER",
            (true, true) => "MUTUAL",
        } })
    }

    pub(super) fn relation(&self, viewer: Option<usize>, user: usize) -> Value {
        let status = self.status(viewer, user);
        let Some(viewer) = viewer.filter(|_| !status.is_null()) else { return Value::Null };
        let (there, back) = ((viewer, user), (user, viewer));
        let at = |pairs: &Pairs, pair| pairs.get(&pair).map(|at| printed(*at));
        let mute = self.mute(viewer, user);
        json!({
            "status": status["status"],
            "followingSince": at(&self.follows, there),
            "followerSince": at(&self.follows, back),
            "requestedSince": at(&self.requests, there),
            "requesterSince": at(&self.requests, back),
            "blockedSince": at(&self.blocks, there),
            "mutedSince": mute.map(|mute| printed(mute.since)),
            "mutedUntil": mute.and_then(|mute| mute.until).map(printed),
            "muteScope": mute.map(|mute| if mute.hides_posts { "ALL" } else { "REPOSTS" }),
        })
    }
}

pub(super) fn parsed(at: &str) -> i64 {
    let part = |range: std::ops::Range<usize>| at[range].parse::<i64>().unwrap();
    ((part(11..13) * 60 + part(14..16)) * 60 + part(17..19)) * 1_000 + part(20..23)
}
