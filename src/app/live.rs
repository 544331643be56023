//! Wakes the subscribers to a user's changes, whichever process makes a change.
//!
//! Each process has one Redis connection, over which it receives signals for the users with a subscriber in
//! the process. A signal only wakes the subscribers, which then read the data themselves. Signals may be
//! lost, so subscribers also poll at a low rate.
//!
//! The process consumes signals as fast as they arrive, so that no signal waits for the work that another
//! causes. The end of a session, for example, closes the session's sockets at once. When an author publishes
//! a post that followers pull (fan-out on read), finding the subscribers who follow the author takes a round
//! trip. The process therefore only adds the author to a set, and looks up the followers in batches of
//! authors.
//!
//! Not here: the data that subscribers read (`app::timeline::live`), and the signals that Redis publishes
//! (`store::signal`).

use std::collections::{BTreeSet, HashMap, HashSet};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout, timeout_at};

use crate::app::App;
use crate::app::error::{Broken, Error};
use crate::app::viewer::Viewer;
use crate::model::id::UserId;
use crate::model::relation::Side;
use crate::store::batch::Batch;
use crate::store::relation;
use crate::store::signal::{Signal, SignalListener, SubscriptionHandle};

/// Polling interval of a subscriber without signals.
const POLL_INTERVAL: Duration = Duration::from_secs(30);
/// Interval between the pings that verify the connection.
const PINGED: Duration = Duration::from_secs(10);
/// Timeout of commands sent over the connection.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Delay before reconnecting.
const PAUSE: Duration = Duration::from_millis(500);
/// Maximum number of changed relations buffered per subscriber. Beyond it, every relation counts as possibly
/// changed.
const MOST_RELATIONS: usize = 1_000;
/// Maximum number of authors whose followers must still be woken to pull a new post. Beyond it, the process
/// wakes all subscribers.
const MOST_PULLED: usize = 10_000;
/// Maximum number of authors per lookup of followers.
const MOST_AUTHORS: usize = 100;
/// Maximum number of pairs of an author and a subscribed user per lookup of followers.
const MOST_PAIRS: usize = 100_000;

/// The changes that affect a user, since the subscriber last took them.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Time of the last possible change to the home timeline; `None` if the timeline has not changed.
    pub timeline: Option<Instant>,
    /// True if the user's sessions may have changed.
    pub sessions: bool,
    /// True if the user's pending recovery may have changed.
    pub recovery: bool,
    /// Users whose relation to this user has changed.
    pub relations: BTreeSet<UserId>,
    /// True if relations to users not in `relations` may have changed as well.
    pub has_missed: bool,
}

impl Changes {
    /// Returns true if nothing has changed.
    fn is_empty(&self) -> bool {
        let Self { timeline, sessions, recovery, relations, has_missed } = self;
        timeline.is_none() && !sessions && !recovery && relations.is_empty() && !has_missed
    }

    /// Returns the changes that a subscriber may have missed before the process subscribed to the user.
    fn anything() -> Self {
        Self::that_polls_find(Instant::now())
    }

    /// Returns the changes of data that subscribers poll, which may have happened by `at`.
    fn that_polls_find(at: Instant) -> Self {
        Self { sessions: true, recovery: true, ..Self::of_timeline(at) }
    }

    fn of_timeline(at: Instant) -> Self {
        Self { timeline: Some(at), ..Self::default() }
    }

    fn add(&mut self, other: Self) {
        self.timeline = self.timeline.max(other.timeline);
        self.sessions |= other.sessions;
        self.recovery |= other.recovery;
        self.has_missed |= other.has_missed;
        self.relations.extend(other.relations);
        if self.relations.len() > MOST_RELATIONS {
            self.relations.clear();
            self.has_missed = true;
        }
    }
}

/// The pending changes of one subscriber.
#[derive(Default)]
struct Mailbox {
    changes: Mutex<Changes>,
    bell: Notify,
}

impl Mailbox {
    fn put(&self, changes: Changes) {
        self.changes.lock().add(changes);
        self.bell.notify_one();
    }
}

/// All subscribers in this process.
#[derive(Default)]
pub(super) struct Listeners {
    all: Mutex<Mailboxes>,
    /// Notification that there are users to subscribe to or unsubscribe from.
    bell: Notify,
}

#[derive(Default)]
struct Mailboxes {
    of: HashMap<UserId, Vec<Arc<Mailbox>>>,
    /// Users who gained or lost a subscriber since the last call of [`Listeners::settle`].
    unsettled: HashSet<UserId>,
}

impl Listeners {
    fn put(&self, user: UserId, changes: &Changes) {
        for mailbox in self.all.lock().of.get(&user).into_iter().flatten() {
            mailbox.put(changes.clone());
        }
    }

    fn put_all(&self, users: &[UserId], changes: &Changes) {
        for user in users {
            self.put(*user, changes);
        }
    }

    fn users(&self) -> Vec<UserId> {
        self.all.lock().of.keys().copied().collect()
    }

