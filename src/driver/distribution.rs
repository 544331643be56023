//! Distributes a pipeline to the masters of a cluster: groups its units by master, and examines the replies.
//!
//! The groups are sent at the same time. Each unit's replies are examined on their own, so that one unit's redirect
//! does not repeat the others. Every command is safe to repeat.
//!
//! | reply | meaning | next |
//! |---|---|---|
//! | `MOVED` | another master serves the slot | send to that master |
//! | `ASK` | the key is already at the slot's next master | send there, after `ASKING` |
//! | `TRYAGAIN` | of several keys, only some have moved | wait, retry |
//! | `CLUSTERDOWN`, `LOADING`, `MASTERDOWN`, `READONLY` | a failover is under way | wait, retry |
//! | `UNBLOCKED` | the key has moved while the command waited for it | the same |
//! | none, the connection broke | the master is down | the same, unless the master has been unreachable for a while |
//! | none in time | the master may be executing the command | none: the command fails |
//! | `ASK` or `TRYAGAIN` in a transaction | its keys are at two masters | none: its caller reads the keys one by one |
//! | `TRYAGAIN` to a script that fails if its keys are divided | the same | the same |
//!
//! Redis counts a key that does not exist as one that has moved. So nearly every script with several keys is answered
//! with `TRYAGAIN` until its slot has moved, even before the first key has.
//!
//! Commands whose replies may lag are sent to a replica first, if there is one to read. Whatever the replica does not
//! answer with data is sent to the master.
//!
//! Of a unit of several commands, those before the first redirect keep their replies, and the others are sent one by
//! one from then on. The master that a slot is moving to answers, after `ASKING`, even for a key that is still at the
//! other master, as if there were no such key. So only a command that was itself answered with `ASK` is sent there.
//!
//! What cannot be answered in the end fails for its own caller only.

use std::collections::HashMap;
use std::ops::Range;

use bytes::{Bytes, BytesMut};

use crate::driver::encode::{Pipeline, Unit};
use crate::driver::error::Error;
use crate::driver::reply::{Replies, Reply, Scanner};
use crate::driver::topology::{Node, Topology};
use crate::metric;

/// Number of redirects of a command after which its unit waits, because the masters do not agree.
const MOST_REDIRECTS: usize = 4;
/// Command after which a node answers for a key that is moving to it.
const ASKING: &[u8] = b"*1\r\n$6\r\nASKING\r\n";
/// First bytes of a transaction.
const MULTI: &[u8] = b"*1\r\n$5\r\nMULTI\r\n";
/// A pipeline that is being distributed.
pub(super) struct Distribution {
    bytes: Bytes,
    parts: Vec<Part>,
    /// Number of elements in all replies so far.
    elements: u64,
}

/// A unit of the pipeline, and what has become of it.
struct Part {
    unit: Unit,
    bytes: Range<usize>,
    /// The slot of the unit's keys; `None` if it has no keys, so that any node can execute it.
    slot: Option<u16>,
    is_transaction: bool,
    target: Target,
    progress: Progress,
    /// The final replies so far, among those received together: those to the unit's first commands.
    answered: Vec<(Replies, Range<usize>)>,
    /// Number of commands with a final reply.
    done: usize,
    /// True if the remaining commands are sent one by one.
    is_stepwise: bool,
    /// Number of redirects since the last final reply.
    redirects: usize,
}

impl Part {
    fn is_open(&self) -> bool {
        self.done < self.unit.commands && !matches!(self.progress, Progress::Failed)
    }

    /// Returns the number of commands that are sent next.
    fn next(&self) -> usize {
        if self.is_stepwise { 1 } else { self.unit.commands - self.done }
    }

