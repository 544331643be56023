//! Receives signals: pub/sub notifications of changes that affect the users this process subscribes to.
//!
//! Scripts that change data a client may be watching publish a signal on a channel
//! (`store/lua/part/signal.lua`). A signal names the changed data but does not contain it. Signals are lost
//! when a connection breaks, so subscribers also poll periodically and whenever they subscribe. In a cluster, the
//! channels are those of sharded pub/sub (`driver::shard`).
//!
//! Not here: the subscribers and what they subscribe to (`app::live`).

use futures::StreamExt as _;
use redis::Value;
use redis::aio::{PubSubSink, PubSubStream};

use crate::driver::deployment::Deployment;
use crate::driver::shard::{self, Messages, Subscriptions};
use crate::model::id::UserId;
use crate::store::command::{Command, command};
use crate::store::error::Error;
use crate::store::key::{Channel, Key, Keys};

/// A change announced by a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// A post was added to or removed from the user's home timeline.
    Timeline(UserId),
    /// The relation between the two users changed: one followed or unfollowed the other, or the first muted or unmuted
    /// the second. Sent on the first user's channel.
    Relation(UserId, UserId),
    /// One or more of the user's sessions have ended.
    Sessions(UserId),
    /// A recovery code of the user was issued, used or revoked.
    Recovery(UserId),
    /// The user has published a post that followers pull.
    Pulled(UserId),
}

impl Signal {
    /// Parses a message received on a channel; `None` if this version does not recognize the message.
    fn read(keys: &Keys, channel: &str, message: &str) -> Option<Self> {
        if channel == keys.pulled().name() {
            return Some(Self::Pulled(message.parse().ok()?));
        }
        let user = owner(channel)?;
        match message.split_once(' ').unwrap_or((message, "")) {
            ("timeline", _) => Some(Self::Timeline(user)),
            ("sessions", _) => Some(Self::Sessions(user)),
            ("recovery", _) => Some(Self::Recovery(user)),
            ("relation", other) => Some(Self::Relation(user, other.parse().ok()?)),
            _ => None,
        }
    }
}

/// Returns a command that announces an author of a new post that followers pull; `None` if the script that makes the
/// post visible announces the author.
#[must_use]
pub fn announce(keys: &Keys, author: UserId) -> Option<Command<()>> {
    let announce = || {
        let publish = command("SPUBLISH").key(&keys.pulled()).arg(author.get());
        publish.reply::<u64>().map(|_| Ok(()))
    };
    keys.is_sharded().then(announce)
}

/// A pub/sub listener for signals.
pub struct SignalListener {
    source: Source,
    /// Handle that [`SignalListener::handle`] clones.
    handle: SubscriptionHandle,
}

/// Where messages come from.
enum Source {
    Single(PubSubStream),
    Cluster(Messages),
}

/// A handle that changes the subscriptions of a [`SignalListener`].
#[derive(Clone)]
pub struct SubscriptionHandle {
    sink: Sink,
    keys: Keys,
}

#[derive(Clone)]
enum Sink {
    Single(PubSubSink),
    Cluster(Subscriptions),
}

impl SignalListener {
    /// Opens a listener without subscriptions to users.
    pub(super) async fn open(deployment: &Deployment, keys: Keys) -> Result<Self, Error> {
        let (sink, source) = match deployment {
            Deployment::Single(pool) => {
                let (sink, stream) = pool.client().await?.get_async_pubsub().await?.split();
                (Sink::Single(sink), Source::Single(stream))
            }
            Deployment::Cluster(cluster) => {
                let (subscriptions, messages) = Subscriptions::open(cluster);
                (Sink::Cluster(subscriptions), Source::Cluster(messages))
            }
        };
        let mut handle = SubscriptionHandle { sink, keys };
        handle.subscribe(vec![handle.keys.pulled()]).await?;
        Ok(Self { source, handle })
    }

    /// Returns a handle that changes the subscriptions. A new listener subscribes to no users.
    #[must_use]
    pub fn handle(&self) -> SubscriptionHandle {
        self.handle.clone()
    }

