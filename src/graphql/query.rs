//! What can be asked.

use std::sync::Arc;

use async_graphql::{Context, ID, Lookahead, Object, OneofObject};

use crate::app::error::Error;
use crate::graphql::connection::{UserSelection, load_users};
use crate::graphql::context::Scope;
use crate::graphql::id::{GlobalId, check_count};
use crate::graphql::types::node::Node;
use crate::graphql::types::relation::Relation;
use crate::graphql::types::user::User;
use crate::graphql::types::viewer::Viewer;
use crate::model::id::UserId;
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
            let user = node_user("id", &id)?;
            user_by_id(&Scope::of(context), user, &context.look_ahead()).await
        };
        node.await.map(|user| user.map(Node::User)).transpose()
    }

    /// The things that have these ids, in their order; null where there is no such thing.
    async fn nodes(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Ids that this server has given. At most 100.")] ids: Vec<ID>,
    ) -> Result<Vec<Option<Node>>, Error> {
        check_count("ids", &ids)?;
        let ids = ids.iter().map(|id| node_user("ids", id)).collect::<Result<_, _>>()?;
        let selection = UserSelection::of(&[context.look_ahead()]);
        let users = load_users(&Scope::of(context), ids, selection).await?;
        Ok(users.into_iter().map(|user| user.map(Node::User)).collect())
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
        user.await.transpose()
    }

    /// How the viewer and each of these users stand, in the order of the ids; null for unknown users,
    /// for the viewer itself and for an anonymous request.
    async fn relations(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Ids of users. At most 100.")] user_ids: Vec<ID>,
    ) -> Result<Vec<Option<Relation>>, Error> {
        check_count("userIds", &user_ids)?;
        let ids = user_ids.iter().map(|id| GlobalId::user("userIds", id)).collect::<Result<_, _>>()?;
        let scope = Scope::of(context);
        if scope.viewer_id().is_none() {
            return Ok(user_ids.iter().map(|_| None).collect());
        }
        let selection = UserSelection::of(&[context.look_ahead().field("user")]);
        let users = load_users(&scope, ids, UserSelection { relation: true, ..selection }).await?;
        Ok(users.into_iter().map(|user| user?.loaded_relation()).collect())
    }
}

/// The user that the id of a node names.
fn node_user(argument: &str, id: &ID) -> Result<UserId, Error> {
    match GlobalId::parse(argument, id)? {
        GlobalId::User(user) => Ok(user),
        other @ GlobalId::Session(_) => Err(other.unexpected(argument, "Node")),
    }
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
