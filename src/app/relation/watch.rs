//! Watches a user's relations, and reports each changed one at limited intervals.
//!
//! A change by another user sends an event to the subscriber. So that one user cannot keep a subscriber's clients busy,
//! events about the same other user are [`SPACING`] apart: changes in between are reported as one, once the time has
//! come. Since a change is reported without its content, the subscriber then reads the latest state, and so always ends
//! with the last one. Only events that were sent count: an event that the subscriber may not see neither delays a later
//! event nor is delayed noticeably itself.
//!
//! Changed relations are reported in the order in which they became due, so that users who change theirs all the time
//! do not delay those of others.
//!
//! Not here: reading the relation, and whether the subscriber may see the other user (`app::visibility`).

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::app::App;
use crate::app::error::Error;
use crate::app::live::Listener;
use crate::app::viewer::Viewer;
use crate::model::id::UserId;

/// Minimum interval between two events about the same other user.
const SPACING: Duration = Duration::from_secs(3);
/// Maximum number of users about whom an event was sent within [`SPACING`] that a watch knows. Beyond it, the watch
/// forgets the one of the earliest event.
const MOST_SENT: usize = 1_000;

/// An event about a user's relations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelationEvent {
    /// The relation to this user has changed.
    Changed(UserId),
    /// Any relation may have changed.
    Reset,
}

/// A subscription to changes of a user's relations, which ends when this value is dropped.
pub struct RelationWatch {
    listener: Listener,
    changed: ChangedRelations,
    /// True if changes may have been missed since the last reset was sent.
    has_missed: bool,
}

impl RelationWatch {
    /// Waits until an event is due, and returns it. Several changes of one relation may be reported as one. If changes
    /// may have been missed, the next event is a reset.
    pub async fn next(&mut self) -> RelationEvent {
        loop {
            if std::mem::take(&mut self.has_missed) {
                return RelationEvent::Reset;
            }
            if let Some(other) = self.changed.take(Instant::now()) {
                return RelationEvent::Changed(other);
            }
            let changes = match self.changed.next_due() {
                Some(due) => timeout_at(due, self.listener.changes()).await.ok(),
                None => Some(self.listener.changes().await),
            };
            let Some(changes) = changes else { continue };
            self.has_missed |= changes.has_missed;
            for other in changes.relations {
                self.changed.put(other);
            }
        }
    }

    /// Records that an event is being sent.
    pub fn sent(&mut self, event: RelationEvent) {
        match event {
            RelationEvent::Changed(other) => self.changed.sent(other, Instant::now()),
            RelationEvent::Reset => {}
        }
    }

    /// Returns an event to the watch, because it must wait, and be read again before it is sent.
    pub fn put_back(&mut self, event: RelationEvent) {
        match event {
            RelationEvent::Changed(other) => self.changed.put(other),
            RelationEvent::Reset => self.has_missed = true,
        }
    }
}

impl App {
    /// Subscribes to future changes of the viewer's relations.
    pub fn watch_relations(&self, viewer: &Viewer) -> Result<RelationWatch, Error> {
        let listener = self.listen(viewer)?;
        Ok(RelationWatch { listener, changed: ChangedRelations::default(), has_missed: false })
    }
}

/// The users whose relation to a subscriber has changed, and those about whom an event was sent lately.
#[derive(Default)]
struct ChangedRelations {
    /// Users about whom an event is due, in the order in which it became due.
    due: VecDeque<UserId>,
    /// Times of the events sent within [`SPACING`], earliest first.
    sent: VecDeque<(Instant, UserId)>,
    phases: HashMap<UserId, Phase>,
}

/// What a watch knows of a relation. Without a phase, it has neither changed nor was it sent within [`SPACING`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// An event is due.
    Due,
    /// An event was sent within [`SPACING`].
    Sent,
    /// The same, and the relation has changed since.
    Held,
}

impl ChangedRelations {
    /// Records a change.
    fn put(&mut self, other: UserId) {
        match self.phases.get(&other) {
            None => {
                self.phases.insert(other, Phase::Due);
                self.due.push_back(other);
            }
            Some(Phase::Sent) => drop(self.phases.insert(other, Phase::Held)),
            Some(Phase::Due | Phase::Held) => {}
        }
    }

    /// Removes and returns the next user about whom an event is due.
    fn take(&mut self, now: Instant) -> Option<UserId> {
        while self.next_due().is_some_and(|due| due <= now) {
            self.forget_first();
        }
        let other = self.due.pop_front()?;
        self.phases.remove(&other);
        Some(other)
    }

    /// Records that an event about this user, who was taken before, is being sent.
    fn sent(&mut self, other: UserId, now: Instant) {
        self.phases.insert(other, Phase::Sent);
        self.sent.push_back((now, other));
        if self.sent.len() > MOST_SENT {
            self.forget_first();
        }
    }