    /// Returns the commands that are sent next.
    fn encoded<'a>(&self, pipeline: &'a [u8]) -> &'a [u8] {
        let unit = &pipeline[self.bytes.clone()];
        if self.done == 0 && !self.is_stepwise {
            return unit;
        }
        let ends: Vec<usize> = ends(unit).collect();
        let start = self.done.checked_sub(1).map_or(0, |last| ends[last]);
        &unit[start..ends[self.done + self.next() - 1]]
    }

    /// Returns the reply to the commands that could not be sent to their master; nothing if all commands have replies.
    fn unreachable(&self) -> String {
        match self.slot {
            _ if self.done == self.unit.commands => String::new(),
            Some(slot) => format!("-CLUSTERDOWN the master of slot {slot} is unreachable\r\n"),
            None => "-CLUSTERDOWN the master of a command without keys is unreachable\r\n".to_owned(),
        }
    }

    /// Records the replies to the commands that were sent, which begin at `first` of these.
    fn settle(&mut self, replies: &Replies, first: usize, group: &Group) {
        let width = group.width();
        if group.is_replica() {
            return self.settle_lagging(replies, first);
        }
        let count = self.next();
        let (mut is_final, mut verdict) = (count, None);
        for index in 0..count {
            let reply = replies.range(first + index * width..first + (index + 1) * width).last();
            verdict = reply.and_then(|reply| Verdict::of(reply, &group.node, self));
            if verdict.is_some() {
                is_final = index;
                break;
            }
        }
        if self.is_transaction && verdict.is_some() {
            // It had no effect, and is retried as a whole.
            is_final = 0;
        }
        if is_final > 0 {
            // The masters agree so far. The next commands have keys of their own, and redirects of their own.
            self.redirects = 0;
        }
        self.take(replies, first, is_final, width);
        if let Some(verdict) = &verdict {
            metric::redis_redirects_total(verdict.kind()).increment(1);
        }
        match verdict {
            None => self.target = Target::Owner,
            Some(Verdict::Wait(progress)) => (self.target, self.progress) = (Target::Owner, progress),
            Some(Verdict::Send(target)) => {
                self.is_stepwise |= self.unit.commands > 1 && !self.is_transaction;
                self.redirects += 1;
                self.target = target;
                if self.redirects.is_multiple_of(MOST_REDIRECTS) {
                    (self.target, self.progress) = (Target::Owner, Progress::LacksMaster);
                }
            }
        }
    }

    /// Records the replies of a replica, if all of them have data. Otherwise, the master is asked.
    fn settle_lagging(&mut self, replies: &Replies, first: usize) {
        let count = self.next();
        self.target = Target::Owner;
        if replies.range(first..first + count).any(is_without_data) {
            metric::redis_redirects_total("replica").increment(1);
        } else {
            self.take(replies, first, count, 1);
        }
    }

    /// Keeps the replies to the next `count` commands. Leaves out the replies to `ASKING`.
    fn take(&mut self, replies: &Replies, first: usize, count: usize, width: usize) {
        if count == 0 {
            return;
        }
        let range = first..first + count * width;
        self.answered.push(match width {
            1 => (replies.clone(), range),
            _ => (Replies::gather(replies.range(range).skip(1).step_by(width), 0), 0..count),
        });
        self.done += count;
    }
}

/// Where a unit is sent next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Target {
    /// To the master of its slot, as far as known.
    Owner,
    /// To a replica of that master.
    Replica(Node),
    /// To the master that another master has named.
    Moved(Node),
    /// To the master that the slot is moving to.
    Asking(Node),
}

/// When a unit is sent next.
#[derive(Debug, PartialEq, Eq)]
enum Progress {
    /// To be sent at once, unless all commands are done.
    Open,
    /// To be retried after a pause: the slot is moving.
    Waits,
    /// To be retried after a pause: its master does not serve it at the moment.
    LacksMaster,
    /// Not to be retried.
    Failed,
}

/// What is left to do for a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outlook {
    /// Some units are to be sent at once, to other nodes or with their next command.
    Continues,
    /// Some units are to be retried after a pause.
    Waits,
    /// The same, and the topology may have changed.
    LacksMaster,
}

/// What a node is for the units that it receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Role {
    /// The master of their slots.
    Master,
    /// The master that their slots are moving to: it executes only commands after `ASKING`.
    Importer,
    /// A replica of their master.
    Replica,
}

/// Units that are sent to a node together.
pub(super) struct Group {
    node: Node,
    role: Role,
    /// The units' positions in the pipeline.
    parts: Vec<usize>,
}

impl Group {
    /// Returns the node that the group is sent to.
    pub(super) fn node(&self) -> &Node {
        &self.node
    }

    /// Returns true if the node is a replica.
    pub(super) fn is_replica(&self) -> bool {
        self.role == Role::Replica
    }

    fn is_importer(&self) -> bool {
        self.role == Role::Importer
    }

    /// Returns the number of replies to each command: `ASKING` has one of its own.
    fn width(&self) -> usize {
        if self.is_importer() { 2 } else { 1 }
    }
}

