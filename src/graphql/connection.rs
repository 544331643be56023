//! Connections: pages of users, loaded whole.
//!
//! A list resolver looks ahead at what its children will need and loads that for the whole page: one
//! round trip for the page, one more for all of its users and relations. The nodes come with their
//! data in them, and their fields ask for nothing.

use std::sync::Arc;

use async_graphql::Lookahead;
use futures::future::try_join;

use crate::app::error::Error;
use crate::app::question::Shared;
use crate::graphql::context::Scope;
use crate::graphql::cursor::{self, List};
use crate::graphql::types::connection::FollowConnection;
use crate::graphql::types::user::User;
use crate::model::id::UserId;
use crate::model::page::{Direction, Page, Position, Window};
use crate::model::relation::{Follow, ListKind, Side};
use crate::model::user::UserFields;

/// Entries of a page if the client does not say.
const DEFAULT_SIZE: usize = 20;
/// Most entries of a page; who asks for more gets these.
const MOST: usize = 100;

/// The four arguments of every connection, as given.
pub(super) struct Paging {
    pub(super) first: Option<i32>,
    pub(super) after: Option<String>,
    pub(super) last: Option<i32>,
    pub(super) before: Option<String>,
}

impl Paging {
    /// The page they ask for in this list.
    pub(super) fn window(&self, list: List) -> Result<Window, Error> {
        let Self { first, after, last, before } = self;
        let backward = last.is_some() || before.is_some();
        if backward && (first.is_some() || after.is_some()) {
            let message =
                "`first` and `after` page forward, `last` and `before` backward: give one of the pairs.";
            return Err(Error::Invalid(message.to_owned()));
        }
        let place = |argument, cursor: &Option<String>| {
            cursor.as_deref().map(|cursor| cursor::parse(argument, list, cursor)).transpose()
        };
        Ok(if backward {
            Window {
                direction: Direction::Backward,
                size: size("last", *last)?,
                from: place("before", before)?,
            }
        } else {
            Window {
                direction: Direction::Forward,
                size: size("first", *first)?,
                from: place("after", after)?,
            }
        })
    }
}

fn size(argument: &str, size: Option<i32>) -> Result<usize, Error> {
    let Some(size) = size else {
        return Ok(DEFAULT_SIZE);
    };
    match usize::try_from(size) {
        Ok(size) => Ok(size.min(MOST)),
        Err(_) => Err(Error::Invalid(format!("`{argument}` must not be negative, but is {size}."))),
    }
}

/// What a selection asks of a user.
#[derive(Clone, Copy)]
pub(super) struct UserSelection {
    /// Of its record.
    pub(super) fields: UserFields,
    /// How it stands to the viewer.
    pub(super) relation: bool,
}

