//! Resolvers of the query root.

use std::sync::Arc;

use async_graphql::{Context, ID, Object};
use futures::future::try_join;

use crate::app::error::Error;
use crate::app::visibility::Access;
use crate::graphql::context::Scope;
use crate::graphql::directive::{cost, list_size, names};
use crate::graphql::id::{GlobalId, check_count};
use crate::graphql::paging::page_limit;
use crate::graphql::selection::Selected;
use crate::graphql::types::node::Node;
use crate::graphql::types::post::Post;
use crate::graphql::types::rate_limit::RateLimit;
use crate::graphql::types::region::Country;
use crate::graphql::types::relation::Relation;
use crate::graphql::types::scalar::Date;
use crate::graphql::types::selection::{relation_selection, user_selection};
use crate::graphql::types::user::User;
use crate::graphql::types::user_by::UserBy;
use crate::graphql::types::viewer::Viewer;
use crate::graphql::types::visit::DailyVisits;
use crate::model::id::{PostId, UserId};
use crate::model::user::Username;

/// The root of all queries.
pub(super) struct Query;

/// The root of all queries.
#[Object]
impl Query {
    /// The signed-in user; null for an anonymous request.
    async fn viewer(&self, context: &Context<'_>) -> Option<Viewer> {
        Viewer::of(&Scope::of(context))
    }

    /// The user or post with this id; null if it does not exist or was deleted.
    async fn node(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "The id of a user or a post.")] id: ID,
    ) -> Option<Result<Node, Error>> {
        let node = async {
            let id = node_id("id", &id)?;
            let nodes = load_nodes(&Scope::of(context), &[id], &Selected::of(context)).await?;
            Ok(nodes.into_iter().next().flatten().map(|node| match node {
                Node::User(user) => Node::User(user.viewed()),
                Node::Post(post) => Node::Post(post),
            }))
        };
        node.await.transpose()
    }

    /// The users and posts with these ids, in the order of the ids. An entry is null if its object does not exist or
    /// was deleted. The list is null if temporarily unavailable.
    #[graphql(directive = list_size::apply(Some(1), Some(names(["ids"])), None, Some(false)))]
    async fn nodes(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "The ids of users and posts. Maximum 100.")] ids: Vec<ID>,
    ) -> Option<Result<Vec<Option<Node>>, Error>> {
        let nodes = async {
            check_count("ids", &ids)?;
            let ids: Vec<NodeId> = numbered("ids", &ids, node_id)?;
            load_nodes(&Scope::of(context), &ids, &Selected::of(context)).await
        };
        Some(nodes.await)
    }

    /// A post; null if it does not exist or was deleted.
    async fn post(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "The post's id.")] id: ID,
    ) -> Option<Result<Post, Error>> {
        let post = async {
            let id = GlobalId::post("id", &id)?;
            Post::load_one(&Scope::of(context), id, &Selected::of(context)).await.transpose()
        };
        post.await.transpose()
    }

    /// A user, by id or username; null if they do not exist.
    async fn user(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "The user's id or username.")] by: UserBy,
    ) -> Option<Result<User, Error>> {
        let scope = Scope::of(context);
        let user = async {
            match by {
                UserBy::Id(id) => {
                    let user = GlobalId::user("by.id", &id)?;
                    user_by_id(&scope, user, &Selected::of(context)).await
                }
                UserBy::Username(name) => user_by_name(&scope, &name, &Selected::of(context)).await,
            }
        };
        Some(user.await.transpose()?.map(User::viewed))
    }

    /// All ISO 3166-1 countries and territories, ordered by code.
    #[graphql(directive = list_size::apply(Some(250), None, None, None))]
    async fn countries(&self) -> Vec<Country> {
        Country::all()
    }

    /// The number of unique visitors per day, newest day first, back to the first recorded day; null if temporarily
    /// unavailable.
    #[graphql(
        directive = list_size::apply(Some(7), Some(names(["first"])), None, Some(false)),
        directive = cost::apply("20".to_owned())
    )]
    async fn visits(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Maximum number of days. Default 7; values above 100 count as 100.", default = 7)]
        first: Option<i32>,
        #[graphql(
            desc = "Return only days before this day. If null, return days up to and including today."
        )]
        before: Option<Date>,
    ) -> Option<Result<Vec<DailyVisits>, Error>> {
        let visits = async {
            let first = page_limit(Some(first.unwrap_or(7)));
            let before = before.map(|Date(day)| day);
            let scope = Scope::of(context);
            let visits = scope.app.visits(&scope.loader, first, before).await?;
            Ok(visits.into_iter().map(DailyVisits::from).collect())
        };
        Some(visits.await)
    }

    /// The rate limit of the viewer or, for an anonymous request, of the client's IP address; null if there is no
    /// limit.
    async fn rate_limit(&self, context: &Context<'_>) -> Option<RateLimit> {
        Scope::of(context).rate_limit().map(RateLimit::from)
    }

    /// The relations between the viewer and these users, in the order of the ids. Entries are null for unknown users
    /// and for the viewer themselves; all entries are null for an anonymous request. The list is null if temporarily
    /// unavailable.
    #[graphql(directive = list_size::apply(Some(1), Some(names(["userIds"])), None, Some(false)))]
    async fn relations(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "The ids of the users. Maximum 100.")] user_ids: Vec<ID>,
    ) -> Option<Result<Vec<Option<Relation>>, Error>> {
        let relations = async {
            check_count("userIds", &user_ids)?;
            let ids = numbered("userIds", &user_ids, GlobalId::user)?.into();
            let scope = Scope::of(context);
            if scope.viewer_id().is_none() {
                return Ok(user_ids.iter().map(|_| None).collect());
            }
            let selection = relation_selection(&[Selected::of(context)]);
            let users = User::load_all(&scope, ids, selection, Access::Direct).await?;
            Ok(users.into_iter().map(|user| user?.loaded_relation()).collect())
        };
        Some(relations.await)
    }
}

