//! Storage of intents: records of operations that touch several slots, kept while the operations are under
//! way.
//!
//! An interrupted operation leaves its intent behind, and the repairer (`app::repair`) completes it. An
//! intent belongs to one call and carries that call's token, so that two calls with the same arguments never
//! drop each other's intents.
//!
//! Intents are spread over partitions, each a sorted set scored by the operation's start time. A member is
//! `edge:follower:followee:token`, `block:user:other:token`, `public:user:token`, `name:username:id:token`,
//! `subject:subject:id:token`, `refer:author:post:token`, `like:user:post:token` or `delete:author:post:token`.

use std::fmt;

use crate::model::clock::Timestamp;
use crate::model::id::{PostId, UserId};
use crate::model::subject::Subject;
use crate::model::user::Username;
use crate::store::command::{Command, command};
use crate::store::key::{INTENT_PARTITIONS, Keys};

/// A record of an operation under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// The operation under way.
    pub operation: Operation,
    /// Unique token of the call that performs the operation.
    pub token: u64,
}

/// An operation that touches several slots.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Writing the edge between two users.
    Edge {
        /// The user who follows or unfollows.
        follower: UserId,
        /// The user who is followed or unfollowed.
        followee: UserId,
    },
    /// Writing the block of one user by another.
    Block {
        /// The user who blocks or unblocks.
        user: UserId,
        /// The user who is blocked or unblocked.
        other: UserId,
    },
    /// Making an account public, which accepts all pending requests to follow the user.
    Public {
        /// The user whose account becomes public.
        user: UserId,
    },
    /// Creating a user with a username.
    Name {
        /// Username reserved for the user's id.
        username: Username,
        /// Id of the user to create.
        user: UserId,
    },
    /// Creating a user for a subject of an existing application.
    Subject {
        /// Subject reserved for the user's id.
        subject: Subject,
        /// Id of the user to create.
        user: UserId,
    },
    /// Entering a post in the lists of the posts that it refers to.
    Refer {
        /// The post's author.
        author: UserId,
        /// Post that refers to others.
        post: PostId,
    },
    /// Writing a user's like of a post.
    Like {
        /// The user who likes the post, or no longer likes it.
        user: UserId,
        /// The post.
        post: PostId,
    },
    /// Deleting a post.
    Delete {
        /// The post's author.
        author: UserId,
        /// Post to delete.
        post: PostId,
    },
}

impl fmt::Display for Intent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.operation {
            Operation::Edge { follower, followee } => write!(formatter, "edge:{follower}:{followee}")?,
            Operation::Block { user, other } => write!(formatter, "block:{user}:{other}")?,
            Operation::Public { user } => write!(formatter, "public:{user}")?,
            Operation::Name { username, user } => write!(formatter, "name:{username}:{user}")?,
            Operation::Subject { subject, user } => write!(formatter, "subject:{subject}:{user}")?,
            Operation::Refer { author, post } => write!(formatter, "refer:{author}:{post}")?,
            Operation::Like { user, post } => write!(formatter, "like:{user}:{post}")?,
            Operation::Delete { author, post } => write!(formatter, "delete:{author}:{post}")?,
        }
        write!(formatter, ":{:x}", self.token)
    }
}

impl Intent {
    /// Parses a stored intent; `None` if this version does not know its format.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(':');
        let mut next = || parts.next();
        let operation = match (next()?, next()?) {
            ("edge", follower) => {
                Operation::Edge { follower: follower.parse().ok()?, followee: next()?.parse().ok()? }
            }
            ("block", user) => Operation::Block { user: user.parse().ok()?, other: next()?.parse().ok()? },
            ("public", user) => Operation::Public { user: user.parse().ok()? },
            ("name", username) => {
                Operation::Name { username: Username::parse(username).ok()?, user: next()?.parse().ok()? }
            }
            ("subject", subject) => {
                Operation::Subject { subject: Subject::parse(subject)?, user: next()?.parse().ok()? }
            }
            ("refer", author) => {
                Operation::Refer { author: author.parse().ok()?, post: next()?.parse().ok()? }
            }
            ("like", user) => Operation::Like { user: user.parse().ok()?, post: next()?.parse().ok()? },
            ("delete", author) => {
                Operation::Delete { author: author.parse().ok()?, post: next()?.parse().ok()? }
            }
            _ => return None,
        };
        let token = u64::from_str_radix(next()?, 16).ok()?;
        Some(Self { operation, token })
    }

    /// Returns the intent's partition. The user whose slot holds the source of truth determines it.
    fn partition(&self) -> u32 {
        let (Operation::Edge { follower: user, .. }
        | Operation::Block { user, .. }
        | Operation::Public { user }
        | Operation::Name { user, .. }
        | Operation::Subject { user, .. }
        | Operation::Refer { author: user, .. }
        | Operation::Like { user, .. }
        | Operation::Delete { author: user, .. }) = self.operation;
        u32::try_from(user.get() % u64::from(INTENT_PARTITIONS)).unwrap_or(0)
    }
}

