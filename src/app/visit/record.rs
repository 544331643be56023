//! Counting a user as having come.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::app::App;
use crate::app::error::{Broken, Error};
use crate::app::once::Once;
use crate::model::clock::Day;
use crate::model::id::UserId;
use crate::store::batch::Batch;
use crate::store::key::Layout;
use crate::store::visit;

/// What this process knows of the visits of today.
#[derive(Default)]
pub(in crate::app) struct Visits {
    /// Who has been counted.
    came: Once<UserId>,
    days: Mutex<Known>,
    /// Whether it is told already that visits cannot be counted now.
    is_told: AtomicBool,
}

/// What is known of days.
#[derive(Clone, Copy, Default)]
struct Known {
    /// How one of them is laid out.
    layout: Option<Layout>,
    /// All days before this one are closed.
    open_from: Option<Day>,
}

impl Visits {
    fn known(&self) -> Known {
        *self.days.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, known: Known) {
        *self.days.lock().unwrap_or_else(PoisonError::into_inner) = known;
    }
}

/// What has become of an attempt to count a visit.
enum Recorded {
    /// The user is counted.
    Counted,
    /// The day is closed.
    Closed,
    /// It must be done again, with the day laid out in another way.
    Elsewhere,
}

impl App {
    /// Counts a user as having come on a day, if that can be done now. One round trip, if this process does not
    /// know that it was done; another one when a day is new to it.
    pub(in crate::app) async fn record_visit(&self, user: UserId, day: Day) {
        if self.0.visits.came.is_done(day, &user) {
            return;
        }
        match self.try_to_record_visit(user, day).await {
            Ok(()) => {
                self.0.visits.came.note(day, user);
                self.0.visits.is_told.store(false, Ordering::Relaxed);
            }
            // Told once, for everybody who asks may come to this.
            Err(error) if !self.0.visits.is_told.swap(true, Ordering::Relaxed) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "visits cannot be counted now");
            }
            Err(_) => {}
        }
    }

    async fn try_to_record_visit(&self, user: UserId, day: Day) -> Result<(), Error> {
        const ATTEMPTS: usize = 6;
        for _ in 0..ATTEMPTS {
            let known = self.0.visits.known();
            let day = known.open_from.map_or(day, |open_from| day.max(open_from));
            match known.layout.filter(|layout| layout.day == day) {
                None => {
                    let layout = self.fix_layout(day).await?;
                    self.0.visits.note(Known { layout: Some(layout), ..known });
                }
                Some(layout) => match self.record_on(user, layout).await? {
                    Recorded::Counted => return Ok(()),
                    Recorded::Elsewhere => {}
                    Recorded::Closed => {
                        let open_from = Some(self.first_open_after(day).await?);
                        self.0.visits.note(Known { layout: None, open_from });
                    }
                },
            }
        }
        Err(Broken::GaveUp("counting a visit").into())
    }

    async fn fix_layout(&self, day: Day) -> Result<Layout, Error> {
        let fix = visit::fix_layout(self.keys(), day, self.0.rules.visit.visits_expected);
        Ok(fix.send("visit: layout", self.store()).await?)
    }

    async fn record_on(&self, user: UserId, layout: Layout) -> Result<Recorded, Error> {
        let mut batch = Batch::new("visit: record");
        let recorded = batch.push(visit::record(self.keys(), layout, user));
        // A Redis that has lost its last moments may not know any more what was fixed.
        let fixed =
            batch.push(visit::fix_layout(self.keys(), layout.day, self.0.rules.visit.visits_expected));
        let mut replies = batch.send(self.store()).await?;
        let (recorded, fixed) = (replies.take(recorded)?, replies.take(fixed)?);
        if fixed != layout {
            // What is counted is in another place now: everybody who comes again is counted there.
            self.0.visits.note(Known { layout: Some(fixed), ..self.0.visits.known() });
            self.0.visits.came.forget();
            self.for_shards("visit: abandon", layout, visit::expire).await?;
            return Ok(Recorded::Elsewhere);
        }
        Ok(if recorded { Recorded::Counted } else { Recorded::Closed })
    }

    /// The day on which is counted who comes after a day was closed: the next, or a later one that has begun.
    async fn first_open_after(&self, day: Day) -> Result<Day, Error> {
        let days = visit::days(self.keys()).send("visit: days", self.store()).await?;
        let newest = days.open.last().map(|layout| layout.day);
        Ok(newest.into_iter().chain([day.plus(1)]).max().unwrap_or(day))
    }
}