    /// Returns the users to subscribe to and the users to unsubscribe from since the last call.
    fn settle(&self) -> (Vec<UserId>, Vec<UserId>) {
        let mut all = self.all.lock();
        let unsettled = std::mem::take(&mut all.unsettled);
        unsettled.into_iter().partition(|user| all.of.contains_key(user))
    }

    fn change(&self, user: UserId, change: impl FnOnce(&mut Vec<Arc<Mailbox>>)) {
        let mut all = self.all.lock();
        let mailboxes = all.of.entry(user).or_default();
        change(mailboxes);
        if mailboxes.is_empty() {
            all.of.remove(&user);
        }
        all.unsettled.insert(user);
        drop(all);
        self.bell.notify_one();
    }
}

/// A subscription to a user's changes, which ends when dropped.
pub struct Listener {
    app: App,
    user: UserId,
    mailbox: Arc<Mailbox>,
    /// Time of the next poll, regardless of signals.
    poll_at: Instant,
}

impl Listener {
    /// Waits for a change or for the next poll.
    pub async fn changes(&mut self) -> Changes {
        loop {
            let is_rung = timeout_at(self.poll_at, self.mailbox.bell.notified()).await.is_ok();
            let changes = std::mem::take(&mut *self.mailbox.changes.lock());
            if !is_rung {
                let due = std::mem::replace(&mut self.poll_at, Instant::now() + POLL_INTERVAL);
                let mut all = Changes::that_polls_find(due);
                all.add(changes);
                return all;
            }
            if !changes.is_empty() {
                return changes;
            }
        }
    }
}

impl Listener {
    /// Schedules the next poll relative to the start of a read, so that subscribers that shared the read also
    /// share the next read.
    pub(super) fn schedule_poll(&mut self, began: Instant) {
        self.poll_at = began + POLL_INTERVAL;
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let is_other = |mailbox: &Arc<Mailbox>| !Arc::ptr_eq(mailbox, &self.mailbox);
        self.app.0.process.listeners.change(self.user, |mailboxes| mailboxes.retain(is_other));
    }
}

impl App {
    /// Subscribes to the viewer's changes.
    pub fn listen(&self, viewer: &Viewer) -> Result<Listener, Error> {
        let user = viewer.signed_in()?.user;
        let mailbox = Arc::<Mailbox>::default();
        self.0.process.listeners.change(user, |mailboxes| mailboxes.push(Arc::clone(&mailbox)));
        Ok(Listener { app: self.clone(), user, mailbox, poll_at: Instant::now() + POLL_INTERVAL })
    }

    /// Wakes subscribers in this process and refreshes the delivered mark, until dropped.
    pub async fn keep_listening(&self) {
        join(self.keep_receiving(), self.keep_delivered_mark()).await;
    }

