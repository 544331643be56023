//! Records visits.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::app::App;
use crate::app::error::{Broken, Error};
use crate::app::once::Once;
use crate::model::clock::Day;
use crate::model::id::UserId;
use crate::store::batch::Batch;
use crate::store::key::Layout;
use crate::store::visit;

/// This process's cache of today's visits.
#[derive(Default)]
pub(in crate::app) struct Visits {
    /// Users already counted today.
    came: Once<UserId>,
    days: Mutex<Known>,
    /// True if the current failure has been logged.
    is_logged: AtomicBool,
}

/// Cached layout and closing state of days.
#[derive(Clone, Copy, Default)]
struct Known {
    /// The layout last read from Redis.
    layout: Option<Layout>,
    /// The first open day. All earlier days are closed.
    open_from: Option<Day>,
}

impl Visits {
    fn known(&self) -> Known {
        *self.days.lock()
    }

    fn note(&self, known: Known) {
        *self.days.lock() = known;
    }
}

/// The outcome of an attempt to record a visit.
enum Recorded {
    /// The user is counted.
    Counted,
    /// The day is closed, so the user is not counted.
    Closed,
    /// The day has a different layout, so the caller must try again.
    Elsewhere,
}

impl App {
    /// Counts a user as a visitor of a day. Logs failures. Makes no round trip on a cache hit; otherwise one,
    /// plus one if the day is new to this process.
    pub(in crate::app) async fn record_visit(&self, user: UserId, day: Day) {
        if self.0.process.visits.came.is_done(day, &user) {
            return;
        }
        match self.try_to_record_visit(user, day).await {
            Ok(()) => {
                self.0.process.visits.came.note(day, user);
                self.0.process.visits.is_logged.store(false, Ordering::Relaxed);
            }
            // Log only the first failure, because every request may fail here.
            Err(error) if !self.0.process.visits.is_logged.swap(true, Ordering::Relaxed) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "visits could not be counted");
            }
            Err(_) => {}
        }
    }

    async fn try_to_record_visit(&self, user: UserId, day: Day) -> Result<(), Error> {
        const ATTEMPTS: usize = 6;
        for _ in 0..ATTEMPTS {
            let known = self.0.process.visits.known();
            let day = known.open_from.map_or(day, |open_from| day.max(open_from));
            match known.layout.filter(|layout| layout.day == day) {
                None => {
                    let layout = self.fix_layout(day).await?;
                    self.0.process.visits.note(Known { layout: Some(layout), ..known });
                }
                Some(layout) => match self.record_on(user, layout).await? {
                    Recorded::Counted => return Ok(()),
                    Recorded::Elsewhere => {}
                    Recorded::Closed => {
                        let open_from = Some(self.first_open_after(day).await?);
                        self.0.process.visits.note(Known { layout: None, open_from });
                    }
                },
            }
        }
        Err(Broken::GaveUp("counting a visit").into())
    }

    async fn fix_layout(&self, day: Day) -> Result<Layout, Error> {
        let fix = visit::fix_layout(self.keys(), day, self.0.rules.visit.visit_expected_visitors);
        Ok(fix.send("visit: layout", self.store()).await?)
    }

    async fn record_on(&self, user: UserId, layout: Layout) -> Result<Recorded, Error> {
        let mut batch = Batch::new("visit: record");
        let recorded = batch.push(visit::record(self.keys(), layout, user));
        // If Redis has lost its latest writes, it may have lost the layout, so fix the layout again.
        let fixed = batch.push(visit::fix_layout(
            self.keys(),
            layout.day,
            self.0.rules.visit.visit_expected_visitors,
        ));
        let mut replies = batch.send(self.store()).await?;
        let (recorded, fixed) = (replies.take(recorded)?, replies.take(fixed)?);
        if fixed != layout {
            // The shards have changed, so returning visitors must be counted again.
            self.0.process.visits.note(Known { layout: Some(fixed), ..self.0.process.visits.known() });
            self.0.process.visits.came.forget();
            self.expire_visits("visit: abandon", layout).await?;
            return Ok(Recorded::Elsewhere);
        }
        Ok(if recorded { Recorded::Counted } else { Recorded::Closed })
    }

    /// Returns the day for which visits count after a day was closed: the next day, or a later day that has
    /// begun.
    async fn first_open_after(&self, day: Day) -> Result<Day, Error> {
        let days = visit::days(self.keys()).send("visit: days", self.store()).await?;
        let newest = days.open.last().map(|layout| layout.day);
        Ok(newest.into_iter().chain([day.plus(1)]).max().unwrap_or(day))
    }
}