/// What a reply that is not final means for a unit.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Send(Target),
    Wait(Progress),
}

impl Verdict {
    /// Returns the kind of the reply, for metrics.
    fn kind(&self) -> &'static str {
        match self {
            Self::Send(Target::Asking(_)) => "ask",
            Self::Send(_) => "moved",
            Self::Wait(Progress::Waits) => "try again",
            Self::Wait(_) => "unavailable",
        }
    }

    /// Judges one reply to a part; `None` if it is final.
    fn of(reply: Reply<'_>, asked: &Node, part: &Part) -> Option<Self> {
        match reply.error_code()? {
            b"ASK" | b"TRYAGAIN" if part.is_transaction => None,
            // A script that is answered with `ASK` may have all its keys at the next master, which replies `TRYAGAIN`
            // if not.
            b"TRYAGAIN" if part.unit.fails_if_divided => None,
            b"MOVED" => Some(Self::Send(Target::Moved(named(reply, asked)?))),
            b"ASK" => Some(Self::Send(Target::Asking(named(reply, asked)?))),
            b"TRYAGAIN" => Some(Self::Wait(Progress::Waits)),
            b"CLUSTERDOWN" | b"LOADING" | b"MASTERDOWN" | b"READONLY" | b"UNBLOCKED" => {
                Some(Self::Wait(Progress::LacksMaster))
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
        let may_lag = |unit: &Unit| Unit { may_lag: pipeline.may_lag(unit), ..*unit };
        let units = pipeline.units().iter().map(may_lag).collect::<Vec<_>>();
        let bytes = pipeline.into_bytes();
        let part = |unit: Unit| {
            let range = start..start + unit.bytes;
            start = range.end;
            Part {
                unit,
                is_transaction: bytes[range.clone()].starts_with(MULTI),
                bytes: range,
                slot: unit.slot,
                target: Target::Owner,
                progress: Progress::Open,
                answered: Vec::new(),
                done: 0,
                is_stepwise: false,
                redirects: 0,
            }
        };
        let parts = units.into_iter().map(part).collect();
        Self { bytes, parts, elements: 0 }
    }

    /// Sends the commands whose replies may lag to replicas first: those that `replica` returns for their slots.
    pub(super) fn prefer_replicas(&mut self, replica: impl Fn(u16) -> Option<Node>) {
        for part in self.parts.iter_mut().filter(|part| part.unit.may_lag) {
            if let Some(node) = part.slot.and_then(&replica) {
                part.target = Target::Replica(node);
            }
        }
    }

    /// Groups the units that are to be sent by their nodes. A unit whose slot has no master waits.
    pub(super) fn groups(&mut self, topology: &Topology) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        let mut known: HashMap<(Node, Role), usize> = HashMap::new();
        for (index, part) in self.parts.iter_mut().enumerate().filter(|(_, part)| part.is_open()) {
            let owner = || part.slot.map_or(topology.masters().first(), |slot| topology.owner(slot));
            let (node, role) = match &part.target {
                Target::Owner => (owner(), Role::Master),
                Target::Replica(node) => (Some(node), Role::Replica),
                Target::Moved(node) => (Some(node), Role::Master),
                Target::Asking(node) => (Some(node), Role::Importer),
            };
            let Some(node) = node.cloned() else {
                part.progress = Progress::LacksMaster;
                continue;
            };
            part.progress = Progress::Open;
            let group = *known.entry((node.clone(), role)).or_insert_with(|| {
                groups.push(Group { node, role, parts: Vec::new() });
                groups.len() - 1
            });
            groups[group].parts.push(index);
        }
        groups
    }

    /// Returns a group's commands, and the number of replies to them.
    pub(super) fn encoded(&self, group: &Group) -> (Bytes, usize) {
        let parts = || group.parts.iter().map(|part| &self.parts[*part]);
        let count = parts().map(|part| part.next() * group.width()).sum();
        if count == self.commands() && !group.is_importer() {
            return (self.bytes.clone(), count);
        }
        let mut bytes = BytesMut::new();
        for part in parts() {
            let commands = part.encoded(&self.bytes);
            if group.is_importer() { ask(commands, &mut bytes) } else { bytes.extend_from_slice(commands) }
        }
        (bytes.freeze(), count)
    }

    /// Records what a group's node has answered. Unless it `may_retry`, the commands that the node does not serve at
    /// the moment fail, as do those of a node that could not be reached. Returns the slots that other masters serve,
    /// with these masters.
    pub(super) fn settle(
        &mut self,
        group: &Group,
        answered: Result<Replies, Error>,
        may_retry: bool,
    ) -> Vec<(u16, Node)> {
        let replies = match answered {
            Ok(replies) => replies,
            Err(error) => {
                self.fail(group, &error, may_retry);
                return Vec::new();
            }
        };
        self.elements += replies.elements();
        let (mut first, mut moved) = (0, Vec::new());
        for index in &group.parts {
            let part = &mut self.parts[*index];
            let count = part.next() * group.width();
            part.settle(&replies, first, group);
            if !may_retry && part.progress == Progress::LacksMaster {
                part.progress = Progress::Failed;
            }
            first += count;
            if let (Target::Moved(node), Some(slot)) = (&part.target, part.slot) {
                moved.push((slot, node.clone()));
            }
        }
        moved
    }

    /// Records that a group's node could not be reached, or did not answer in time. The master is asked instead of a
    /// replica.
    fn fail(&mut self, group: &Group, error: &Error, may_retry: bool) {
        let is_lost = error.is_timeout() || !may_retry;
        for part in &group.parts {
            let part = &mut self.parts[*part];
            part.target = Target::Owner;
            part.progress = match group.is_replica() {
                true => Progress::Open,
                false if is_lost => Progress::Failed,
                false => Progress::LacksMaster,
            };
        }
    }

    /// Returns what is left to do; `None` if nothing is.
    pub(super) fn outlook(&self) -> Option<Outlook> {
        let open = || self.parts.iter().filter(|part| part.is_open());
        let any = |progress| open().any(|part| part.progress == progress);
        if any(Progress::LacksMaster) {
            return Some(Outlook::LacksMaster);
        }
        if any(Progress::Waits) { Some(Outlook::Waits) } else { open().next().map(|_| Outlook::Continues) }
    }

    /// Returns all replies, in the order of the commands. The replies to units without an answer are errors.
    pub(super) fn replies(self) -> Replies {
        if let Some(replies) = self.received_together() {
            return replies;
        }
        let unreachable: Vec<String> = self.parts.iter().map(Part::unreachable).collect();
        let mut all = Vec::with_capacity(self.commands());
        for (part, unreachable) in self.parts.iter().zip(&unreachable) {
            for (replies, range) in &part.answered {
                all.extend(replies.range(range.clone()));
            }
            let unreachable = Reply::new(unreachable.as_bytes());
            all.extend(std::iter::repeat_n(unreachable, part.unit.commands - part.done));
        }
        Replies::gather(all.into_iter(), self.elements)
    }

    /// Returns the replies if one node has sent all of them together, as is usual for few commands.
    fn received_together(&self) -> Option<Replies> {
        let (replies, _) = self.parts.first()?.answered.first()?;
        let mut end = 0;
        let is_next = |part: &Part| match &part.answered[..] {
            [(others, range)]
                if others.is_same(replies) && range.start == end && part.done == part.unit.commands =>
            {
                end = range.end;
                true
            }
            _ => false,
        };
        self.parts.iter().all(is_next).then(|| replies.clone())
    }

    fn commands(&self) -> usize {
        self.parts.iter().map(|part| part.unit.commands).sum()
    }
}

