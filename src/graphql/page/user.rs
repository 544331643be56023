//! Pages of lists of users.

use std::sync::Arc;

use futures::future::try_join_all;

use crate::app::error::Error;
use crate::app::relation::read::UserList;
use crate::app::visibility::list::OwnList;
use crate::app::visibility::{Access, UserSelection, VisibleUser};
use crate::graphql::context::Scope;
use crate::graphql::page::{Filled, Part, PartOf, Rows, complete};
use crate::model::id::UserId;
use crate::model::page::{Position, Window};
use crate::model::relation::{Follow, Side};

/// A list of users, read page by page.
pub(in crate::graphql) struct Follows<'a> {
    pub(in crate::graphql) scope: &'a Arc<Scope>,
    pub(in crate::graphql) list: UserList,
    /// The user data to load; `None` if no nodes are selected.
    pub(in crate::graphql) selection: Option<UserSelection>,
}

impl Rows for Follows<'_> {
    type Entry = Follow;
    type Position = Position;
    /// `None` if nothing of the users is selected.
    type Node = Option<VisibleUser>;

    /// Omits entries whose user has no record or is hidden from the viewer.
    async fn part(&self, window: Window<Position>) -> Result<PartOf<Self>, Error> {
        let page = self.scope.visible().user_page(self.list, window).await?;
        let users = users(self.scope, &page.page.entries, self.selection).await?;
        let found = page.page.entries.iter().zip(users).filter_map(|(follow, user)| Some((*follow, user?)));
        let found = found.collect();
        Ok(Part::of_users(&window, page, found))
    }
}

/// Loads these windows of stored lists. Makes one round trip for all pages, and one for all users.
pub(in crate::graphql) async fn fill_all(
    scope: &Arc<Scope>,
    side: Side,
    lists: &[UserList],
    windows: &[Window<Position>],
    selection: Option<UserSelection>,
) -> Result<Vec<Filled<Follow, Option<VisibleUser>>>, Error> {
    let rows: Vec<_> = lists.iter().map(|list| Follows { scope, list: *list, selection }).collect();
    let pages = lists.iter().zip(windows).map(|(list, window)| (list.owner, *window));
    let pages = scope.visible().user_pages(side, pages).await?;
    let follows: Arc<[Follow]> = pages.iter().flat_map(|page| page.page.entries.iter().copied()).collect();
    let users = users(scope, &follows, selection).await?;
    let mut users = follows.iter().zip(users);
    let filled = rows.iter().zip(windows).zip(pages).map(|((rows, window), page)| {
        let found = users.by_ref().take(page.page.entries.len());
        let found = found.filter_map(|(follow, user)| Some((*follow, user?))).collect();
        complete(rows, *window, Part::of_users(window, page, found))
    });
    try_join_all(filled.collect::<Vec<_>>()).await
}

/// Loads the users of these follows: `None` for those without a record, or hidden from the viewer. If nothing of them
/// is selected, loads nothing, and returns `Some(None)` for each.
async fn users(
    scope: &Arc<Scope>,
    follows: &[Follow],
    selection: Option<UserSelection>,
) -> Result<Vec<Option<Option<VisibleUser>>>, Error> {
    let Some(selection) = selection else { return Ok(vec![Some(None); follows.len()]) };
    let ids = follows.iter().map(|follow| follow.user).collect();
    let users = scope.visible().users(ids, selection, Access::Listed).await?;
    Ok(users.into_iter().map(|user| user.map(Some)).collect())
}

/// A list of users that only the viewer sees, read page by page.
pub(in crate::graphql) struct Users<'a> {
    pub(in crate::graphql) scope: &'a Arc<Scope>,
    pub(in crate::graphql) list: OwnList,
    pub(in crate::graphql) selection: UserSelection,
}

impl Rows for Users<'_> {
    type Entry = Position;
    type Position = Position;
    type Node = VisibleUser;

    /// Omits entries whose user has no record or is hidden from the viewer.
    async fn part(&self, window: Window<Position>) -> Result<PartOf<Self>, Error> {
        let page = self.scope.visible().own_page(self.list, window).await?;
        let ids: Arc<[UserId]> = page.page.entries.iter().map(|entry| entry.id).collect();
        let users = self.scope.visible().users(ids, self.selection, Access::Direct).await?;
        let found = page.page.entries.iter().zip(users).filter_map(|(entry, user)| Some((*entry, user?)));
        let found = found.collect();
        Ok(Part::of_users(&window, page, found))
    }
}