/// Parses these ids. An error states the index of the invalid id.
fn numbered<T>(
    argument: &str,
    ids: &[ID],
    parse: impl Fn(&str, &ID) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    let parse = |(index, id): (usize, &ID)| parse(&format!("{argument}[{index}]"), id);
    ids.iter().enumerate().map(parse).collect()
}

/// The object that a node id identifies.
#[derive(Clone, Copy)]
enum NodeId {
    User(UserId),
    Post(PostId),
}

fn node_id(argument: &str, id: &ID) -> Result<NodeId, Error> {
    match GlobalId::node(argument, id)? {
        GlobalId::User(user) => Ok(NodeId::User(user)),
        GlobalId::Post(post) => Ok(NodeId::Post(post)),
        other => Err(other.unexpected(argument, "Node")),
    }
}

/// Loads the objects with these ids, in the same order; `None` for an object that does not exist.
async fn load_nodes(
    scope: &Arc<Scope>,
    ids: &[NodeId],
    selection: &Selected<'_>,
) -> Result<Vec<Option<Node>>, Error> {
    let users = ids.iter().filter_map(|id| if let NodeId::User(user) = id { Some(*user) } else { None });
    let posts = ids.iter().filter_map(|id| if let NodeId::Post(post) = id { Some(*post) } else { None });
    let user = user_selection(std::slice::from_ref(selection));
    let users = User::load_all(scope, users.collect(), user, Access::Direct);
    let (users, posts) = try_join(users, Post::load_all(scope, posts, selection)).await?;
    let (mut users, mut posts) = (users.into_iter(), posts.into_iter());
    let node = |id: &NodeId| match id {
        NodeId::User(_) => users.next().flatten().map(Node::User),
        NodeId::Post(_) => posts.next().flatten().map(Node::Post),
    };
    Ok(ids.iter().map(node).collect())
}

/// Loads a user by id. Loads the record immediately, because a missing user must be reported here.
pub(super) async fn user_by_id(
    scope: &Arc<Scope>,
    id: UserId,
    selection: &Selected<'_>,
) -> Result<Option<User>, Error> {
    let selection = user_selection(std::slice::from_ref(selection));
    Ok(User::load_all(scope, Arc::new([id]), selection, Access::Direct).await?.pop().flatten())
}

/// Looks up a user by name. A name always resolves to an existing user, so the fields load the record later, together
/// with the user's lists.
async fn user_by_name(
    scope: &Arc<Scope>,
    name: &str,
    selection: &Selected<'_>,
) -> Result<Option<User>, Error> {
    let Ok(username) = Username::parse(name) else {
        return Ok(None);
    };
    let user = scope.visible().user_by_name(username).await?;
    let selection = user_selection(std::slice::from_ref(selection));
    Ok(user.map(|id| User::asked(scope, id, selection)))
}