/// Returns true if a reply is an error, or shows no data: a replica may not have received them yet.
fn is_without_data(reply: Reply<'_>) -> bool {
    let mut elements = reply.elements().into_iter().flatten().peekable();
    reply.error_code().is_some()
        || reply.is_null()
        || elements.peek().is_some() && elements.all(Reply::is_null)
}

/// Returns the end of each of some commands, which have the format of replies.
fn ends(commands: &[u8]) -> impl Iterator<Item = usize> {
    let mut scanner = Scanner::default();
    std::iter::from_fn(move || scanner.end(commands).ok()?)
}

/// Appends commands, each after `ASKING`, which applies to one command.
fn ask(commands: &[u8], bytes: &mut BytesMut) {
    let mut start = 0;
    for end in ends(commands) {
        bytes.extend_from_slice(ASKING);
        bytes.extend_from_slice(&commands[start..end]);
        start = end;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use redis::{ErrorKind, RedisWrite as _};

    use super::*;
    use crate::driver::encode::{Arguments, Masters};
    use crate::driver::topology::slot;

    fn node(port: u16) -> Node {
        Node { host: "host".to_owned(), port }
    }

    /// A cluster of two masters, of which the first has the lower half of the slots.
    fn topology() -> Topology {
        let reply = b"*2\r\n*3\r\n:0\r\n:8191\r\n*2\r\n$4\r\nhost\r\n:1\r\n\
            *3\r\n:8192\r\n:16383\r\n*2\r\n$4\r\nhost\r\n:2\r\n";
        Topology::read(Reply::new(reply), &node(1)).unwrap()
    }

    fn slot_of(user: u64) -> u16 {
        slot(&format!("u{user}"))
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
                unit.push(&arguments(&["ECHO", &number.to_string()]), Some(slot_of(*user)));
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

    /// What a node does with a command.
    #[derive(Clone, Debug)]
    enum Deed {
        Answers,
        Redirects(u16),
        Asks(u16),
        Waits,
        /// The connection breaks instead.
        Breaks,
    }

    fn deed() -> impl Strategy<Value = Deed> {
        prop_oneof![
            5 => Just(Deed::Answers),
            1 => (1..4u16).prop_map(Deed::Redirects),
            1 => (1..4u16).prop_map(Deed::Asks),
            1 => Just(Deed::Waits),
            1 => Just(Deed::Breaks),
        ]
    }

    /// Returns the replies to commands, and the commands that were answered with `ASK`. Fails if the connection breaks.
    fn played(
        commands: &[u8],
        deeds: &mut impl Iterator<Item = Deed>,
    ) -> Result<(Replies, Vec<String>), Error> {
        let (mut lines, mut asked) = (Vec::new(), Vec::new());
        for reply in replies(commands).iter() {
            let own = format!("{:?}", reply.value());
            let is_asking = own.contains("ASKING");
            lines.push(match if is_asking { Deed::Answers } else { deeds.next().unwrap_or(Deed::Answers) } {
                Deed::Answers => None,
                Deed::Redirects(port) => Some(format!("-MOVED 7 host:{port}\r\n")),
                Deed::Asks(port) => {
                    asked.push(own);
                    Some(format!("-ASK 7 host:{port}\r\n"))
                }
                Deed::Waits => Some("-TRYAGAIN\r\n".to_owned()),
                Deed::Breaks => return Err(broken()),
            });
        }
        let own = replies(commands);
        let all = own
            .iter()
            .zip(&lines)
            .map(|(own, line)| line.as_ref().map_or(own, |line| Reply::new(line.as_bytes())));
        Ok((Replies::gather(all, 1), asked))
    }

    proptest! {
        #[test]
        fn every_command_has_its_own_reply_whatever_the_nodes_do(
            units in prop::collection::vec((1..100u64, 1..4usize), 1..12),
            deeds in prop::collection::vec(deed(), 0..60),
        ) {
            let mut distribution = Distribution::of(pipeline(&units));
            let (expected, topology) = (replies(&pipeline(&units).into_bytes()), topology());
            let (mut deeds, mut asked) = (deeds.into_iter(), Vec::new());
            loop {
                for group in distribution.groups(&topology) {
                    let (bytes, count) = distribution.encoded(&group);
                    prop_assert_eq!(replies(&bytes).len(), count);
                    if group.is_importer() {
                        for command in replies(&bytes).iter().skip(1).step_by(2) {
                            let command = format!("{:?}", command.value());
                            prop_assert!(asked.contains(&command), "{} was not answered with ASK", command);
                        }
                    }
                    let answered = played(&bytes, &mut deeds).map(|(replies, more)| {
                        asked.extend(more);
                        replies
                    });
                    distribution.settle(&group, answered, true);
                }
                if distribution.outlook().is_none() {
                    break;
                }
            }
            prop_assert_eq!(texts(&distribution.replies()), texts(&expected));
        }
    }

    #[test]
    fn masters_that_redirect_to_each_other_are_not_asked_without_end() {
        let mut distribution = Distribution::of(pipeline(&[(1, 1)]));
        let mut rounds = 0;
        while distribution.outlook() == Some(Outlook::Continues) {
            for group in distribution.groups(&topology()) {
                let port = 3 - group.node.port;
                distribution.settle(&group, Ok(all_equal(&format!("MOVED 7 host:{port}"), 1)), true);
            }
            rounds += 1;
        }
        assert_eq!((rounds, distribution.outlook()), (MOST_REDIRECTS, Some(Outlook::LacksMaster)));
    }

    /// Distributes one command of each of two users, whose slots have different masters. Returns the groups, that of
    /// the first master first.
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
        distribution.settle(&groups[0], Ok(answered), true);
        distribution.settle(&groups[1], Ok(all_equal("MOVED 7 :9", 1)), true);
        assert_eq!(distribution.outlook(), Some(Outlook::Continues));
        let groups = distribution.groups(&topology());
        let sent: Vec<_> = groups.iter().map(|group| (group.node.clone(), group.parts.len())).collect();
        assert_eq!(sent, [(node(9), 1)], "an empty host is that of the node that redirects");
    }

    #[test]
    fn what_a_replica_does_not_answer_with_data_is_sent_to_the_master() {
        let node = |port| Node { host: "replica".to_owned(), port };
        let answers: [&[u8]; 5] = [
            b"$1\r\na\r\n",
            b"*2\r\n$-1\r\n$1\r\na\r\n",
            b"*0\r\n",
            b"*2\r\n$-1\r\n$-1\r\n",
            b"-LOADING\r\n",
        ];
        for (answer, is_final) in answers.into_iter().zip([true, true, true, false, false]) {
            let mut pipeline = pipeline(&[(1, 1), (2, 1)]);
            pipeline.let_lag();
            let mut distribution = Distribution::of(pipeline.with_masters(Masters::Of(Some(slot_of(2)))));
            distribution.prefer_replicas(|_| Some(node(9)));
            let groups = distribution.groups(&topology());
            let [one, other] = &groups[..] else { panic!("two groups") };
            let (replica, master) = if one.is_replica() { (one, other) } else { (other, one) };
            assert_eq!((&replica.node, master.is_replica()), (&node(9), false), "a slot may require masters");
            distribution.settle(master, Ok(all_equal("OK", 1)), true);
            distribution.settle(replica, Ok(Replies::gather([Reply::new(answer)].into_iter(), 1)), true);
            assert_eq!(distribution.outlook().is_none(), is_final, "{answer:?}");
            assert!(distribution.groups(&topology()).iter().all(|group| !group.is_replica()));
        }
    }

    #[test]
    fn the_master_is_asked_instead_of_a_replica_that_is_down() {
        let mut pipeline = pipeline(&[(1, 1)]);
        pipeline.let_lag();
        let mut distribution = Distribution::of(pipeline.with_masters(Masters::Of(None)));
        distribution.prefer_replicas(|_| Some(Node { host: "replica".to_owned(), port: 9 }));
        let group = distribution.groups(&topology()).pop().unwrap();
        distribution.settle(&group, Err(broken()), true);
        assert_eq!(distribution.outlook(), Some(Outlook::Continues));
        assert!(!distribution.groups(&topology())[0].is_replica());
    }

    #[test]
    fn a_master_that_is_down_fails_its_own_commands_only() {
        let (mut distribution, groups) = two();
        let answered = replies(&distribution.encoded(&groups[0]).0);
        distribution.settle(&groups[0], Ok(answered), true);
        distribution.settle(&groups[1], Err(broken()), true);
        assert_eq!(distribution.outlook(), Some(Outlook::LacksMaster));
        let replies = distribution.replies();
        let errors: Vec<_> = replies.iter().map(Reply::error_code).collect();
        assert_eq!(errors.iter().flatten().collect::<Vec<_>>(), [b"CLUSTERDOWN"]);

        let (mut distribution, groups) = two();
        for group in &groups {
            distribution.settle(group, Err(broken()), true);
        }
        let replies = distribution.replies();
        assert!(replies.iter().all(|reply| reply.error_code() == Some(b"CLUSTERDOWN")));
    }

    #[test]
    fn a_command_that_may_still_be_executed_is_not_repeated() {
        let (mut distribution, groups) = two();
        for group in &groups {
            let elapsed = std::io::Error::from(std::io::ErrorKind::TimedOut);
            distribution.settle(group, Err(redis::RedisError::from(elapsed).into()), true);
        }
        assert_eq!(distribution.outlook(), None);
    }

    #[test]
    fn nothing_is_retried_while_a_master_stays_unreachable_or_does_not_serve_its_slots() {
        let (mut distribution, groups) = two();
        distribution.settle(&groups[0], Err(broken()), false);
        distribution.settle(&groups[1], Ok(all_equal("LOADING loading", 1)), false);
        assert_eq!(distribution.outlook(), None);
    }

    #[test]
    fn a_transaction_whose_keys_are_at_two_masters_is_not_repeated() {
        let mut transaction = Pipeline::default();
        transaction.push_name("MULTI");
        transaction.push(&arguments(&["ZADD", "find", "0", "7"]), Some(slot_of(1)));
        transaction.push_name("EXEC");
        let mut distribution = Distribution::of(transaction.unite());
        let group = distribution.groups(&topology()).pop().unwrap();
        let lines = ["+OK", "-ASK 7 host:2", "-EXECABORT Transaction discarded because of previous errors."];
        let lines = lines.map(|line| format!("{line}\r\n"));
        let replies = Replies::gather(lines.iter().map(|line| Reply::new(line.as_bytes())), 3);
        distribution.settle(&group, Ok(replies), true);
        assert_eq!(distribution.outlook(), None);
    }

    /// Returns a call of a script that fails if its keys are divided, and a command that waits.
    fn divisible() -> Pipeline {
        let mut pipeline = Pipeline::default();
        pipeline.push(&arguments(&["EVALSHA", "digest", "2", "posts", "cold"]), Some(slot_of(1)));
        pipeline.fail_if_divided();
        pipeline.push(&arguments(&["EVALSHA", "digest", "2", "posts", "gone"]), Some(slot_of(1)));
        pipeline
    }

    fn lines(lines: &[&str]) -> Replies {
        let lines: Vec<String> = lines.iter().map(|line| format!("{line}\r\n")).collect();
        Replies::gather(lines.iter().map(|line| Reply::new(line.as_bytes())), 1)
    }

    #[test]
    fn a_script_whose_keys_are_divided_fails_at_once_if_it_is_to() {
        let mut distribution = Distribution::of(divisible());
        let group = distribution.groups(&topology()).pop().unwrap();
        distribution.settle(&group, Ok(lines(&["-TRYAGAIN divided", "-TRYAGAIN divided"])), true);
        assert_eq!(distribution.outlook(), Some(Outlook::Waits));
        let group = distribution.groups(&topology()).pop().unwrap();
        assert_eq!(group.parts, [1], "only the other command is retried");
        distribution.settle(&group, Ok(lines(&[":7"])), true);
        assert_eq!(distribution.outlook(), None);
        let replies = distribution.replies();
        assert_eq!(replies.iter().next().unwrap().error_code(), Some(&b"TRYAGAIN"[..]));
    }

    #[test]
    fn a_script_whose_keys_have_left_their_master_is_sent_to_the_next_one_before_it_fails() {
        for (answer, code) in [(":7", None), ("-TRYAGAIN divided", Some(&b"TRYAGAIN"[..]))] {
            let mut distribution = Distribution::of(divisible());
            let group = distribution.groups(&topology()).pop().unwrap();
            distribution.settle(&group, Ok(lines(&["-ASK 7 host:9", ":7"])), true);
            assert_eq!(distribution.outlook(), Some(Outlook::Continues));
            let group = distribution.groups(&topology()).pop().unwrap();
            assert_eq!((group.node.clone(), group.is_importer()), (node(9), true));
            distribution.settle(&group, Ok(lines(&["+OK", answer])), true);
            assert_eq!(distribution.outlook(), None);
            assert_eq!(distribution.replies().iter().next().unwrap().error_code(), code);
        }
    }

    #[test]
    fn commands_for_many_keys_of_a_moving_slot_are_read_without_a_pause() {
        const COMMANDS: usize = 2 * MOST_REDIRECTS;
        let mut distribution = Distribution::of(pipeline(&[(1, COMMANDS)]));
        while let Some(outlook) = distribution.outlook() {
            assert_eq!(outlook, Outlook::Continues);
            let group = distribution.groups(&topology()).pop().unwrap();
            let (bytes, count) = distribution.encoded(&group);
            let answered =
                if group.is_importer() { replies(&bytes) } else { all_equal("ASK 7 host:9", count) };
            distribution.settle(&group, Ok(answered), true);
        }
        assert_eq!(distribution.replies().len(), COMMANDS);
    }

    #[test]
    fn a_unit_without_a_master_waits() {
        let mut distribution = Distribution::of(pipeline(&[(1, 1)]));
        assert!(distribution.groups(&Topology::unknown()).is_empty());
        assert_eq!(distribution.outlook(), Some(Outlook::LacksMaster));
    }
}
