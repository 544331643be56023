//! Listening: whoever watches something is woken when it changes, by whichever process it was changed.
//!
//! A process has one connection over which Redis says what changes for the users it listens for. What is said only
//! wakes; who is woken looks for itself, and looks now and then in any case, for what is said may be lost.
//!
//! Signals are taken as fast as they come, so that none waits behind another: an ended session closes its sockets at
//! once. For whom a post matters that is pulled must be asked, which takes a round trip. Their authors wait in a set,
//! and are asked for together.
//!
//! Not here: what is looked at (`app::timeline::live`), or what Redis says (`store::signal`).

use std::collections::{BTreeSet, HashMap, HashSet};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::join;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout, timeout_at};

use crate::app::App;
use crate::app::error::{Broken, Error};
use crate::app::viewer::Viewer;
use crate::model::id::UserId;
use crate::model::relation::Side;
use crate::store::batch::Batch;
use crate::store::relation;
use crate::store::signal::{Dial, Ear, Signal};

/// How long somebody waits to be woken before it looks all the same.
const LOOKED_AFTER: Duration = Duration::from_secs(30);
/// How often it is asked whether the connection is there.
const PINGED: Duration = Duration::from_secs(10);
/// How long Redis may take to do what it is told over it.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long after a connection broke another one is made.
const PAUSE: Duration = Duration::from_millis(500);
/// Most changed relations that wait to be looked at.
const MOST_RELATIONS: usize = 1_000;
/// Most authors with pulled posts that wait until their readers are woken. Beyond, everybody is.
const MOST_PULLED: usize = 10_000;
/// Most authors whose readers are asked for together, and most pairs of author and reader.
const MOST_AUTHORS: usize = 100;
const MOST_PAIRS: usize = 100_000;

/// What has changed for a user since that was last asked.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// When the home timeline has last changed, perhaps.
    pub timeline: Option<Instant>,
    /// Which sessions there are, perhaps.
    pub sessions: bool,
    /// How the user and these stand.
    pub relations: BTreeSet<UserId>,
    /// Whether there may be relations that have changed and are not among them.
    pub has_missed: bool,
}

impl Changes {
    /// Whether nothing has changed.
    fn is_empty(&self) -> bool {
        self.timeline.is_none() && !self.sessions && self.relations.is_empty() && !self.has_missed
    }

    /// What may have changed while nobody listened.
    fn anything() -> Self {
        Self { sessions: true, ..Self::of_timeline(Instant::now()) }
    }

    fn of_timeline(at: Instant) -> Self {
        Self { timeline: Some(at), ..Self::default() }
    }

    fn add(&mut self, other: Self) {
        self.timeline = self.timeline.max(other.timeline);
        self.sessions |= other.sessions;
        self.has_missed |= other.has_missed;
        self.relations.extend(other.relations);
        if self.relations.len() > MOST_RELATIONS {
            self.relations.clear();
            self.has_missed = true;
        }
    }
}

/// Where somebody finds what has changed.
#[derive(Default)]
struct Mailbox {
    changes: Mutex<Changes>,
    bell: Notify,
}

impl Mailbox {
    fn put(&self, changes: Changes) {
        lock(&self.changes).add(changes);
        self.bell.notify_one();
    }
}

/// Everybody who listens in this process.
#[derive(Default)]
pub(super) struct Listeners {
    all: Mutex<Mailboxes>,
    /// Rings when there are users for whom it must be seen to that the process listens, or does no longer.
    bell: Notify,
}

#[derive(Default)]
struct Mailboxes {
    of: HashMap<UserId, Vec<Arc<Mailbox>>>,
    /// Users for whom somebody has begun to listen, or ceased to.
    unsettled: HashSet<UserId>,
}

impl Listeners {
    fn put(&self, user: UserId, changes: &Changes) {
        for mailbox in lock(&self.all).of.get(&user).into_iter().flatten() {
            mailbox.put(changes.clone());
        }
    }

    fn put_all(&self, users: &[UserId], changes: &Changes) {
        for user in users {
            self.put(*user, changes);
        }
    }

    fn users(&self) -> Vec<UserId> {
        lock(&self.all).of.keys().copied().collect()
    }

    /// For whom it must be listened now, and for whom no longer, of those for whom that has changed.
    fn settle(&self) -> (Vec<UserId>, Vec<UserId>) {
        let mut all = lock(&self.all);
        let unsettled = std::mem::take(&mut all.unsettled);
        unsettled.into_iter().partition(|user| all.of.contains_key(user))
    }

