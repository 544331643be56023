//! Receives signals from the masters of a cluster, by sharded pub/sub
//! (<https://redis.io/docs/latest/develop/pubsub/#sharded-pubsub>).
//!
//! A channel belongs to a slot, like a key, and only the slot's master publishes on it. There is one connection to each
//! master that has subscriptions. When a master fails or a slot moves, only its channels are lost, and subscribed to
//! again.
//!
//! # Why not the pub/sub of the `redis` crate
//! It has no sharded subscriptions on a connection to one node.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::future::join_all;
use parking_lot::{Mutex, MutexGuard};
use redis::RedisWrite as _;
use tokio::sync::{Notify, mpsc};
use tokio::time::{sleep, timeout};

use crate::driver::cluster::Cluster;
use crate::driver::encode::{Arguments, Pipeline};
use crate::driver::error::Error;
use crate::driver::reply::Reply;
use crate::driver::topology::{Node, Topology};
use crate::driver::wire::{Connection, Listener};

/// Number of messages that wait to be taken. Further messages are lost with their subscriptions.
const MOST_WAITING: usize = 100_000;
/// Timeout for connecting to a master and subscribing to its channels.
const SUBSCRIBED: Duration = Duration::from_secs(2);
/// Pause before lost channels are subscribed to again.
const PAUSE: Duration = Duration::from_millis(500);
/// Number of seconds without a response after which a master counts as dead.
const MOST_SILENT: u32 = 4;

/// A channel, with its slot.
pub(crate) type Channel = (u16, String);

/// What the connections and handles of one listener share.
#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Notification that channels were lost.
    bell: Notify,
}

#[derive(Default)]
struct State {
    /// The channels that are wanted, by name.
    channels: HashMap<String, Wanted>,
    connections: HashMap<Node, Numbered>,
    /// Number of the last connection.
    last: u64,
}

/// A channel that is wanted.
struct Wanted {
    slot: u16,
    /// Number of the connection over which it is subscribed to; `None` if it is lost.
    over: Option<u64>,
}

/// A connection with its number, which distinguishes it from earlier ones to the same node.
#[derive(Clone)]
struct Numbered {
    number: u64,
    connection: Connection,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Marks the channels of a connection as lost, and drops the connection.
    fn lose_connection(&self, number: u64) {
        let mut state = self.state();
        state.connections.retain(|_, connection| connection.number != number);
        for wanted in state.channels.values_mut().filter(|wanted| wanted.over == Some(number)) {
            wanted.over = None;
        }
        drop(state);
        self.bell.notify_one();
    }

    /// Marks a channel as lost, if it was subscribed to over this connection: its slot has moved.
    fn lose_channel(&self, name: &str, number: u64) {
        let mut state = self.state();
        let wanted = state.channels.get_mut(name).filter(|wanted| wanted.over == Some(number));
        if let Some(wanted) = wanted {
            wanted.over = None;
            self.bell.notify_one();
        }
    }

    /// Marks the channels as lost that are subscribed to at another node than the master of their slot.
    fn lose_misplaced(&self, topology: &Topology) {
        let mut state = self.state();
        let State { channels, connections, .. } = &mut *state;
        let mut has_lost = false;
        for wanted in channels.values_mut().filter(|wanted| wanted.over.is_some()) {
            let owner = topology.owner(wanted.slot).and_then(|owner| connections.get(owner));
            if owner.map(|connection| connection.number) != wanted.over {
                wanted.over = None;
                has_lost = true;
            }
        }
        if has_lost {
            self.bell.notify_one();
        }
    }

    fn lost(&self) -> Vec<Channel> {
        let state = self.state();
        let lost = state.channels.iter().filter(|(_, wanted)| wanted.over.is_none());
        lost.map(|(name, wanted)| (wanted.slot, name.clone())).collect()
    }
}

/// Receives what a master pushes over one connection.
struct Receiver {
    /// Number of the connection.
    number: u64,
    messages: mpsc::Sender<(String, String)>,
    /// Weak, because the connection belongs to it.
    shared: Weak<Shared>,
    /// Number of seconds for which the master has not responded.
    silent: u32,
}

impl Receiver {
    /// Passes a message on. If too many wait, loses the subscriptions, so that subscribers read everything again.
    fn pass(&self, channel: &str, text: &str) {
        if self.messages.try_send((channel.to_owned(), text.to_owned())).is_err() {
            self.lose();
        }
    }

    fn lose(&self) {
        if let Some(shared) = self.shared.upgrade() {
            shared.lose_connection(self.number);
        }
    }
}

impl Listener for Receiver {
    fn is_tracking(&self) -> bool {
        false
    }

    fn receive(&mut self, message: Reply<'_>) {
        let Some(parts) = message.elements() else { return };
        let mut parts = parts.map(|part| part.text().unwrap_or_default());
        match [parts.next(), parts.next(), parts.next()].map(Option::unwrap_or_default) {
            ["smessage", channel, text] => self.pass(channel, text),
            ["sunsubscribe", channel, _] => {
                if let Some(shared) = self.shared.upgrade() {
                    shared.lose_channel(channel, self.number);
                }
            }
            _ => {}
        }
    }

    fn pause(&mut self) {
        self.silent += 1;
        if self.silent == MOST_SILENT {
            self.lose();
        }
    }

    fn resume(&mut self) {
        self.silent = 0;
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.lose();
    }
}

/// The messages of all masters.
pub(crate) struct Messages(mpsc::Receiver<(String, String)>);

impl Messages {
    /// Waits for the next message, and returns its channel and text; `None` once all subscriptions have been dropped.
    pub(crate) async fn next(&mut self) -> Option<(String, String)> {
        self.0.recv().await
    }
}

