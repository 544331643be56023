//! Signals: Redis says what changes for those users whom this process listens for.
//!
//! Scripts that change what somebody may be watching say so on a channel (`store/lua/part/tell.lua`). A signal says
//! that there is something to look at and not what it is: signals are lost when a connection breaks, so whoever
//! listens looks by itself from time to time, and whenever it begins to listen.
//!
//! Not here: who listens, and for what (`app::live`).

use futures::StreamExt as _;
use redis::aio::{PubSubSink, PubSubStream};

use crate::model::id::UserId;
use crate::store::error::Error;
use crate::store::key::Keys;

/// What has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Something has come to the home timeline of a user, or was taken out of it.
    Timeline(UserId),
    /// One follows the other now, or no longer does. It is the first one who is told.
    Relation(UserId, UserId),
    /// Sessions of a user have ended.
    Sessions(UserId),
    /// A user has posted something that its readers pull.
    Pulled(UserId),
}

impl Signal {
    /// The signal that is given by this message on this channel; `None` if this version does not know it.
    fn read(keys: &Keys, channel: &str, message: &str) -> Option<Self> {
        if channel == keys.pulled() {
            return Some(Self::Pulled(message.parse().ok()?));
        }
        let user: UserId = channel.rsplit_once("{u")?.1.split_once('}')?.0.parse().ok()?;
        match message.split_once(' ').unwrap_or((message, "")) {
            ("timeline", _) => Some(Self::Timeline(user)),
            ("sessions", _) => Some(Self::Sessions(user)),
            ("relation", other) => Some(Self::Relation(user, other.parse().ok()?)),
            _ => None,
        }
    }
}

/// A connection that listens.
pub struct Ear {
    sink: PubSubSink,
    stream: PubSubStream,
    keys: Keys,
}

/// What says for whom an [`Ear`] listens.
#[derive(Clone)]
pub struct Dial {
    sink: PubSubSink,
    keys: Keys,
}

impl Ear {
    pub(super) async fn open(client: &redis::Client, keys: Keys) -> Result<Self, Error> {
        let (mut sink, stream) = client.get_async_pubsub().await?.split();
        sink.subscribe(keys.pulled()).await?;
        Ok(Self { sink, stream, keys })
    }

    /// What says for whom it listens; from the beginning, for nobody.
    #[must_use]
    pub fn dial(&self) -> Dial {
        Dial { sink: self.sink.clone(), keys: self.keys.clone() }
    }

    /// The next signal; `None` if the connection is gone.
    pub async fn hear(&mut self) -> Option<Signal> {
        loop {
            let message = self.stream.next().await?;
            let text = std::str::from_utf8(message.get_payload_bytes()).unwrap_or_default();
            if let Some(signal) = Signal::read(&self.keys, message.get_channel_name(), text) {
                return Some(signal);
            }
        }
    }
}

impl Dial {
    /// Listens for these users from now on. One round trip.
    pub async fn listen_for(&mut self, users: &[UserId]) -> Result<(), Error> {
        Ok(self.sink.subscribe(self.channels(users)).await?)
    }

    /// Listens for these users no longer. One round trip.
    pub async fn cease_for(&mut self, users: &[UserId]) -> Result<(), Error> {
        Ok(self.sink.unsubscribe(self.channels(users)).await?)
    }

    /// Whether the connection is there. One round trip.
    pub async fn ping(&mut self) -> Result<(), Error> {
        Ok(self.sink.ping::<redis::Value>().await.map(drop)?)
    }

    fn channels(&self, users: &[UserId]) -> Vec<String> {
        users.iter().map(|user| self.keys.live(*user)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_of_signals_is_known_to_every_process() {
        let keys = Keys::new("ff:", 16);
        let [seven, nine] = [7, 9].map(|number| UserId::new(number).unwrap());
        let read = |channel, message| Signal::read(&keys, channel, message);
        assert_eq!(read("ff:{u7}:live", "timeline"), Some(Signal::Timeline(seven)));
        assert_eq!(read("ff:{u7}:live", "sessions"), Some(Signal::Sessions(seven)));
        assert_eq!(read("ff:{u7}:live", "relation 9"), Some(Signal::Relation(seven, nine)));
        assert_eq!(read("ff:{g}:pulled", "9"), Some(Signal::Pulled(nine)));
        for (channel, message) in [("ff:{u7}:live", "new"), ("ff:{u7}:live", "relation x"), ("other", "")] {
            assert_eq!(read(channel, message), None);
        }
    }
}
