//! What can be asked.

use std::sync::Arc;

use async_graphql::{Context, ID, Lookahead, Object, OneofObject};
use futures::future::try_join;

use crate::app::error::Error;
use crate::graphql::connection::{UserSelection, load_posts, load_users, most};
use crate::graphql::context::Scope;
use crate::graphql::id::{GlobalId, check_count};
use crate::graphql::types::node::Node;
use crate::graphql::types::post::Post;
use crate::graphql::types::rate_limit::RateLimit;
use crate::graphql::types::region::Country;
use crate::graphql::types::relation::Relation;
use crate::graphql::types::scalar::Date;
use crate::graphql::types::user::User;
use crate::graphql::types::viewer::Viewer;
use crate::graphql::types::visit::DailyVisits;
use crate::model::id::{PostId, UserId};
use crate::model::user::Username;

/// The root of all queries.
pub(super) struct Query;

/// How a user is looked up: give exactly one.
#[derive(OneofObject)]
pub(super) enum UserBy {
    /// The user's id.
    Id(ID),
    /// The user's name, in any case.
    Username(String),
}

/// What can be asked.
#[Object]
impl Query {
    /// The person asking; null for an anonymous request.
    async fn viewer(&self, context: &Context<'_>) -> Option<Viewer> {
        Viewer::of(&Scope::of(context))
    }

    /// The thing that has this id; null if there is no such thing.
    async fn node(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "An id that this server has given.")] id: ID,
    ) -> Option<Result<Node, Error>> {
        let node = async {
            let id = node_id("id", &id)?;
            let nodes = load_nodes(&Scope::of(context), &[id], &context.look_ahead()).await?;
            Ok(nodes.into_iter().next().flatten().map(|node| match node {
                Node::User(user) => Node::User(user.looked_at()),
                Node::Post(post) => Node::Post(post),
            }))
        };
        node.await.transpose()
    }

    /// The things that have these ids, in their order; null where there is no such thing.
    async fn nodes(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Ids that this server has given. At most 100.")] ids: Vec<ID>,
    ) -> Result<Vec<Option<Node>>, Error> {
        check_count("ids", &ids)?;
        let ids: Vec<NodeId> = numbered("ids", &ids, node_id)?;
        load_nodes(&Scope::of(context), &ids, &context.look_ahead()).await
    }

    /// A post; null if there is no such post, or none any more.
    async fn post(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Which one.")] id: ID,
    ) -> Option<Result<Post, Error>> {
        let post = async {
            let id = GlobalId::post("id", &id)?;
            let posts = load_posts(&Scope::of(context), Arc::new([id]), &context.look_ahead()).await?;
            Ok(posts.into_iter().next().flatten())
        };
        post.await.transpose()
    }

    /// A user; null if there is no such user.
    async fn user(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Which one.")] by: UserBy,
    ) -> Option<Result<User, Error>> {
        let scope = Scope::of(context);
        let user = async {
            match by {
                UserBy::Id(id) => {
                    let user = GlobalId::user("by.id", &id)?;
                    user_by_id(&scope, user, &context.look_ahead()).await
                }
                UserBy::Username(name) => user_by_name(&scope, &name, &context.look_ahead()).await,
            }
        };
        Some(user.await.transpose()?.map(User::looked_at))
    }

    /// All countries and territories of ISO 3166-1, by code.
    async fn countries(&self) -> Vec<Country> {
        Country::all()
    }

    /// How many users came each day, newest first, from the day on which the first one was counted; null if that
    /// cannot be read now.
    async fn visits(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "At most this many days. Default 7, at most 100.", default = 7)] first: Option<i32>,
        #[graphql(desc = "The days before this one; up to today if not given.")] before: Option<Date>,
    ) -> Option<Result<Vec<DailyVisits>, Error>> {
        let visits = async {
            let first = most(Some(first.unwrap_or(7)))?;
            let before = before.map(|Date(day)| day);
            let scope = Scope::of(context);
            let visits = scope.loader.visits(scope.app.today(), first, before).await?;
            Ok(visits.into_iter().map(DailyVisits::from).collect())
        };
        Some(visits.await)
    }

    /// What the viewer, or an anonymous request's address, may still ask for; null if that is not limited.
    async fn rate_limit(&self, context: &Context<'_>) -> Option<RateLimit> {
        Scope::of(context).rate_limit().map(RateLimit::from)
    }

    /// How the viewer and each of these users stand, in the order of the ids; null for unknown users,
    /// for the viewer itself and for an anonymous request.
    async fn relations(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Ids of users. At most 100.")] user_ids: Vec<ID>,
    ) -> Result<Vec<Option<Relation>>, Error> {
        check_count("userIds", &user_ids)?;
        let ids = numbered("userIds", &user_ids, GlobalId::user)?.into();
        let scope = Scope::of(context);
        if scope.viewer_id().is_none() {
            return Ok(user_ids.iter().map(|_| None).collect());
        }
        let selection = UserSelection::of(&[context.look_ahead().field("user")]);
        let users = load_users(&scope, ids, UserSelection { relation: true, ..selection }).await?;
        Ok(users.into_iter().map(|user| user?.loaded_relation()).collect())
    }
}

