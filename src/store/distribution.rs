//! Distributes a pipeline to the masters of a cluster: groups its units by master, and examines the replies.
//!
//! The groups are sent at the same time. Each unit's replies are examined on their own, so that one unit's redirect does
//! not repeat the others. A unit is sent again as a whole; every command is safe to repeat.
//!
//! | reply | meaning | next |
//! |---|---|---|
//! | `MOVED` | another master serves the slot | send to that master, read the topology |
//! | `ASK` | the key is already at the slot's next master | send there, after `ASKING` |
//! | `TRYAGAIN` | of several keys, only some have moved | wait, send again |
//! | `CLUSTERDOWN`, `LOADING`, `MASTERDOWN`, `READONLY` | a failover is under way | wait, read the topology, send again |
//! | `UNBLOCKED` | the key has moved while the command waited for it | the same |
//! | none, the connection broke | the master is down | the same |
//! | none in time | the master may be executing the command | none: the command fails |
//! | `ASK` or `TRYAGAIN` in a transaction | its keys are at two masters until the slot has moved | none: its caller reads the keys one by one |
//!
//! What cannot be answered in the end fails for its own caller only.

use std::collections::HashMap;
use std::ops::Range;

use bytes::{Bytes, BytesMut};

use crate::store::encode::Pipeline;
use crate::store::error::Error;
use crate::store::reply::{Replies, Reply, Scanner};
use crate::store::topology::{Node, Topology, slot};

/// Command after which a node answers for a key that is moving to it.
const ASKING: &[u8] = b"*1\r\n$6\r\nASKING\r\n";
/// First bytes of a transaction.
const MULTI: &[u8] = b"*1\r\n$5\r\nMULTI\r\n";
/// Reply to a command that could not be sent to its master.
const UNREACHABLE: &[u8] = b"-CLUSTERDOWN the master of the slot is unreachable\r\n";

/// A pipeline that is being distributed.
pub(super) struct Distribution {
    bytes: Bytes,
    parts: Vec<Part>,
    /// Number of elements in all replies so far.
    elements: u64,
    /// The cause of the last failure of a connection.
    failed: Option<Error>,
}

/// A unit of the pipeline, and what has become of it.
struct Part {
    bytes: Range<usize>,
    commands: usize,
    /// The slot of the unit's keys; `None` if it has no keys, so that any node can execute it.
    slot: Option<u16>,
    target: Target,
    progress: Progress,
}

/// Where a unit is sent next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Target {
    /// To the master of its slot, as far as known.
    Owner,
    /// To the master that another master has named.
    Moved(Node),
    /// To the master that the slot is moving to.
    Asking(Node),
}

enum Progress {
    /// Not sent yet, or to be sent again at once.
    Open,
    /// To be sent again after a pause.
    Waits,
    /// The replies, among those received together.
    Answered(Replies, Range<usize>),
    /// Not to be sent again.
    Failed,
}

/// What is left to do for a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outlook {
    /// Some units are to be sent to other nodes, at once.
    Redirected,
    /// Some units are to be sent again after a pause.
    Waits,
}

/// Units that are sent to a node together.
pub(super) struct Group {
    node: Node,
    is_asking: bool,
    /// The units' positions in the pipeline.
    parts: Vec<usize>,
}

impl Group {
    /// Returns the node that the group is sent to.
    pub(super) fn node(&self) -> &Node {
        &self.node
    }
}

/// What replies mean for a unit.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Final,
    Send(Target),
    Wait,
}

impl Verdict {
    /// Judges the replies to one unit, by the first that is not final: in a transaction, the reply to `EXEC` does not say
    /// why a command was rejected.
    fn of<'a>(mut replies: impl Iterator<Item = Reply<'a>>, asked: &Node, is_transaction: bool) -> Self {
        replies.find_map(|reply| Self::of_one(reply, asked, is_transaction)).unwrap_or(Self::Final)
    }

    fn of_one(reply: Reply<'_>, asked: &Node, is_transaction: bool) -> Option<Self> {
        match reply.error_code()? {
            b"ASK" | b"TRYAGAIN" if is_transaction => None,
            b"MOVED" => Some(Self::Send(Target::Moved(named(reply, asked)?))),
            b"ASK" => Some(Self::Send(Target::Asking(named(reply, asked)?))),
            b"TRYAGAIN" | b"CLUSTERDOWN" | b"LOADING" | b"MASTERDOWN" | b"READONLY" | b"UNBLOCKED" => {
                Some(Self::Wait)
            }
            _ => None,
        }
    }
}