    /// Waits for the next signal; `None` if the connection is lost.
    pub async fn next(&mut self) -> Option<Signal> {
        let keys = &self.handle.keys;
        loop {
            let signal = match &mut self.source {
                Source::Single(stream) => {
                    let message = stream.next().await?;
                    let text = std::str::from_utf8(message.get_payload_bytes()).unwrap_or_default();
                    Signal::read(keys, message.get_channel_name(), text)
                }
                Source::Cluster(messages) => {
                    let (channel, text) = messages.next().await?;
                    Signal::read(keys, &channel, &text)
                }
            };
            if signal.is_some() {
                return signal;
            }
        }
    }
}

impl SubscriptionHandle {
    /// Subscribes to these users. Makes one round trip.
    pub async fn subscribe_to(&mut self, users: &[UserId]) -> Result<(), Error> {
        self.subscribe(self.channels(users)).await
    }

    async fn subscribe(&mut self, channels: Vec<Key<Channel>>) -> Result<(), Error> {
        match &mut self.sink {
            Sink::Single(sink) => sink.subscribe(names(&channels)).await?,
            Sink::Cluster(subscriptions) => subscriptions.subscribe(with_slots(&channels)).await,
        }
        Ok(())
    }

    /// Unsubscribes from these users. Makes one round trip.
    pub async fn unsubscribe_from(&mut self, users: &[UserId]) -> Result<(), Error> {
        let channels = self.channels(users);
        match &mut self.sink {
            Sink::Single(sink) => sink.unsubscribe(names(&channels)).await?,
            Sink::Cluster(subscriptions) => subscriptions.unsubscribe(&with_slots(&channels)).await,
        }
        Ok(())
    }

    /// Checks the connection. Makes one round trip; in a cluster, where connections check themselves, none.
    pub async fn ping(&mut self) -> Result<(), Error> {
        match &mut self.sink {
            Sink::Single(sink) => Ok(sink.ping::<Value>().await.map(drop)?),
            Sink::Cluster(subscriptions) => {
                subscriptions.check();
                Ok(())
            }
        }
    }

    /// Waits until subscriptions are lost. Only in a cluster: on a single server, the listener ends.
    pub async fn lost(&self) {
        match &self.sink {
            Sink::Single(_) => std::future::pending().await,
            Sink::Cluster(subscriptions) => subscriptions.wait_for_loss().await,
        }
    }

    /// Subscribes again where subscriptions are lost, as far as possible. Returns the users whose signals may have been
    /// missed; `None` if those of any user may.
    pub async fn restore(&self) -> Option<Vec<UserId>> {
        let Sink::Cluster(subscriptions) = &self.sink else { return Some(Vec::new()) };
        let channels = subscriptions.subscribe_again().await;
        // Other channels have posts that any user may pull.
        channels.into_iter().map(|(_, channel)| owner(&channel)).collect()
    }

    fn channels(&self, users: &[UserId]) -> Vec<Key<Channel>> {
        users.iter().map(|user| self.keys.live(*user)).collect()
    }
}

fn names(channels: &[Key<Channel>]) -> Vec<&str> {
    channels.iter().map(Key::name).collect()
}

/// Returns the user to whom a channel belongs; `None` if it belongs to all.
fn owner(channel: &str) -> Option<UserId> {
    channel.rsplit_once("{u")?.1.split_once('}')?.0.parse().ok()
}

fn with_slots(channels: &[Key<Channel>]) -> Vec<shard::Channel> {
    channels.iter().map(|channel| (channel.tag().slot(), channel.name().to_owned())).collect()
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
        assert_eq!(read("ff:{u7}:live", "recovery"), Some(Signal::Recovery(seven)));
        assert_eq!(read("ff:{u7}:live", "relation 9"), Some(Signal::Relation(seven, nine)));
        assert_eq!(read("ff:{g}:pulled", "9"), Some(Signal::Pulled(nine)));
        for (channel, message) in [("ff:{u7}:live", "new"), ("ff:{u7}:live", "relation x"), ("other", "")] {
            assert_eq!(read(channel, message), None);
        }
    }
}