/// What each of these ids names; an error tells which of them is wrong.
fn numbered<T>(
    argument: &str,
    ids: &[ID],
    parse: impl Fn(&str, &ID) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    let parse = |(index, id): (usize, &ID)| parse(&format!("{argument}[{index}]"), id);
    ids.iter().enumerate().map(parse).collect()
}

/// What the id of a node names.
#[derive(Clone, Copy)]
enum NodeId {
    User(UserId),
    Post(PostId),
}

fn node_id(argument: &str, id: &ID) -> Result<NodeId, Error> {
    match GlobalId::node(argument, id)? {
        GlobalId::User(user) => Ok(NodeId::User(user)),
        GlobalId::Post(post) => Ok(NodeId::Post(post)),
        other @ GlobalId::Session(_) => Err(other.unexpected(argument, "Node")),
    }
}

/// The things that have these ids, in their order; `None` where there is no such thing.
async fn load_nodes(
    scope: &Arc<Scope>,
    ids: &[NodeId],
    selection: &Lookahead<'_>,
) -> Result<Vec<Option<Node>>, Error> {
    let users = ids.iter().filter_map(|id| if let NodeId::User(user) = id { Some(*user) } else { None });
    let posts = ids.iter().filter_map(|id| if let NodeId::Post(post) = id { Some(*post) } else { None });
    let user = UserSelection::of(std::slice::from_ref(selection));
    let users = load_users(scope, users.collect(), user);
    let (users, posts) = try_join(users, load_posts(scope, posts.collect(), selection)).await?;
    let (mut users, mut posts) = (users.into_iter(), posts.into_iter());
    let node = |id: &NodeId| match id {
        NodeId::User(_) => users.next().flatten().map(Node::User),
        NodeId::Post(_) => posts.next().flatten().map(Node::Post),
    };
    Ok(ids.iter().map(node).collect())
}

/// A user by its id. The record is loaded at once, because its absence must be told here.
pub(super) async fn user_by_id(
    scope: &Arc<Scope>,
    id: UserId,
    selection: &Lookahead<'_>,
) -> Result<Option<User>, Error> {
    let selection = UserSelection::of(std::slice::from_ref(selection));
    Ok(load_users(scope, Arc::new([id]), selection).await?.pop().flatten())
}

/// A user by its name. A name leads to a user who exists, so the record is left to the fields, which
/// load it together with the user's lists.
async fn user_by_name(
    scope: &Arc<Scope>,
    name: &str,
    selection: &Lookahead<'_>,
) -> Result<Option<User>, Error> {
    let Ok(username) = Username::parse(name) else {
        return Ok(None);
    };
    let user = scope.loader.named(username).await?;
    let selection = UserSelection::of(std::slice::from_ref(selection));
    Ok(user.map(|id| User::asked(scope, id, selection)))
}
