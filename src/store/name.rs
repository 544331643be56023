//! Storage of the username index: username → user id, as a sharded hash.
//!
//! CRC32 spreads names over many small hashes. Redis stores these in a compact encoding, which takes a third
//! of the memory of one key per name.
//!
//! The first caller that reserves a name gets it. A name is *reserved* (`?7`) while its user is being created
//! and *settled* (`7`) afterwards. A settled name always leads to an existing user, so a reader needs no second
//! lookup. While the user's account is inactive, the name is marked (`!7`), and leads to no one but the user, who signs
//! in.
//!
//! Not here: the steps of a registration (`app::user`) and their repair (`app::repair`).

use redis::{FromRedisValue, ParsingError, Value};

use crate::model::id::UserId;
use crate::model::user::Username;
use crate::store::command::{Command, call, command};
use crate::store::error::Error;
use crate::store::key::Keys;
use crate::store::script;

/// The value that the index holds for a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// The name is reserved for the user with this id, who need not exist.
    Reserved(UserId),
    /// The name belongs to this user, who exists.
    Settled(UserId),
    /// The name belongs to this user, whose account is inactive, so that no one finds the user.
    Inactive(UserId),
}

impl Holder {
    /// Returns the holder's user id.
    #[must_use]
    pub fn user(self) -> UserId {
        match self {
            Self::Reserved(user) | Self::Settled(user) | Self::Inactive(user) => user,
        }
    }

    pub(super) fn text(self) -> String {
        match self {
            Self::Reserved(user) => format!("?{user}"),
            Self::Settled(user) => user.to_string(),
            Self::Inactive(user) => format!("!{user}"),
        }
    }
}

impl FromRedisValue for Holder {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let text = String::from_redis_value(value)?;
        let parsed = match (text.strip_prefix('?'), text.strip_prefix('!')) {
            (Some(id), _) => id.parse().map(Self::Reserved),
            (_, Some(id)) => id.parse().map(Self::Inactive),
            (None, None) => text.parse().map(Self::Settled),
        };
        parsed.map_err(|_| ParsingError::from(format!("{text:?} is not a holder of a name")))
    }
}

/// Looks up a name's holder; `None` if the name is free.
pub fn holder(keys: &Keys, username: &Username) -> Command<Option<Holder>> {
    command("HGET").key(&keys.names_with(username)).arg(username.as_str()).reply()
}

/// Reserves a name for a user id, if the name is free. Returns the current holder.
pub fn reserve(keys: &Keys, username: &Username, user: UserId) -> Command<Holder> {
    let reserve = call(&script::RESERVE_NAME).key(&keys.names_with(username)).arg(username.as_str());
    reserve.arg(Holder::Reserved(user).text()).reply()
}

/// Assigns a reserved name to its user, who exists now.
pub fn settle(keys: &Keys, username: &Username, user: UserId) -> Command<bool> {
    change(keys, username, Holder::Reserved(user), Some(Holder::Settled(user)))
}

/// Frees a name, if it still has this holder: a revoked id, or a user who does not exist.
pub fn free(keys: &Keys, username: &Username, holder: Holder) -> Command<bool> {
    change(keys, username, holder, None)
}

/// Changes the holder of a name, if it still has the holder `from`. Returns true if it has the new holder now.
pub fn replace(keys: &Keys, username: &Username, from: Holder, to: Holder) -> Command<bool> {
    change(keys, username, from, Some(to))
}

fn change(keys: &Keys, username: &Username, from: Holder, to: Option<Holder>) -> Command<bool> {
    let change = call(&script::CHANGE_NAME).key(&keys.names_with(username)).arg(username.as_str());
    change.arg(from.text()).arg(to.map_or(String::new(), Holder::text)).reply()
}

/// Reads all names of one shard, with their holders.
pub fn all(keys: &Keys, shard: u32) -> Command<Vec<(Username, Holder)>> {
    let read = command("HGETALL").key(&keys.names(shard));
    read.reply::<Vec<(String, Holder)>>().map(|names| {
        let parse = |(name, holder): (String, Holder)| match Username::parse(&name) {
            Ok(username) => Ok((username, holder)),
            Err(_) => Err(Error::corrupt(format!("{name:?} in the username index is not a username"))),
        };
        names.into_iter().map(parse).collect()
    })
}