impl UserSelection {
    /// What the selections ask of one user together, also by way of its relation, which leads back
    /// to it. Fields under a condition count: to load them in vain is cheaper than to load them late.
    pub(super) fn of(selections: &[Lookahead<'_>]) -> Self {
        let selects = |name| {
            selections.iter().any(|selection| {
                selection.field(name).exists()
                    || selection.field("relation").field("user").field(name).exists()
            })
        };
        let fields = [
            ("displayName", UserFields::DISPLAY_NAME),
            ("bio", UserFields::BIO),
            ("createdAt", UserFields::CREATED_AT),
        ];
        let fields = fields.into_iter().filter(|(name, _)| selects(name));
        Self {
            fields: fields.fold(UserFields::NONE, |all, (_, field)| all | field),
            relation: selects("relation"),
        }
    }
}

/// A page of one of a user's lists, with what the selection of the connection asks for.
pub(super) async fn load(
    scope: &Arc<Scope>,
    list: List,
    paging: &Paging,
    selection: &Lookahead<'_>,
) -> Result<FollowConnection, Error> {
    let window = paging.window(list)?;
    let (edges, nodes) = (selection.field("edges"), selection.field("nodes"));
    let wants_users = edges.exists() || nodes.exists();
    let user = wants_users.then(|| UserSelection::of(&[edges.field("node"), nodes]));
    let wants_page = wants_users || selection.field("pageInfo").exists();
    let wants_count = selection.field("totalCount").exists();
    let filled =
        async { if wants_page { fill(scope, list, window, user).await } else { Ok(Filled::default()) } };
    // The count goes beside the page, and is remembered by the loader until its field asks.
    let count = async { if wants_count { count(scope, list).await.map(drop) } else { Ok(()) } };
    let (filled, ()) = try_join(filled, count).await?;
    Ok(FollowConnection::new(Arc::clone(scope), list, filled))
}

/// How many entries a list has.
pub(super) async fn count(scope: &Scope, List { kind, owner }: List) -> Result<u64, Error> {
    match (kind, scope.viewer_id()) {
        (ListKind::Followers, _) => scope.loader.count(owner, Side::Followers).await,
        (ListKind::Following, _) => scope.loader.count(owner, Side::Following).await,
        (ListKind::Mutuals, _) => Ok(scope.loader.mutuals(owner).await?.len() as u64),
        (ListKind::KnownFollowers, Some(viewer)) => {
            Ok(scope.loader.known_followers(owner, viewer).await?.len() as u64)
        }
        (ListKind::KnownFollowers, None) => Ok(0),
    }
}

async fn page(scope: &Scope, List { kind, owner }: List, window: Window) -> Result<Arc<Page>, Error> {
    match (kind, scope.viewer_id()) {
        (ListKind::Followers, _) => scope.loader.page(owner, Side::Followers, window).await,
        (ListKind::Following, _) => scope.loader.page(owner, Side::Following, window).await,
        (ListKind::Mutuals, _) => {
            let mutuals = scope.loader.mutuals(owner).await?;
            Ok(Arc::new(Page::of(&mutuals, &window)))
        }
        (ListKind::KnownFollowers, Some(viewer)) => {
            let known = scope.loader.known_followers(owner, viewer).await?;
            Ok(Arc::new(Page::of(&known, &window)))
        }
        (ListKind::KnownFollowers, None) => Ok(Arc::new(Page::of(&[], &window))),
    }
}

/// A page with its users, in list order.
#[derive(Default)]
pub(super) struct Filled {
    pub(super) entries: Vec<(Follow, User)>,
    pub(super) has_previous: bool,
    pub(super) has_next: bool,
}

/// Loads a page and its users. Entries whose user has no record are left out and made up for from
/// what lies beyond, so that a page is short only at the end of its list.
async fn fill(
    scope: &Arc<Scope>,
    list: List,
    window: Window,
    selection: Option<UserSelection>,
) -> Result<Filled, Error> {
    let first = page(scope, list, window).await?;
    let mut filled = Filled {
        entries: users(scope, &first.follows, selection).await?,
        has_previous: first.has_previous,
        has_next: first.has_next,
    };
    let mut page = first;
    while let Some(beyond) = beyond(&window, &page, filled.entries.len()) {
        page = self::page(scope, list, beyond).await?;
        let more = users(scope, &page.follows, selection).await?;
        match window.direction {
            Direction::Forward => {
                filled.entries.extend(more);
                filled.has_next = page.has_next;
            }
            Direction::Backward => {
                filled.entries.splice(..0, more);
                filled.has_previous = page.has_previous;
            }
        }
    }
    Ok(filled)
}

/// The window that makes up for what is missing, if there is anything beyond the page.
fn beyond(window: &Window, page: &Page, entries: usize) -> Option<Window> {
    let (outermost, more) = match window.direction {
        Direction::Forward => (page.follows.last()?, page.has_next),
        Direction::Backward => (page.follows.first()?, page.has_previous),
    };
    let missing = window.size - entries;
    let from = Some(Position::from(*outermost));
    (more && missing > 0).then_some(Window { direction: window.direction, size: missing, from })
}

/// The users of these entries, with what the selection asks of them; without a selection, as they
/// are named. Those who have no record are left out.
async fn users(
    scope: &Arc<Scope>,
    follows: &[Follow],
    selection: Option<UserSelection>,
) -> Result<Vec<(Follow, User)>, Error> {
    let Some(selection) = selection else {
        return Ok(follows.iter().map(|&follow| (follow, User::unread(scope, follow.user))).collect());
    };
    let ids = follows.iter().map(|follow| follow.user).collect();
    let users = load_users(scope, ids, selection).await?;
    Ok(follows.iter().zip(users).filter_map(|(follow, user)| Some((*follow, user?))).collect())
}

/// Each of these users with what the selection asks of them; `None` for those who do not exist. One
/// round trip.
pub(super) async fn load_users(
    scope: &Arc<Scope>,
    ids: Arc<[UserId]>,
    selection: UserSelection,
) -> Result<Vec<Option<User>>, Error> {
    let ids = Shared(ids);
    let relations = async {
        match scope.viewer_id() {
            Some(viewer) if selection.relation => scope.loader.relations(viewer, ids.clone()).await.map(Some),
            _ => Ok(None),
        }
    };
    let (records, relations) = try_join(scope.loader.users(ids.clone(), selection.fields), relations).await?;
    let user = |(index, record): (usize, &Option<_>)| {
        let relation = relations.as_ref().map(|relations| relations[index]);
        Some(User::loaded(scope, Arc::clone(record.as_ref()?), relation))
    };
    Ok(records.iter().enumerate().map(user).collect())
}