    fn change(&self, user: UserId, change: impl FnOnce(&mut Vec<Arc<Mailbox>>)) {
        let mut all = lock(&self.all);
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

/// Somebody who listens for a user, until it is dropped.
pub struct Listener {
    app: App,
    user: UserId,
    mailbox: Arc<Mailbox>,
    /// When it should be looked at in any case, whatever is told meanwhile.
    looked_at: Instant,
}

impl Listener {
    /// Waits until something has changed, or for so long that it should be looked at in any case.
    pub async fn changes(&mut self) -> Changes {
        loop {
            let is_rung = timeout_at(self.looked_at, self.mailbox.bell.notified()).await.is_ok();
            let changes = std::mem::take(&mut *lock(&self.mailbox.changes));
            if !is_rung {
                let due = std::mem::replace(&mut self.looked_at, Instant::now() + LOOKED_AFTER);
                let mut all = Changes { sessions: true, ..Changes::of_timeline(due) };
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
    /// A look has begun at this time: the next is due some time after that. Those who have shared it share the next.
    pub(super) fn look_after(&mut self, began: Instant) {
        self.looked_at = began + LOOKED_AFTER;
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let is_other = |mailbox: &Arc<Mailbox>| !Arc::ptr_eq(mailbox, &self.mailbox);
        self.app.0.listeners.change(self.user, |mailboxes| mailboxes.retain(is_other));
    }
}

impl App {
    /// Listens for the user who asks.
    pub fn listen(&self, viewer: &Viewer) -> Result<Listener, Error> {
        let user = viewer.signed_in()?.user;
        let mailbox = Arc::<Mailbox>::default();
        self.0.listeners.change(user, |mailboxes| mailboxes.push(Arc::clone(&mailbox)));
        Ok(Listener { app: self.clone(), user, mailbox, looked_at: Instant::now() + LOOKED_AFTER })
    }

    /// Wakes those who listen in this process, and knows how far posts have been delivered, until it is dropped.
    pub async fn keep_listening(&self) {
        join(self.keep_hearing(), self.keep_delivered_mark()).await;
    }

    async fn keep_hearing(&self) {
        let mut is_told = false;
        loop {
            let Err(error) = self.listen_once(&mut is_told).await;
            // Timelines are looked at all the same; what else was changed nobody knows.
            let missed = Changes { has_missed: true, ..Changes::default() };
            self.0.listeners.put_all(&self.0.listeners.users(), &missed);
            if !std::mem::replace(&mut is_told, true) {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "it cannot be listened to Redis now: live readers look by themselves");
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn listen_once(&self, is_told: &mut bool) -> Result<Infallible, Error> {
        let ear = timeout(PATIENCE, self.store().listen()).await.map_err(|_| too_slow())??;
        let mut dial = ear.dial();
        let users = self.0.listeners.users();
        tune(dial.listen_for(&users), users.is_empty()).await?;
        // Nobody has listened for a while.
        let missed = Changes { has_missed: *is_told, ..Changes::anything() };
        self.0.listeners.put_all(&users, &missed);
        *is_told = false;
        let pulled = Pulled::default();
        tokio::select! {
            tuned = self.keep_tuning(&mut dial, users.into_iter().collect()) => tuned,
            never = self.keep_waking_readers(&pulled) => match never {},
            () = self.wake(ear, &pulled) => Err(Broken::GaveUp("listening: the connection is gone").into()),
        }
    }

    /// Sees to it that the connection listens for everybody for whom somebody listens here.
    async fn keep_tuning(&self, dial: &mut Dial, mut heard: HashSet<UserId>) -> Result<Infallible, Error> {
        let listeners = &self.0.listeners;
        loop {
            if timeout(PINGED, listeners.bell.notified()).await.is_err() {
                tune(dial.ping(), false).await?;
                continue;
            }
            let (mut wanted, mut unwanted) = listeners.settle();
            wanted.retain(|user| heard.insert(*user));
            unwanted.retain(|user| heard.remove(user));
            tune(dial.listen_for(&wanted), wanted.is_empty()).await?;
            tune(dial.cease_for(&unwanted), unwanted.is_empty()).await?;
            listeners.put_all(&wanted, &Changes::anything());
        }
    }

    /// Passes signals on until the connection is gone. Waits for nothing else.
    async fn wake(&self, mut ear: Ear, pulled: &Pulled) {
        let listeners = &self.0.listeners;
        while let Some(signal) = ear.hear().await {
            let changes = Changes::default();
            match signal {
                Signal::Timeline(user) => listeners.put(user, &Changes::of_timeline(Instant::now())),
                Signal::Sessions(user) => listeners.put(user, &Changes { sessions: true, ..changes }),
                Signal::Relation(user, other) => {
                    listeners.put(user, &Changes { relations: BTreeSet::from([other]), ..changes });
                }
                Signal::Pulled(author) => pulled.put(author),
            }
        }
    }

    /// Wakes the readers of authors whose posts are not brought to them. Spends no more than half of the time asking.
    async fn keep_waking_readers(&self, pulled: &Pulled) -> Infallible {
        loop {
            pulled.bell.notified().await;
            let began = Instant::now();
            let users = self.0.listeners.users();
            let most = (MOST_PAIRS / users.len().max(1)).clamp(1, MOST_AUTHORS);
            let readers = match pulled.take(most) {
                // A spurious wake-up is harmless: the listener finds nothing new.
                None => users,
                Some(authors) => self.those_who_follow(&authors, &users).await.unwrap_or(users),
            };
            self.0.listeners.put_all(&readers, &Changes::of_timeline(Instant::now()));
            tokio::time::sleep(began.elapsed()).await;
        }
    }

    /// Those of these users who follow one of these authors. One round trip.
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

/// Authors with pulled posts whose readers were not woken yet.
#[derive(Default)]
struct Pulled {
    authors: Mutex<HashSet<UserId>>,
    bell: Notify,
}

impl Pulled {
    fn put(&self, author: UserId) {
        let mut authors = lock(&self.authors);
        if authors.len() <= MOST_PULLED {
            authors.insert(author);
        }
        drop(authors);
        self.bell.notify_one();
    }

    /// Takes some of the authors; `None` if there are more than are known.
    fn take(&self, most: usize) -> Option<Vec<UserId>> {
        let mut authors = lock(&self.authors);
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

/// Tells the connection something, unless there is nothing to tell.
async fn tune(
    telling: impl Future<Output = Result<(), crate::store::error::Error>>,
    is_nothing: bool,
) -> Result<(), Error> {
    if is_nothing {
        return Ok(());
    }
    Ok(timeout(PATIENCE, telling).await.map_err(|_| too_slow())??)
}

fn too_slow() -> Error {
    Broken::GaveUp("listening: Redis does not answer").into()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authors_wait_once_each_and_if_they_are_too_many_nobody_is_left_out() {
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