/// Records intents with start time `now`. Returns one command per partition touched.
#[must_use]
pub fn record(keys: &Keys, intents: &[Intent], now: Timestamp) -> Vec<Command<i64>> {
    by_partition(intents, |partition, members| {
        let pairs = members.into_iter().flat_map(|member| [now.as_millis().to_string(), member]);
        command("ZADD").key(&keys.intents(partition)).args(pairs).reply()
    })
}

/// Removes intents. Returns one command per partition touched.
#[must_use]
pub fn drop(keys: &Keys, intents: &[Intent]) -> Vec<Command<i64>> {
    by_partition(intents, |partition, members| {
        command("ZREM").key(&keys.intents(partition)).args(members).reply()
    })
}

fn by_partition(intents: &[Intent], build: impl Fn(u32, Vec<String>) -> Command<i64>) -> Vec<Command<i64>> {
    let mut members = vec![Vec::new(); INTENT_PARTITIONS as usize];
    for intent in intents {
        members[intent.partition() as usize].push(intent.to_string());
    }
    let touched = (0..).zip(members).filter(|(_, members)| !members.is_empty());
    touched.map(|(partition, members)| build(partition, members)).collect()
}

/// Reads the operations of a partition that began at `latest` or earlier, oldest first, with their start
/// times. Skips the first `skip` operations and returns at most `count`. `None` marks an operation unknown to
/// this version; the caller leaves it to a version that knows it.
pub fn begun_by(
    keys: &Keys,
    partition: u32,
    latest: Timestamp,
    skip: usize,
    count: usize,
) -> Command<Vec<(Option<Intent>, Timestamp)>> {
    let range = command("ZRANGEBYSCORE").key(&keys.intents(partition)).arg("-inf").arg(latest.as_millis());
    let range = range.arg("WITHSCORES").arg("LIMIT").arg(skip).arg(count);
    range.reply::<Vec<(String, i64)>>().map(|members| {
        let parse = |(member, began): (String, i64)| (Intent::parse(&member), Timestamp::from_millis(began));
        Ok(members.into_iter().map(parse).collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_of_an_intent_is_part_of_the_stored_data() {
        let id = |number| UserId::new(number).unwrap();
        let edge = Operation::Edge { follower: id(7), followee: id(9) };
        let name = Operation::Name { username: Username::parse("a_b").unwrap(), user: id(7) };
        let subject = Subject::parse("000000000000000000000000000000ab").unwrap();
        let subject = Operation::Subject { subject, user: id(7) };
        let delete = Operation::Delete { author: id(7), post: PostId::new(9).unwrap() };
        let refer = Operation::Refer { author: id(7), post: PostId::new(9).unwrap() };
        let like = Operation::Like { user: id(7), post: PostId::new(9).unwrap() };
        let block = Operation::Block { user: id(7), other: id(9) };
        let public = Operation::Public { user: id(7) };
        for (operation, text) in [
            (edge, "edge:7:9:ff"),
            (block, "block:7:9:ff"),
            (public, "public:7:ff"),
            (name, "name:a_b:7:ff"),
            (subject, "subject:000000000000000000000000000000ab:7:ff"),
            (refer, "refer:7:9:ff"),
            (like, "like:7:9:ff"),
            (delete, "delete:7:9:ff"),
        ] {
            let intent = Intent { operation, token: 0xff };
            assert_eq!(intent.to_string(), text);
            assert_eq!(Intent::parse(text), Some(intent));
        }
        for text in [
            "",
            "edge:7:9",
            "edge:0:9:ff",
            "name:a:7:ff",
            "post:7:9:ff",
            "block:7:ff",
            "public:7",
            "subject:ab:7:ff",
        ] {
            assert_eq!(Intent::parse(text), None, "{text:?}");
        }
    }
}
