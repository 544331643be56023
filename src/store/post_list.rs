//! Decodes post ids in replies, and encodes page windows as arguments of scripts.
//!
//! Not here: the lists themselves (`store::post`, `store::timeline`, `store::moving`).

use redis::{FromRedisValue, ParsingError, Value};

use crate::model::id::PostId;
use crate::model::page::Window;
use crate::store::command::Builder;
use crate::store::reply::Reply;

/// A post id as Redis returns it.
pub(super) struct Id(pub(super) PostId);

impl FromRedisValue for Id {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let text = String::from_redis_value(value)?;
        text.parse().map(Self).map_err(|_| ParsingError::from(format!("{text:?} is not a post id")))
    }
}

/// Reads a list of post ids where it is.
pub(super) fn read_ids(reply: Reply<'_>) -> Option<Vec<Id>> {
    let id = |id: Reply<'_>| PostId::new(id.count()?).map(Id);
    reply.elements()?.map(id).collect()
}

/// Unwraps decoded post ids.
pub(super) fn ids(ids: Vec<Id>) -> Vec<PostId> {
    ids.into_iter().map(|Id(id)| id).collect()
}

/// Adds the arguments that select the page for a script to return.
pub(super) fn windowed(builder: Builder, window: &Window<PostId>) -> Builder {
    let from = window.from.map_or(String::new(), |from| from.to_string());
    builder.arg(window.direction.as_str()).arg(window.size).arg(from)
}