/// Subscriptions at all masters. Clones share them.
#[derive(Clone)]
pub(crate) struct Subscriptions {
    cluster: Cluster,
    messages: mpsc::Sender<(String, String)>,
    shared: Arc<Shared>,
}

impl Subscriptions {
    /// Begins without subscriptions.
    pub(crate) fn open(cluster: &Cluster) -> (Self, Messages) {
        let (messages, receiver) = mpsc::channel(MOST_WAITING);
        (Self { cluster: cluster.clone(), messages, shared: Arc::default() }, Messages(receiver))
    }

    /// Subscribes to these channels, as far as their masters respond. Makes one round trip to each of the masters.
    pub(crate) async fn subscribe(&self, channels: Vec<Channel>) {
        let wanted = channels.iter().map(|(slot, name)| (name.clone(), Wanted { slot: *slot, over: None }));
        self.shared.state().channels.extend(wanted);
        self.settle(channels).await;
    }

    /// Unsubscribes from these channels. Masters that do not respond have lost their subscriptions anyway.
    pub(crate) async fn unsubscribe(&self, channels: &[Channel]) {
        let mut pipelines: HashMap<u64, (Connection, Pipeline)> = HashMap::new();
        {
            let mut state = self.shared.state();
            for channel in channels {
                let wanted = state.channels.remove(&channel.1);
                let over = wanted.and_then(|wanted| wanted.over);
                let connection =
                    state.connections.values().find(|connection| Some(connection.number) == over);
                if let Some(Numbered { number, connection }) = connection {
                    let new = || (connection.clone(), Pipeline::default());
                    push(&mut pipelines.entry(*number).or_insert_with(new).1, "SUNSUBSCRIBE", channel);
                }
            }
        }
        let sent = pipelines.into_values().map(|(connection, pipeline)| async move {
            drop(timeout(SUBSCRIBED, send(&connection, pipeline)).await);
        });
        join_all(sent).await;
    }

    /// Waits until channels are lost, and then for a moment.
    pub(crate) async fn wait_for_loss(&self) {
        if self.shared.lost().is_empty() {
            self.shared.bell.notified().await;
        }
        sleep(PAUSE).await;
    }

    /// Subscribes to the lost channels again, at the masters that serve them now. Returns those that are not lost any
    /// more, on which messages may have been missed.
    pub(crate) async fn subscribe_again(&self) -> Vec<Channel> {
        self.cluster.refresh().await;
        let lost = self.shared.lost();
        self.settle(lost.clone()).await;
        let state = self.shared.state();
        let is_restored =
            |name: &String| state.channels.get(name).is_some_and(|wanted| wanted.over.is_some());
        lost.into_iter().filter(|(_, name)| is_restored(name)).collect()
    }

    /// Subscribes to wanted channels at the masters of their slots.
    async fn settle(&self, channels: Vec<Channel>) {
        let topology = self.cluster.topology();
        let mut of_nodes: HashMap<Node, Vec<Channel>> = HashMap::new();
        for channel in channels {
            if let Some(owner) = topology.owner(channel.0) {
                of_nodes.entry(owner.clone()).or_default().push(channel);
            }
        }
        join_all(of_nodes.into_iter().map(|(node, channels)| self.settle_at(node, channels))).await;
    }

    async fn settle_at(&self, node: Node, channels: Vec<Channel>) {
        let Ok(Ok(Numbered { number, connection })) = timeout(SUBSCRIBED, self.connection(&node)).await
        else {
            return;
        };
        let mut pipeline = Pipeline::default();
        for channel in &channels {
            push(&mut pipeline, "SSUBSCRIBE", channel);
        }
        // They count as subscribed to from now on, so that a loss in the meantime is noticed.
        self.mark(&channels, number);
        if !matches!(timeout(SUBSCRIBED, send(&connection, pipeline)).await, Ok(Ok(()))) {
            self.shared.lose_connection(number);
        }
    }

    fn mark(&self, channels: &[Channel], number: u64) {
        let mut state = self.shared.state();
        for (_, name) in channels {
            if let Some(wanted) = state.channels.get_mut(name) {
                wanted.over = Some(number);
            }
        }
    }

    /// Returns the connection to a node. Opens it on first use.
    async fn connection(&self, node: &Node) -> Result<Numbered, Error> {
        let number = {
            let mut state = self.shared.state();
            let known = state.connections.get(node).filter(|known| !known.connection.is_broken());
            if let Some(known) = known {
                return Ok(known.clone());
            }
            state.last += 1;
            state.last
        };
        let (messages, shared) = (self.messages.clone(), Arc::downgrade(&self.shared));
        let receiver = Receiver { number, messages, shared, silent: 0 };
        let connection = self.cluster.listen(node, Box::new(receiver)).await?;
        let numbered = Numbered { number, connection };
        self.shared.state().connections.insert(node.clone(), numbered.clone());
        Ok(numbered)
    }

    /// Notices channels whose slots have other masters now. Makes no round trip.
    pub(crate) fn check(&self) {
        self.shared.lose_misplaced(&self.cluster.topology());
    }
}

/// Sends commands whose results Redis pushes, and waits until Redis has executed them.
async fn send(connection: &Connection, mut pipeline: Pipeline) -> Result<(), Error> {
    // Redis replies only to the last one. A rejected command has a reply as well, which breaks the connection.
    pipeline.push_name("PING");
    connection.send(pipeline.into_bytes(), 1).await?.iter().try_for_each(Reply::check)?;
    Ok(())
}

fn push(pipeline: &mut Pipeline, command: &str, (_, name): &Channel) {
    let mut arguments = Arguments::default();
    arguments.write_arg(command.as_bytes());
    arguments.write_arg(name.as_bytes());
    pipeline.push(&arguments, None);
}
