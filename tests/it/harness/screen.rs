//! A client that reads its home timeline, watches it, disconnects and resumes, with what it shows.

use std::sync::Mutex;

use fanfold::app::App;
use fanfold::app::error::{Error, Rejection};
use fanfold::app::timeline::entry::{Removal, Replies, TimelineEntry};
use fanfold::app::timeline::live::{TimelineEvent, TimelineWatch};
use fanfold::app::timeline::seen::Seen;
use fanfold::app::timeline::{TimelinePage, TimelineQuery};
use fanfold::app::viewer::Viewer;
use fanfold::model::page::{Direction, Window};
use fanfold::model::reaction::ReactionSelection;
use fanfold::model::user::UserFields;

use crate::harness::stage::Results;

/// Posts of a page.
const PAGE: usize = 2;
/// Maximum number of resyncs before a client can resume, while nothing else happens.
const MOST_RESYNCS: usize = 10;

/// The screen of a client.
#[derive(Clone, Debug, Default)]
pub(crate) struct Screen {
    /// The entries, unordered: each with the post that it shows.
    pub(crate) entries: Vec<(u64, u64)>,
    /// The position to resume after; `None` before the first event, if the timeline was empty at the start.
    seen: Option<Seen>,
    /// Entries that were read beside the page whose cursor it resumes after, and may arrive once more.
    read_since: Vec<u64>,
    /// Number of resyncs.
    pub(crate) resyncs: usize,
}

impl Screen {
    /// Shows an event. A reset clears the screen.
    fn show(&mut self, (event, seen): (TimelineEvent, Seen), wrong: &mut Vec<String>) {
        match event {
            TimelineEvent::Added(entry) => {
                let (id, post) = (entry.id.get(), entry.post.id.get());
                if !self.entries.iter().any(|(shown, _)| *shown == id) {
                    self.entries.push((id, post));
                } else if self.read_since.contains(&id) {
                    self.read_since.retain(|read| *read != id);
                } else {
                    wrong.push(format!("{id} arrived twice: {self:?}"));
                }
            }
            TimelineEvent::Removed(Removal { id, undone_by: Some(_), .. }) => {
                self.entries.retain(|(shown, _)| *shown != id.get());
            }
            TimelineEvent::Removed(Removal { post, .. }) => {
                self.entries.retain(|(_, shown)| *shown != post.get());
            }
            TimelineEvent::Reset => *self = Self { resyncs: self.resyncs, ..Self::default() },
        }
        self.seen = Some(seen);
    }
}

/// Returns the ids of the posts and reposts of an entry, each with that of the post that it shows.
fn ids(entry: &TimelineEntry) -> impl Iterator<Item = (u64, u64)> {
    entry.ids().map(|id| (id.get(), entry.post.id.get()))
}

