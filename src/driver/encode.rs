//! Encodes commands as Redis expects them: RESP arrays of strings.
//!
//! A command's arguments are encoded while the command is built, each once. Commands that are sent together share one
//! buffer, which records the slot of each, so that a cluster's commands can be distributed to its servers.

use std::io;

use bytes::Bytes;
use redis::RedisWrite;
use smallvec::{SmallVec, smallvec};

/// The encoded arguments of one command.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arguments {
    bytes: Vec<u8>,
    count: usize,
}

impl Arguments {
    /// Removes all arguments, and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.count = 0;
    }

    /// Adds all arguments of another command.
    pub(crate) fn extend(&mut self, other: &Self) {
        self.bytes.extend_from_slice(&other.bytes);
        self.count += other.count;
    }
}

impl RedisWrite for Arguments {
    fn write_arg(&mut self, argument: &[u8]) {
        push_head(&mut self.bytes, b'$', argument.len());
        self.bytes.extend_from_slice(argument);
        self.bytes.extend_from_slice(b"\r\n");
        self.count += 1;
    }

    fn writer_for_next_arg(&mut self) -> impl io::Write + '_ {
        NextArgument { bytes: Vec::new(), to: self }
    }
}

/// An argument that is written piece by piece, and added when it is dropped.
struct NextArgument<'a> {
    bytes: Vec<u8>,
    to: &'a mut Arguments,
}

impl io::Write for NextArgument<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for NextArgument<'_> {
    fn drop(&mut self) {
        self.to.write_arg(&self.bytes);
    }
}

/// Encoded commands, in the order in which Redis is to execute them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pipeline {
    bytes: Vec<u8>,
    count: usize,
    units: Units,
    masters: Masters,
}

/// The units of a pipeline. Most pipelines begin as a single command, whose unit needs no memory of its own.
type Units = SmallVec<[Unit; 1]>;

/// The commands that masters must execute, although their replies may lag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Masters {
    /// All commands.
    #[default]
    Always,
    /// Those with keys in this slot.
    Of(Option<u16>),
}

/// Commands of a pipeline that are sent to one server, together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    /// The slot of the commands' keys; `None` if they have no keys, or there is a single server.
    pub(super) slot: Option<u16>,
    /// Number of commands.
    pub(super) commands: usize,
    /// Number of bytes of the encoded commands.
    pub(super) bytes: usize,
    /// True if the replies may lag behind the last writes.
    pub(super) may_lag: bool,
    /// True if the commands are not to be retried while their keys are divided between two masters.
    pub(super) fails_if_divided: bool,
}

impl Unit {
    fn of(slot: Option<u16>, commands: usize, bytes: usize) -> Self {
        Self { slot, commands, bytes, may_lag: false, fails_if_divided: false }
    }
}

impl Pipeline {
    /// Creates a pipeline of one command.
    pub(crate) fn of(arguments: &Arguments, slot: Option<u16>) -> Self {
        let mut pipeline = Self::default();
        pipeline.push(arguments, slot);
        pipeline
    }

    /// Adds a command, as a unit of its own.
    pub(crate) fn push(&mut self, arguments: &Arguments, slot: Option<u16>) {
        let start = self.bytes.len();
        push_head(&mut self.bytes, b'*', arguments.count);
        self.bytes.extend_from_slice(&arguments.bytes);
        self.count += 1;
        self.units.push(Unit::of(slot, 1, self.bytes.len() - start));
    }

    /// Makes the last command fail at once while its keys are divided between two masters.
    pub(crate) fn fail_if_divided(&mut self) {
        if let Some(unit) = self.units.last_mut() {
            unit.fails_if_divided = true;
        }
    }

    /// Reserves capacity for `count` commands like those so far.
    pub(crate) fn reserve(&mut self, count: usize) {
        self.bytes.reserve(self.bytes.len().div_ceil(self.count.max(1)) * count);
        self.units.reserve(count);
    }

    /// Adds a command that has no arguments but its name.
    pub(crate) fn push_name(&mut self, name: &str) {
        let mut arguments = Arguments::default();
        arguments.write_arg(name.as_bytes());
        self.push(&arguments, None);
    }

    /// Makes all commands so far one unit.
    pub(crate) fn unite(mut self) -> Self {
        let slot = self.units.iter().find_map(|unit| unit.slot);
        self.units = smallvec![Unit::of(slot, self.count, self.bytes.len())];
        self
    }

    /// Marks the commands so far, which only read, as commands whose replies may lag.
    pub(crate) fn let_lag(&mut self) {
        self.units.iter_mut().for_each(|unit| unit.may_lag = true);
    }

    /// Sets which commands masters must execute.
    pub(crate) fn with_masters(self, masters: Masters) -> Self {
        Self { masters, ..self }
    }

    /// Returns true if a replica may execute a unit's commands.
    pub(super) fn may_lag(&self, unit: &Unit) -> bool {
        unit.may_lag && matches!(self.masters, Masters::Of(slot) if slot != unit.slot || slot.is_none())
    }

    /// Adds all commands of another pipeline, which keeps only their number.
    pub(crate) fn append(&mut self, other: &mut Self) {
        if self.bytes.is_empty() {
            std::mem::swap(&mut self.bytes, &mut other.bytes);
        } else {
            self.bytes.append(&mut other.bytes);
        }
        if self.units.is_empty() {
            std::mem::swap(&mut self.units, &mut other.units);
        } else {
            self.units.append(&mut other.units);
        }
        self.count += other.count;
    }

    /// Returns the number of commands.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Returns true if there are no commands.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the encoded commands.
    pub(super) fn into_bytes(self) -> Bytes {
        self.bytes.into()
    }

    /// Returns the units, in order.
    pub(super) fn units(&self) -> &[Unit] {
        &self.units
    }
}

/// Writes the first line of an array or string: its type and length.
fn push_head(bytes: &mut Vec<u8>, kind: u8, length: usize) {
    /// Number of digits of the greatest length.
    const DIGITS: usize = 20;
    let (mut digits, mut start, mut rest) = ([b'0'; DIGITS], DIGITS - 1, length);
    while rest >= 10 {
        digits[start] += u8::try_from(rest % 10).unwrap_or_default();
        (start, rest) = (start - 1, rest / 10);
    }
    digits[start] += u8::try_from(rest).unwrap_or_default();
    bytes.push(kind);
    bytes.extend_from_slice(&digits[start..]);
    bytes.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use redis::ToRedisArgs as _;

    use super::*;

    proptest! {
        #[test]
        fn commands_are_encoded_as_the_redis_crate_encodes_them(
            commands in prop::collection::vec(
                prop::collection::vec(prop::collection::vec(any::<u8>(), 0..120), 1..12),
                1..4,
            ),
            number in any::<i64>(),
        ) {
            let (mut pipeline, mut expected) = (Pipeline::default(), redis::pipe());
            for command in &commands {
                let mut arguments = Arguments::default();
                let mut cmd = redis::Cmd::new();
                for argument in command {
                    arguments.write_arg(argument);
                    cmd.arg(argument.as_slice());
                }
                number.write_redis_args(&mut arguments);
                cmd.arg(number);
                arguments.write_arg_fmt(number);
                cmd.arg(number);
                io::Write::write_all(&mut arguments.writer_for_next_arg(), b"a b").unwrap();
                cmd.arg("a b");
                pipeline.push(&arguments, None);
                expected.add_command(cmd);
            }
            prop_assert_eq!(pipeline.len(), commands.len());
            prop_assert_eq!(&pipeline.into_bytes()[..], expected.get_packed_pipeline());
        }
    }
}