    async fn keep_receiving(&self) {
        let mut is_lost = false;
        loop {
            let Err(error) = self.listen_once(&mut is_lost).await;
            if !std::mem::replace(&mut is_lost, true) {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "Redis pub/sub connection lost; subscriptions fall back to polling");
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn listen_once(&self, is_lost: &mut bool) -> Result<Infallible, Error> {
        let signals = timeout(TIMEOUT, self.store().listen()).await.map_err(|_| too_slow())??;
        let mut handle = signals.handle();
        let users = self.0.process.listeners.users();
        tune(handle.subscribe_to(&users), users.is_empty()).await?;
        // Signals may have been missed while there was no subscription. Subscribers poll timelines and sessions anyway,
        // but not relations, which they read again now that signals arrive.
        let missed = Changes { has_missed: *is_lost, ..Changes::anything() };
        self.0.process.listeners.put_all(&users, &missed);
        *is_lost = false;
        let pulled = Pulled::default();
        tokio::select! {
            tuned = self.keep_tuning(&mut handle, users.into_iter().collect()) => tuned,
            never = self.keep_notifying_readers(&pulled) => match never {},
            () = self.wake(signals, &pulled) => Err(Broken::GaveUp("pub/sub: connection closed").into()),
        }
    }

    /// Keeps the Redis subscriptions in sync with the subscribers in this process.
    async fn keep_tuning(
        &self,
        handle: &mut SubscriptionHandle,
        mut heard: HashSet<UserId>,
    ) -> Result<Infallible, Error> {
        let listeners = &self.0.process.listeners;
        let mut pings = tokio::time::interval(PINGED);
        let watched = handle.clone();
        // This future lives on from turn to turn, because subscribers come and go more often than it ends.
        let mut lost = std::pin::pin!(watched.lost());
        loop {
            tokio::select! {
                () = &mut lost => {
                    lost.set(watched.lost());
                    let missed = Changes { has_missed: true, ..Changes::anything() };
                    let users = handle.restore().await.unwrap_or_else(|| listeners.users());
                    listeners.put_all(&users, &missed);
                    continue;
                }
                _ = pings.tick() => {
                    tune(handle.ping(), false).await?;
                    continue;
                }
                () = listeners.bell.notified() => {}
            }
            let (mut wanted, mut unwanted) = listeners.settle();
            wanted.retain(|user| heard.insert(*user));
            unwanted.retain(|user| heard.remove(user));
            tune(handle.subscribe_to(&wanted), wanted.is_empty()).await?;
            tune(handle.unsubscribe_from(&unwanted), unwanted.is_empty()).await?;
            listeners.put_all(&wanted, &Changes::anything());
        }
    }

    /// Dispatches signals until the connection closes. Waits for nothing but signals.
    async fn wake(&self, mut signals: SignalListener, pulled: &Pulled) {
        let listeners = &self.0.process.listeners;
        while let Some(signal) = signals.next().await {
            let changes = Changes::default();
            match signal {
                Signal::Timeline(user) => listeners.put(user, &Changes::of_timeline(Instant::now())),
                Signal::Sessions(user) => listeners.put(user, &Changes { sessions: true, ..changes }),
                Signal::Recovery(user) => listeners.put(user, &Changes { recovery: true, ..changes }),
                Signal::Relation(user, other) => {
                    listeners.put(user, &Changes { relations: BTreeSet::from([other]), ..changes });
                }
                Signal::Pulled(author) => pulled.put(author),
            }
        }
    }

    /// Wakes the subscribers who follow an author with a new post that followers pull. Spends at most half of
    /// the time on lookups.
    async fn keep_notifying_readers(&self, pulled: &Pulled) -> Infallible {
        loop {
            pulled.bell.notified().await;
            let began = Instant::now();
            let users = self.0.process.listeners.users();
            let most = (MOST_PAIRS / users.len().max(1)).clamp(1, MOST_AUTHORS);
            let readers = match pulled.take(most) {
                // A spurious wake-up is harmless: the listener finds nothing new.
                None => users,
                Some(authors) => self.those_who_follow(&authors, &users).await.unwrap_or(users),
            };
            self.0.process.listeners.put_all(&readers, &Changes::of_timeline(Instant::now()));
            tokio::time::sleep(began.elapsed()).await;
        }
    }

    /// Returns the users in `users` who follow any of these authors. Makes one round trip.
    async fn those_who_follow(&self, authors: &[UserId], users: &[UserId]) -> Result<Vec<UserId>, Error> {
        let mut batch = Batch::new("live: readers");
        let mut tickets = Vec::new();
        for author in authors {
            for part in users.chunks(relation::PROBE) {
                let times = relation::times(self.keys(), *author, Side::Followers, part);
                tickets.push((part, batch.push(times)));
            }
        }
        let mut replies = batch.send(self.store()).await?;
        let mut readers = HashSet::new();
        for (part, ticket) in tickets {
            let times = replies.take(ticket)?;
            let follows = part.iter().zip(times).filter(|(_, time)| time.is_some());
            readers.extend(follows.map(|(user, _)| *user));
        }
        Ok(readers.into_iter().collect())
    }
}

/// The set of authors whose followers must be woken to pull a new post.
#[derive(Default)]
struct Pulled {
    authors: Mutex<HashSet<UserId>>,
    bell: Notify,
}

impl Pulled {
    fn put(&self, author: UserId) {
        let mut authors = self.authors.lock();
        if authors.len() <= MOST_PULLED {
            authors.insert(author);
        }
        drop(authors);
        self.bell.notify_one();
    }

    /// Removes and returns up to `most` authors; returns `None` if the set has overflowed.
    fn take(&self, most: usize) -> Option<Vec<UserId>> {
        let mut authors = self.authors.lock();
        if authors.len() > MOST_PULLED {
            authors.clear();
            return None;
        }
        let taken: Vec<UserId> = authors.iter().copied().take(most).collect();
        for author in &taken {
            authors.remove(author);
        }
        if !authors.is_empty() {
            self.bell.notify_one();
        }
        Some(taken)
    }
}

/// Runs a pub/sub command, which fails after [`TIMEOUT`]. Does nothing if `is_nothing`.
async fn tune(
    telling: impl Future<Output = Result<(), crate::store::error::Error>>,
    is_nothing: bool,
) -> Result<(), Error> {
    if is_nothing {
        return Ok(());
    }
    Ok(timeout(TIMEOUT, telling).await.map_err(|_| too_slow())??)
}

fn too_slow() -> Error {
    Broken::GaveUp("pub/sub: Redis does not respond").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authors_wait_once_each_and_too_many_are_replaced_by_all() {
        let author = |number: usize| UserId::new(number as u64).unwrap();
        let pulled = Pulled::default();
        for number in (1..=MOST_PULLED).chain(1..=MOST_PULLED) {
            pulled.put(author(number));
        }
        let mut taken = HashSet::new();
        for _ in 0..MOST_PULLED / MOST_AUTHORS {
            taken.extend(pulled.take(MOST_AUTHORS).unwrap());
        }
        assert_eq!(taken.len(), MOST_PULLED);
        assert_eq!(pulled.take(MOST_AUTHORS), Some(vec![]));
        for number in 1..=MOST_PULLED + 1 {
            pulled.put(author(number));
        }
        assert_eq!(pulled.take(MOST_AUTHORS), None);
        assert_eq!(pulled.take(MOST_AUTHORS), Some(vec![]));
    }
}