/// Watches after the last event seen, until no more events arrive, or the same client watches anew.
pub(crate) async fn watch(app: &App, viewer: &Viewer, user: u64, results: &Mutex<Results>) {
    let turn = {
        let turns = &mut results.lock().unwrap().turns;
        *turns.entry(user).and_modify(|turn| *turn += 1).or_insert(0)
    };
    let is_mine = |results: &Results| results.turns[&user] == turn;
    for _ in 0..MOST_RESYNCS {
        let screen = results.lock().unwrap().screens.get(&user).cloned();
        let watching = match screen {
            Some(Screen { seen: Some(seen), .. }) => begin_at(app, viewer, Some(seen)).await,
            not_begun => {
                let resyncs = not_begun.map_or(0, |screen| screen.resyncs);
                let begun = begin(app, viewer).await;
                begun.map(|(watching, screen)| {
                    let results = &mut *results.lock().unwrap();
                    if is_mine(results) {
                        results.screens.insert(user, Screen { resyncs, ..screen });
                    }
                    watching
                })
            }
        };
        let Some(mut watching) = watching else { return };
        loop {
            let next = watching.next_by_now().await;
            // The same watch goes on after a reset, while the timeline is read again.
            let read = match next {
                Ok(Some((TimelineEvent::Reset, _))) => read_again(app, viewer).await,
                _ => Some(Vec::new()),
            };
            let results = &mut *results.lock().unwrap();
            if !is_mine(results) {
                return;
            }
            let screen = results.screens.get_mut(&user).unwrap();
            match next {
                Ok(Some(next)) => {
                    let is_reset = matches!(next.0, TimelineEvent::Reset);
                    screen.show(next, &mut results.wrong);
                    let Some(read) = read else {
                        *screen = Screen { resyncs: screen.resyncs, ..Screen::default() };
                        return;
                    };
                    if is_reset {
                        screen.read_since = read.iter().map(|(id, _)| *id).collect();
                        screen.entries = read;
                    }
                }
                Err(Error::Rejected(Rejection::Resync)) => {
                    *screen = Screen { resyncs: screen.resyncs + 1, ..Screen::default() };
                    break;
                }
                Ok(None) | Err(_) => return,
            }
        }
    }
    results.lock().unwrap().wrong.push(format!("{user} resyncs again and again"));
}

async fn begin_at(app: &App, viewer: &Viewer, after: Option<Seen>) -> Option<TimelineWatch> {
    app.watch_timeline(viewer, after, UserFields::NONE, Replies::default()).await.ok()
}

fn first_page() -> TimelineQuery {
    let window = Window { direction: Direction::Forward, size: PAGE, from: None };
    TimelineQuery {
        window,
        author: UserFields::NONE,
        reactions: ReactionSelection::NONE,
        replies: Replies::default(),
        looks_back: false,
    }
}

/// Reads the timeline and begins to watch from its first entry; if there is none, begins to watch before it is read.
async fn begin(app: &App, viewer: &Viewer) -> Option<(TimelineWatch, Screen)> {
    let query = first_page();
    let window = query.window;
    let first: TimelinePage = app.timeline(viewer, query).await.ok()?;
    if first.page.entries.is_empty() {
        let watching = begin_at(app, viewer, None).await?;
        let entries = read_from(app, viewer, query).await?;
        let read_since = entries.iter().map(|(id, _)| *id).collect();
        return Some((watching, Screen { entries, read_since, ..Screen::default() }));
    }
    let mut entries: Vec<(u64, u64)> = first.page.entries.iter().flat_map(ids).collect();
    let from = first.page.entries.last().map(|entry| entry.id);
    let rest = read_from(app, viewer, TimelineQuery { window: Window { from, ..window }, ..query }).await?;
    let read_since = rest.iter().map(|(id, _)| *id).collect();
    entries.extend(rest);
    let entries = distinct(entries);
    let seen = Some(first.seen_from(0));
    let watching = begin_at(app, viewer, seen.clone()).await?;
    Some((watching, Screen { entries, seen, read_since, ..Screen::default() }))
}

/// Removes reposts that are read twice, because they are older than an entry on an earlier page that shows the same post.
fn distinct(mut entries: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    entries.sort_unstable();
    entries.dedup();
    entries
}

/// Reads a timeline from the beginning, as a new request does, which knows the viewer's latest mutes.
async fn read_again(app: &App, viewer: &Viewer) -> Option<Vec<(u64, u64)>> {
    app.refresh_exclusions(viewer).await.ok()?;
    read_from(app, viewer, first_page()).await
}

/// Reads a timeline page by page, from this page on.
async fn read_from(app: &App, viewer: &Viewer, query: TimelineQuery) -> Option<Vec<(u64, u64)>> {
    let mut read = Vec::new();
    let mut query = query;
    loop {
        let page = app.timeline(viewer, query).await.ok()?.page;
        read.extend(page.entries.iter().flat_map(ids));
        let Some(last) = page.entries.last() else { return Some(distinct(read)) };
        query.window.from = Some(last.id);
    }
}
