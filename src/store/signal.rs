//! Receives signals: pub/sub notifications of changes that affect the users this process subscribes to.
//!
//! Scripts that change data a client may be watching publish a signal on a channel
//! (`store/lua/part/signal.lua`). A signal names the changed data but does not contain it. Signals are lost
//! when a connection breaks, so subscribers also poll periodically and whenever they subscribe.
//!
//! Not here: the subscribers and what they subscribe to (`app::live`).

use futures::StreamExt as _;
use redis::aio::{PubSubSink, PubSubStream};

use crate::model::id::UserId;
use crate::store::error::Error;
use crate::store::key::Keys;

/// A change announced by a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// A post was added to or removed from the user's home timeline.
    Timeline(UserId),
    /// The relation between the two users changed: one followed or unfollowed the other. Sent on the first
    /// user's channel.
    Relation(UserId, UserId),
    /// One or more of the user's sessions have ended.
    Sessions(UserId),
    /// The user has published a post that followers pull.
    Pulled(UserId),
}

impl Signal {
    /// Parses a message received on a channel; `None` if this version does not recognize the message.
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

/// A pub/sub listener for signals.
pub struct SignalListener {
    sink: PubSubSink,
    stream: PubSubStream,
    keys: Keys,
}

/// A handle that changes the subscriptions of a [`SignalListener`].
#[derive(Clone)]
pub struct SubscriptionHandle {
    sink: PubSubSink,
    keys: Keys,
}

impl SignalListener {
    pub(super) async fn open(client: &redis::Client, keys: Keys) -> Result<Self, Error> {
        let (mut sink, stream) = client.get_async_pubsub().await?.split();
        sink.subscribe(keys.pulled()).await?;
        Ok(Self { sink, stream, keys })
    }

    /// Returns a handle that changes the subscriptions. A new listener subscribes to no users.
    #[must_use]
    pub fn handle(&self) -> SubscriptionHandle {
        SubscriptionHandle { sink: self.sink.clone(), keys: self.keys.clone() }
    }

    /// Waits for the next signal; `None` if the connection is lost.
    pub async fn next(&mut self) -> Option<Signal> {
        loop {
            let message = self.stream.next().await?;
            let text = std::str::from_utf8(message.get_payload_bytes()).unwrap_or_default();
            if let Some(signal) = Signal::read(&self.keys, message.get_channel_name(), text) {
                return Some(signal);
            }
        }
    }
}

impl SubscriptionHandle {
    /// Subscribes to these users. Makes one round trip.
    pub async fn subscribe_to(&mut self, users: &[UserId]) -> Result<(), Error> {
        Ok(self.sink.subscribe(self.channels(users)).await?)
    }

    /// Unsubscribes from these users. Makes one round trip.
    pub async fn unsubscribe_from(&mut self, users: &[UserId]) -> Result<(), Error> {
        Ok(self.sink.unsubscribe(self.channels(users)).await?)
    }

    /// Checks the connection. Makes one round trip.
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
    fn the_format_of_signals_is_shared_by_all_processes() {
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