/// Returns the node that a redirect names: `MOVED 3999 127.0.0.1:6381`.
fn named(redirect: Reply<'_>, asked: &Node) -> Option<Node> {
    let message = std::str::from_utf8(redirect.error()?).ok()?;
    Node::parse(message.split(' ').nth(2)?, asked)
}

impl Distribution {
    /// Begins to distribute a pipeline.
    pub(super) fn of(pipeline: Pipeline) -> Self {
        let mut start = 0;
        let mut parts = Vec::with_capacity(pipeline.units().len());
        for unit in pipeline.units() {
            let bytes = start..start + unit.bytes;
            start = bytes.end;
            let (target, progress) = (Target::Owner, Progress::Open);
            parts.push(Part { bytes, commands: unit.commands, slot: unit.tag.map(slot), target, progress });
        }
        Self { bytes: pipeline.into_bytes(), parts, elements: 0, failed: None }
    }

    /// Groups the units that are to be sent by their nodes. A unit whose slot has no master waits.
    pub(super) fn groups(&mut self, topology: &Topology) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        let mut known: HashMap<(Node, bool), usize> = HashMap::new();
        for (index, part) in self.parts.iter_mut().enumerate() {
            if matches!(part.progress, Progress::Answered(..) | Progress::Failed) {
                continue;
            }
            let (node, is_asking) = match &part.target {
                Target::Owner => {
                    (part.slot.map_or(topology.masters().first(), |slot| topology.owner(slot)), false)
                }
                Target::Moved(node) => (Some(node), false),
                Target::Asking(node) => (Some(node), true),
            };
            let Some(node) = node.cloned() else {
                part.progress = Progress::Waits;
                continue;
            };
            part.progress = Progress::Open;
            let group = *known.entry((node.clone(), is_asking)).or_insert_with(|| {
                groups.push(Group { node, is_asking, parts: Vec::new() });
                groups.len() - 1
            });
            groups[group].parts.push(index);
        }
        groups
    }

    /// Returns a group's commands, and the number of replies to them.
    pub(super) fn encoded(&self, group: &Group) -> (Bytes, usize) {
        let parts = || group.parts.iter().map(|part| &self.parts[*part]);
        let count = parts().map(|part| part.commands).sum();
        if group.is_asking {
            let mut bytes = BytesMut::new();
            parts().for_each(|part| ask(&self.bytes[part.bytes.clone()], &mut bytes));
            return (bytes.freeze(), 2 * count);
        }
        if group.parts.len() == self.parts.len() {
            return (self.bytes.clone(), count);
        }
        let mut bytes = BytesMut::with_capacity(parts().map(|part| part.bytes.len()).sum());
        parts().for_each(|part| bytes.extend_from_slice(&self.bytes[part.bytes.clone()]));
        (bytes.freeze(), count)
    }

    /// Records what a group's node has answered.
    pub(super) fn settle(&mut self, group: &Group, answered: Result<Replies, Error>) {
        let replies = match answered {
            Ok(replies) => replies,
            Err(error) => return self.fail(group, error),
        };
        self.elements += replies.elements();
        let mut first = 0;
        for index in &group.parts {
            let part = &mut self.parts[*index];
            let is_transaction = self.bytes[part.bytes.clone()].starts_with(MULTI);
            // The reply to ASKING precedes that to each command.
            let width = if group.is_asking { 2 } else { 1 };
            let range = first..first + part.commands * width;
            first = range.end;
            match Verdict::of(replies.range(range.clone()), &group.node, is_transaction) {
                Verdict::Final if group.is_asking => {
                    let own = Replies::gather(replies.range(range).skip(1).step_by(2), 0);
                    part.progress = Progress::Answered(own, 0..part.commands);
                }
                Verdict::Final => part.progress = Progress::Answered(replies.clone(), range),
                Verdict::Send(target) => part.target = target,
                Verdict::Wait => (part.target, part.progress) = (Target::Owner, Progress::Waits),
            }
        }
    }

    /// Records that a group's node could not be reached, or did not answer in time.
    fn fail(&mut self, group: &Group, error: Error) {
        let is_lost = error.is_timeout();
        for part in &group.parts {
            let part = &mut self.parts[*part];
            part.target = Target::Owner;
            part.progress = if is_lost { Progress::Failed } else { Progress::Waits };
        }
        self.failed = Some(error);
    }

    /// Returns what is left to do; `None` if nothing is.
    pub(super) fn outlook(&self) -> Option<Outlook> {
        let progress = || self.parts.iter().map(|part| &part.progress);
        if progress().any(|progress| matches!(progress, Progress::Waits)) {
            return Some(Outlook::Waits);
        }
        progress().any(|progress| matches!(progress, Progress::Open)).then_some(Outlook::Redirected)
    }

    /// Returns all replies, in the order of the commands. The replies to units without an answer are errors. Fails if no
    /// unit has an answer.
    pub(super) fn replies(self) -> Result<Replies, Error> {
        if let [Part { progress: Progress::Answered(replies, range), .. }, rest @ ..] = &self.parts[..] {
            let is_together = |part: &Part| matches!(&part.progress, Progress::Answered(others, _) if others.is_same(replies));
            if range.start == 0 && rest.iter().all(is_together) && replies.len() == self.commands() {
                return Ok(replies.clone());
            }
        }
        let is_answered = |part: &Part| matches!(part.progress, Progress::Answered(..));
        if let (Some(error), false) = (&self.failed, self.parts.iter().any(is_answered)) {
            return Err(error.clone());
        }
        let mut all = Vec::with_capacity(self.commands());
        for part in &self.parts {
            match &part.progress {
                Progress::Answered(replies, range) => all.extend(replies.range(range.clone())),
                _ => all.extend(std::iter::repeat_n(Reply::new(UNREACHABLE), part.commands)),
            }
        }
        Ok(Replies::gather(all.into_iter(), self.elements))
    }

    fn commands(&self) -> usize {
        self.parts.iter().map(|part| part.commands).sum()
    }
}

