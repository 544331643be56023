//! List pages, loaded together with their nodes.
//!
//! A list resolver looks ahead at the data that its children need and loads it for the whole page. The page takes one
//! round trip; all of its users and relations take a second. The nodes hold this data, so their fields load nothing.

use std::sync::Arc;

use futures::future::try_join;

use crate::app::error::Error;
use crate::model::id::PostId;
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

/// A list that is read page by page, with a node for each entry.
pub(super) trait Rows {
    type Entry: Clone;
    type Position: Copy + From<Self::Entry>;
    type Node;

    fn page(
        &self,
        window: Window<Self::Position>,
    ) -> impl Future<Output = Result<Arc<Page<Self::Entry>>, Error>> + Send;

    /// Returns the entries that have a node, each with its node.
    fn nodes(&self, entries: &Arc<[Self::Entry]>) -> impl Future<Output = Result<Found<Self>, Error>> + Send;
}

/// Entries in list order, each with its node.
pub(super) type Found<R> = Vec<(<R as Rows>::Entry, <R as Rows>::Node)>;

/// Loads a page and its nodes. Entries without a node are omitted and replaced by entries from beyond the page, so a
/// page is shorter than requested only at the end of its list.
pub(super) async fn fill<R: Rows>(
    rows: &R,
    window: Window<R::Position>,
) -> Result<Filled<R::Entry, R::Node>, Error> {
    let page = rows.page(window).await?;
    let found = rows.nodes(&page.entries).await?;
    complete(rows, window, page, found).await
}

/// Loads a page like [`fill`], with flags that do not tell of entries without a node, which the viewer may not see.
pub(super) async fn fill_visible<R: Rows<Position = PostId>>(
    rows: &R,
    window: Window<R::Position>,
) -> Result<Filled<R::Entry, R::Node>, Error> {
    let ahead = fill(rows, Window { size: window.size + 1, ..window });
    let behind = async {
        match window.behind() {
            Some(behind) => Ok(!fill(rows, behind).await?.entries.is_empty()),
            None => Ok(false),
        }
    };
    let (mut filled, has_behind) = try_join(ahead, behind).await?;
    let has_more = filled.entries.len() > window.size;
    match window.direction {
        Direction::Forward => {
            filled.entries.truncate(window.size);
            (filled.has_previous, filled.has_next) = (has_behind, has_more);
        }
        Direction::Backward => {
            filled.entries.drain(..usize::from(has_more));
            (filled.has_previous, filled.has_next) = (has_more, has_behind);
        }
    }
    Ok(filled)
}

/// Replaces the entries that have no node on a page which has been loaded.
pub(super) async fn complete<R: Rows>(
    rows: &R,
    window: Window<R::Position>,
    page: Arc<Page<R::Entry>>,
    found: Found<R>,
) -> Result<Filled<R::Entry, R::Node>, Error> {
    let mut last = page;
    let mut filled = Filled { entries: found, has_previous: last.has_previous, has_next: last.has_next };
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

/// Returns the window from which to replace omitted entries; `None` if the page is full or reaches the end of the list.
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