    /// Returns the next time at which a relation that has changed may become due.
    fn next_due(&self) -> Option<Instant> {
        self.sent.front().map(|(at, _)| *at + SPACING)
    }

    /// Forgets the earliest event. If the relation has changed since, another one is due.
    fn forget_first(&mut self) {
        let Some((_, other)) = self.sent.pop_front() else { return };
        if self.phases.remove(&other) == Some(Phase::Held) {
            self.put(other);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        /// The relation to a user changes.
        Change(u64),
        /// Time passes, in milliseconds.
        Pass(u64),
        /// The subscriber takes an event: whether the user is visible, and whether the event has to wait for tokens.
        Take { is_visible: bool, waits: bool },
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            3 => (1..6_u64).prop_map(Step::Change),
            2 => (0..2_000_u64).prop_map(Step::Pass),
            3 => (prop::bool::weighted(0.8), prop::bool::weighted(0.2))
                .prop_map(|(is_visible, waits)| Step::Take { is_visible, waits }),
        ];
        proptest::collection::vec(step, 1..80)
    }

    fn user(number: u64) -> UserId {
        UserId::new(number).unwrap()
    }

    /// A model: the number of changes of each relation, and the number of changes that the subscriber has seen.
    #[derive(Default)]
    struct Model {
        changes: BTreeMap<UserId, u64>,
        seen: BTreeMap<UserId, u64>,
        sent_at: BTreeMap<UserId, Instant>,
    }

    impl Model {
        fn unseen(&self) -> Vec<UserId> {
            self.changes
                .iter()
                .filter(|(user, count)| self.seen.get(user) != Some(count))
                .map(|(user, _)| *user)
                .collect()
        }

        fn may_send(&self, user: UserId, now: Instant) -> bool {
            self.sent_at.get(&user).is_none_or(|at| *at + SPACING <= now)
        }

        fn see(&mut self, user: UserId) {
            self.seen.insert(user, self.changes[&user]);
        }
    }

    proptest! {
        #[test]
        fn each_relation_is_sent_at_intervals_and_the_last_state_always(steps in steps()) {
            let (mut changed, mut model) = (ChangedRelations::default(), Model::default());
            let mut now = Instant::now();
            for step in steps {
                match step {
                    Step::Change(number) => {
                        *model.changes.entry(user(number)).or_default() += 1;
                        changed.put(user(number));
                    }
                    Step::Pass(millis) => now += Duration::from_millis(millis),
                    Step::Take { is_visible, waits } => {
                        let taken = changed.take(now);
                        let due: Vec<_> =
                            model.unseen().into_iter().filter(|user| model.may_send(*user, now)).collect();
                        prop_assert_eq!(taken.is_none(), due.is_empty(), "{:?} of {:?}", taken, due);
                        let Some(other) = taken else { continue };
                        prop_assert!(due.contains(&other), "{} of {:?}", other, due);
                        if waits {
                            changed.put(other);
                            continue;
                        }
                        model.see(other);
                        if is_visible {
                            changed.sent(other, now);
                            model.sent_at.insert(other, now);
                        }
                    }
                }
            }
            // Without further changes, every relation is sent once more at most, and the last state of each is seen.
            for _ in 0..2 {
                while let Some(other) = changed.take(now) {
                    prop_assert!(model.unseen().contains(&other) && model.may_send(other, now));
                    model.see(other);
                    changed.sent(other, now);
                    model.sent_at.insert(other, now);
                }
                now += SPACING;
            }
            prop_assert_eq!(model.unseen(), vec![]);
            prop_assert_eq!(changed.take(now), None);
            prop_assert!(changed.phases.is_empty() && changed.sent.is_empty());
        }
    }

    #[test]
    fn a_relation_that_changes_all_the_time_does_not_delay_others() {
        let (mut changed, now) = (ChangedRelations::default(), Instant::now());
        for number in [1, 2, 3] {
            changed.put(user(number));
        }
        for number in [1, 2, 3] {
            assert_eq!(changed.take(now), Some(user(number)));
            // It waits for tokens, behind the others.
            changed.put(user(number));
        }
        assert_eq!(changed.take(now), Some(user(1)));
    }

    #[test]
    fn the_number_of_events_that_a_watch_knows_is_limited() {
        let (mut changed, now) = (ChangedRelations::default(), Instant::now());
        let count = MOST_SENT as u64 + 1;
        for number in 1..=count {
            changed.put(user(number));
            assert_eq!(changed.take(now), Some(user(number)));
            changed.sent(user(number), now);
        }
        assert_eq!((changed.sent.len(), changed.phases.len()), (MOST_SENT, MOST_SENT));
        changed.put(user(1));
        changed.put(user(count));
        assert_eq!((changed.take(now), changed.take(now)), (Some(user(1)), None));
        assert_eq!(changed.take(now + SPACING), Some(user(count)));
    }
}