/// Appends a unit's commands, each after `ASKING`, which applies to one command.
fn ask(unit: &[u8], bytes: &mut BytesMut) {
    // Commands have the format of replies.
    let (mut scanner, mut start) = (Scanner::default(), 0);
    while let Ok(Some(end)) = scanner.end(unit) {
        bytes.extend_from_slice(ASKING);
        bytes.extend_from_slice(&unit[start..end]);
        start = end;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use redis::{ErrorKind, RedisWrite as _};

    use super::*;
    use crate::model::id::UserId;
    use crate::store::encode::Arguments;
    use crate::store::key::Tag;

    fn node(port: u16) -> Node {
        Node { host: "host".to_owned(), port }
    }

    /// A cluster of two masters, of which the first has the lower half of the slots.
    fn topology() -> Topology {
        let reply = b"*2\r\n*3\r\n:0\r\n:8191\r\n*2\r\n$4\r\nhost\r\n:1\r\n*3\r\n:8192\r\n:16383\r\n*2\r\n$4\r\nhost\r\n:2\r\n";
        Topology::read(Reply::new(reply), &node(1)).unwrap()
    }

    fn tag(user: u64) -> Tag {
        Tag::User(UserId::new(user).unwrap())
    }

    fn arguments(words: &[&str]) -> Arguments {
        let mut arguments = Arguments::default();
        for word in words {
            arguments.write_arg(word.as_bytes());
        }
        arguments
    }

    /// Returns units of these numbers of commands. Each command names its number.
    fn pipeline(units: &[(u64, usize)]) -> Pipeline {
        let (mut all, mut number) = (Pipeline::default(), 0);
        for (user, commands) in units {
            let mut unit = Pipeline::default();
            for _ in 0..*commands {
                unit.push(&arguments(&["ECHO", &number.to_string()]), Some(tag(*user)));
                number += 1;
            }
            all.append(&mut unit.unite());
        }
        all
    }

    /// Returns the replies to commands as a node gives them that serves all of them: each command's own words.
    fn replies(commands: &[u8]) -> Replies {
        let (mut scanner, mut ends) = (Scanner::default(), Vec::new());
        while let Ok(Some(end)) = scanner.end(commands) {
            ends.push(end);
        }
        Replies::new(commands.to_vec(), ends, 1)
    }

    fn all_equal(error: &str, count: usize) -> Replies {
        let line = format!("-{error}\r\n");
        Replies::gather(std::iter::repeat_n(Reply::new(line.as_bytes()), count), 1)
    }

    fn broken() -> Error {
        redis::RedisError::from((ErrorKind::Io, "broken")).into()
    }

    fn texts(replies: &Replies) -> Vec<String> {
        replies.iter().map(|reply| format!("{:?}", reply.value())).collect()
    }

    /// What a node does with a group of units.
    #[derive(Clone, Debug)]
    enum Deed {
        Answers,
        Redirects(u16),
        Asks(u16),
        Waits,
        Breaks,
    }

    fn deed() -> impl Strategy<Value = Deed> {
        prop_oneof![
            3 => Just(Deed::Answers),
            1 => (1..4u16).prop_map(Deed::Redirects),
            1 => (1..4u16).prop_map(Deed::Asks),
            1 => Just(Deed::Waits),
            1 => Just(Deed::Breaks),
        ]
    }

    proptest! {
        #[test]
        fn every_command_has_its_own_reply_whatever_the_nodes_do(
            units in prop::collection::vec((1..100u64, 1..4usize), 1..12),
            deeds in prop::collection::vec(deed(), 0..30),
        ) {
            let mut distribution = Distribution::of(pipeline(&units));
            let (expected, topology) = (replies(&pipeline(&units).into_bytes()), topology());
            let mut deeds = deeds.into_iter();
            loop {
                for group in distribution.groups(&topology) {
                    let (bytes, count) = distribution.encoded(&group);
                    let answered = replies(&bytes);
                    prop_assert_eq!(answered.len(), count);
                    distribution.settle(&group, match deeds.next().unwrap_or(Deed::Answers) {
                        Deed::Answers => Ok(answered),
                        Deed::Redirects(port) => Ok(all_equal(&format!("MOVED 7 host:{port}"), count)),
                        Deed::Asks(port) => Ok(all_equal(&format!("ASK 7 host:{port}"), count)),
                        Deed::Waits => Ok(all_equal("TRYAGAIN", count)),
                        Deed::Breaks => Err(broken()),
                    });
                }
                if distribution.outlook().is_none() {
                    break;
                }
            }
            prop_assert_eq!(texts(&distribution.replies().unwrap()), texts(&expected));
        }
    }

    /// Distributes one command of each of two users, whose slots have different masters. Returns the groups, that of the
    /// first master first.
    fn two() -> (Distribution, Vec<Group>) {
        let mut distribution = Distribution::of(pipeline(&[(1, 1), (2, 1)]));
        let mut groups = distribution.groups(&topology());
        groups.sort_by_key(|group| group.node.port);
        assert_eq!(groups.len(), 2);
        (distribution, groups)
    }

    #[test]
    fn a_redirect_repeats_only_the_redirected_unit() {
        let (mut distribution, groups) = two();
        let answered = replies(&distribution.encoded(&groups[0]).0);
        distribution.settle(&groups[0], Ok(answered));
        distribution.settle(&groups[1], Ok(all_equal("MOVED 7 :9", 1)));
        assert_eq!(distribution.outlook(), Some(Outlook::Redirected));
        let groups = distribution.groups(&topology());
        let sent: Vec<_> = groups.iter().map(|group| (group.node.clone(), group.parts.len())).collect();
        assert_eq!(sent, [(node(9), 1)], "an empty host is that of the node that redirects");
    }

    #[test]
    fn a_master_that_is_down_fails_its_own_commands_only() {
        let (mut distribution, groups) = two();
        let answered = replies(&distribution.encoded(&groups[0]).0);
        distribution.settle(&groups[0], Ok(answered));
        distribution.settle(&groups[1], Err(broken()));
        assert_eq!(distribution.outlook(), Some(Outlook::Waits));
        let replies = distribution.replies().unwrap();
        let errors: Vec<_> = replies.iter().map(Reply::error_code).collect();
        assert_eq!(errors.iter().flatten().collect::<Vec<_>>(), [b"CLUSTERDOWN"]);

        let (mut distribution, groups) = two();
        for group in &groups {
            distribution.settle(group, Err(broken()));
        }
        assert!(distribution.replies().is_err(), "nothing was answered");
    }

    #[test]
    fn a_command_that_may_still_be_executed_is_not_repeated() {
        let (mut distribution, groups) = two();
        for group in &groups {
            let elapsed = std::io::Error::from(std::io::ErrorKind::TimedOut);
            distribution.settle(group, Err(redis::RedisError::from(elapsed).into()));
        }
        assert_eq!(distribution.outlook(), None);
    }

    #[test]
    fn a_transaction_whose_keys_are_at_two_masters_is_not_repeated() {
        let mut transaction = Pipeline::default();
        transaction.push_name("MULTI");
        transaction.push(&arguments(&["ZADD", "find", "0", "7"]), Some(tag(1)));
        transaction.push_name("EXEC");
        let mut distribution = Distribution::of(transaction.unite());
        let group = distribution.groups(&topology()).pop().unwrap();
        let lines = ["+OK", "-ASK 7 host:2", "-EXECABORT Transaction discarded because of previous errors."];
        let lines = lines.map(|line| format!("{line}\r\n"));
        let replies = Replies::gather(lines.iter().map(|line| Reply::new(line.as_bytes())), 3);
        distribution.settle(&group, Ok(replies));
        assert_eq!(distribution.outlook(), None);
    }

    #[test]
    fn a_unit_without_a_master_waits() {
        let mut distribution = Distribution::of(pipeline(&[(1, 1)]));
        assert!(distribution.groups(&Topology::unknown()).is_empty());
        assert_eq!(distribution.outlook(), Some(Outlook::Waits));
    }
}
