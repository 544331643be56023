//! Pages with their nodes.
//!
//! A list resolver looks ahead at what its children need and loads that for the whole page: one round trip for the
//! page, one more for all of its users and relations. The nodes carry their data, and their fields load nothing.

use std::sync::Arc;

use crate::app::error::Error;
use crate::model::page::{Direction, Page, Window};

/// A page with its nodes, in list order.
pub(super) struct Filled<E, N> {
    pub(super) entries: Vec<(E, N)>,
    pub(super) has_previous: bool,
    pub(super) has_next: bool,
}

impl<E, N> Filled<E, N> {
    pub(super) fn empty() -> Self {
        Self { entries: Vec::new(), has_previous: false, has_next: false }
    }
}

/// A list that is read page by page, each entry with its node.
pub(super) trait Rows {
    type Entry: Clone;
    type Position: Copy + From<Self::Entry>;
    type Node;

    fn page(
        &self,
        window: Window<Self::Position>,
    ) -> impl Future<Output = Result<Arc<Page<Self::Entry>>, Error>> + Send;

    /// Returns the entries that have a node, with their nodes.
    fn nodes(&self, entries: &Arc<[Self::Entry]>) -> impl Future<Output = Result<Found<Self>, Error>> + Send;
}

/// Entries with their nodes.
pub(super) type Found<R> = Vec<(<R as Rows>::Entry, <R as Rows>::Node)>;

/// Loads a page and its nodes. Entries without a node are left out and replaced by entries from beyond the page, so
/// that a page is short only at the end of its list.
pub(super) async fn fill<R: Rows>(
    rows: &R,
    window: Window<R::Position>,
) -> Result<Filled<R::Entry, R::Node>, Error> {
    let mut last = rows.page(window).await?;
    let mut filled = Filled {
        entries: rows.nodes(&last.entries).await?,
        has_previous: last.has_previous,
        has_next: last.has_next,
    };
    while let Some(beyond) = beyond(&window, &last, filled.entries.len()) {
        last = rows.page(beyond).await?;
        let more = rows.nodes(&last.entries).await?;
        match window.direction {
            Direction::Forward => {
                filled.entries.extend(more);
                filled.has_next = last.has_next;
            }
            Direction::Backward => {
                filled.entries.splice(..0, more);
                filled.has_previous = last.has_previous;
            }
        }
    }
    Ok(filled)
}

/// Returns the window of the entries that replace the missing ones, if there is anything beyond the page.
fn beyond<E: Clone, P: Copy + From<E>>(
    window: &Window<P>,
    page: &Page<E>,
    entries: usize,
) -> Option<Window<P>> {
    let (outermost, more) = match window.direction {
        Direction::Forward => (page.entries.last()?, page.has_next),
        Direction::Backward => (page.entries.first()?, page.has_previous),
    };
    let missing = window.size - entries;
    let from = Some(P::from(outermost.clone()));
    (more && missing > 0).then_some(Window { direction: window.direction, size: missing, from })
}
