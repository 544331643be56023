//! Receives signals from the masters of a cluster, by sharded pub/sub
//! (<https://redis.io/docs/latest/develop/pubsub/#sharded-pubsub>).
//!
//! A channel belongs to a slot, like a key, and only the slot's master publishes on it. There is one connection to each
//! master that has subscriptions. If one of them breaks, or a slot moves to another master, all of them end: the listener
//! is opened again, and reads the topology.
//!
//! # Why not the pub/sub of the `redis` crate
//! It has no sharded subscriptions on a connection to one node.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use redis::RedisWrite as _;
use tokio::sync::{Notify, mpsc};

use crate::store::cluster::Cluster;
use crate::store::encode::{Arguments, Pipeline};
use crate::store::error::Error;
use crate::store::key::{Channel, Key};
use crate::store::reply::Reply;
use crate::store::topology::{Node, Topology, slot};
use crate::store::wire::{Connection, Listener};

/// Number of messages that wait to be taken. If there are more, the listener ends.
const MOST_WAITING: usize = 100_000;

/// A message with its channel.
type Message = (String, String);

/// What the connections of one listener share.
#[derive(Default)]
struct Shared {
    /// The channels that are subscribed to.
    channels: Mutex<HashSet<String>>,
    has_ended: AtomicBool,
    /// Notification that the listener has ended.
    bell: Notify,
}

impl Shared {
    fn channels(&self) -> MutexGuard<'_, HashSet<String>> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self) {
        self.has_ended.store(true, Ordering::Release);
        self.bell.notify_one();
    }
}

/// Receives what a master pushes over one connection.
struct Receiver {
    messages: mpsc::Sender<Message>,
    shared: Arc<Shared>,
}

impl Receiver {
    /// Passes a message on. If too many wait, ends, so that subscribers read everything again.
    fn pass(&self, channel: &str, text: &str) {
        if self.messages.try_send((channel.to_owned(), text.to_owned())).is_err() {
            self.shared.end();
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
            // The slot has moved to another master, unless this process has unsubscribed.
            ["sunsubscribe", channel, _] if self.shared.channels().contains(channel) => self.shared.end(),
            _ => {}
        }
    }

    fn pause(&mut self) {}

    fn resume(&mut self) {}
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.shared.end();
    }
}

/// The messages of all masters.
pub(super) struct Messages {
    received: mpsc::Receiver<Message>,
    shared: Arc<Shared>,
}

impl Messages {
    /// Waits for the next message; `None` once a connection has ended.
    pub(super) async fn next(&mut self) -> Option<Message> {
        if self.shared.has_ended.load(Ordering::Acquire) {
            return None;
        }
        tokio::select! {
            message = self.received.recv() => message,
            () = self.shared.bell.notified() => None,
        }
    }
}

/// Subscriptions at all masters.
#[derive(Clone)]
pub(super) struct Subscriptions {
    cluster: Cluster,
    /// The topology that the subscriptions follow.
    topology: Arc<Topology>,
    connections: HashMap<Node, Connection>,
    messages: mpsc::Sender<Message>,
    shared: Arc<Shared>,
}

impl Subscriptions {
    /// Reads the topology, and begins without subscriptions.
    pub(super) async fn open(cluster: &Cluster) -> (Self, Messages) {
        let (sender, receiver) = mpsc::channel(MOST_WAITING);
        let topology = cluster.current_topology().await;
        let (cluster, connections, shared) = (cluster.clone(), HashMap::new(), Arc::<Shared>::default());
        let messages = Messages { received: receiver, shared: Arc::clone(&shared) };
        (Self { cluster, topology, connections, messages: sender, shared }, messages)
    }

    /// Runs a command for each of these channels, at the masters of their slots.
    async fn send(&mut self, command: &str, channels: &[Key<Channel>]) -> Result<(), Error> {
        let mut pipelines: HashMap<Node, Pipeline> = HashMap::new();
        for channel in channels {
            let owner = self.topology.owner(slot(channel.tag())).ok_or_else(Error::no_master)?;
            let mut arguments = Arguments::default();
            arguments.write_arg(command.as_bytes());
            arguments.write_arg(channel.name().as_bytes());
            pipelines.entry(owner.clone()).or_default().push(&arguments, None);
        }
        for (node, mut pipeline) in pipelines {
            // Redis pushes the result of these commands, and replies only to the last one.
            pipeline.push_name("PING");
            let connection = self.connection(&node).await?;
            connection.send(pipeline.into_bytes(), 1).await?.iter().try_for_each(Reply::check)?;
        }
        Ok(())
    }

    async fn connection(&mut self, node: &Node) -> Result<Connection, Error> {
        if let Some(connection) = self.connections.get(node) {
            return Ok(connection.clone());
        }
        let receiver = Receiver { messages: self.messages.clone(), shared: Arc::clone(&self.shared) };
        let connection = self.cluster.listen(node, Box::new(receiver)).await?;
        self.connections.insert(node.clone(), connection.clone());
        Ok(connection)
    }

    /// Subscribes to these channels. Makes one round trip to each of their masters.
    pub(super) async fn subscribe(&mut self, channels: &[Key<Channel>]) -> Result<(), Error> {
        self.shared.channels().extend(channels.iter().map(|channel| channel.name().to_owned()));
        self.send("SSUBSCRIBE", channels).await
    }

    /// Unsubscribes from these channels.
    pub(super) async fn unsubscribe(&mut self, channels: &[Key<Channel>]) -> Result<(), Error> {
        for channel in channels {
            self.shared.channels().remove(channel.name());
        }
        self.send("SUNSUBSCRIBE", channels).await
    }

    /// Checks the connections. Makes one round trip to each master.
    pub(super) async fn ping(&mut self) -> Result<(), Error> {
        for connection in self.connections.values() {
            let ping = Bytes::from_static(b"*1\r\n$4\r\nPING\r\n");
            connection.send(ping, 1).await?.iter().try_for_each(Reply::check)?;
        }
        Ok(())
    }
}
