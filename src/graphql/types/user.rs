//! A user as clients see it.

use std::sync::Arc;

use async_graphql::{Context, ID, Object};

use crate::app::error::{Broken, Error};
use crate::app::region::shares;
use crate::graphql::connection::{self, Paging, UserSelection};
use crate::graphql::context::Scope;
use crate::graphql::cursor::FollowList;
use crate::graphql::id::GlobalId;
use crate::graphql::types::connection::{FollowConnection, PostConnection};
use crate::graphql::types::region::{FollowersByRegion, Region};
use crate::graphql::types::relation::Relation;
use crate::graphql::types::scalar::DateTime;
use crate::model;
use crate::model::id::UserId;
use crate::model::region::Residence;
use crate::model::relation::{ListKind, Side};
use crate::model::user::UserFields;

/// An existing user, with the data that was preloaded. A field whose data is preloaded loads nothing; any other field
/// uses the loader, which batches the loads of all of them.
#[derive(Clone)]
pub(in crate::graphql) struct User {
    scope: Arc<Scope>,
    id: UserId,
    /// The record fields that the selection needs, so that all fields ask the loader the same question.
    asked: UserFields,
    record: Option<Arc<model::user::User>>,
    relation: Option<model::relation::Relation>,
    /// True if the viewer requested this very user, so that showing the profile counts as a view.
    is_looked_at: bool,
}

impl User {
    /// Creates a user from an id alone, with no selected fields.
    pub(in crate::graphql) fn unread(scope: &Arc<Scope>, id: UserId) -> Self {
        let scope = Arc::clone(scope);
        Self { scope, id, asked: UserFields::NONE, record: None, relation: None, is_looked_at: false }
    }

    /// Creates a user from an id and the record fields that the selection needs.
    pub(in crate::graphql) fn asked(scope: &Arc<Scope>, id: UserId, selection: UserSelection) -> Self {
        Self { asked: selection.fields, ..Self::unread(scope, id) }
    }

    /// Creates a user from a record, with the relation to the viewer if it was loaded.
    pub(in crate::graphql) fn loaded(
        scope: &Arc<Scope>,
        record: Arc<model::user::User>,
        relation: Option<model::relation::Relation>,
    ) -> Self {
        let user = Self::unread(scope, record.id);
        Self { record: Some(record), relation, ..user }
    }

    /// Marks the user as requested directly by the viewer.
    pub(in crate::graphql) fn looked_at(self) -> Self {
        Self { is_looked_at: true, ..self }
    }

    /// Returns the relation to the viewer, if it was loaded; `None` for an anonymous viewer and for the viewer
    /// themselves.
    pub(in crate::graphql) fn loaded_relation(&self) -> Option<Relation> {
        self.other_viewer()?;
        Some(Relation::new(self.clone(), self.relation?))
    }

    /// Returns the other end of a relation: the viewer, unless anonymous or this user.
    fn other_viewer(&self) -> Option<UserId> {
        self.scope.viewer_id().filter(|viewer| *viewer != self.id)
    }

    /// Returns the record with at least these fields, for a field that shows the profile.
    async fn record(&self, needed: UserFields) -> Result<Arc<model::user::User>, Error> {
        if self.is_looked_at {
            self.scope.show_profile(self.id);
        }
        if let Some(record) = &self.record
            && record.fields().contains(needed)
        {
            return Ok(Arc::clone(record));
        }
        let record = self.scope.loader.user(self.id, self.asked | needed).await?;
        record.ok_or_else(|| Broken::NoRecord(self.id).into())
    }

    /// Returns a text of the record, for the response.
    fn text(&self, text: Option<&str>) -> Result<String, Error> {
        let text = text.ok_or(Broken::NoRecord(self.id))?;
        Ok(self.scope.text(text)?.to_owned())
    }

    async fn list(
        &self,
        context: &Context<'_>,
        kind: ListKind,
        paging: Paging,
    ) -> Result<FollowConnection, Error> {
        let list = FollowList { kind, owner: self.id };
        connection::load(&self.scope, list, &paging, &context.look_ahead()).await
    }
}

/// A registered user.
#[Object]
impl User {
    /// Globally unique; opaque to clients.
    pub(in crate::graphql) async fn id(&self) -> ID {
        GlobalId::User(self.id).print()
    }

    /// The unique name for signing in: 2 to 30 of a–z, 0–9 and _.
    async fn username(&self) -> Result<String, Error> {
        let record = self.record(UserFields::NONE).await?;
        Ok(self.scope.text(&record.username)?.to_owned())
    }

    /// The display name: 1 to 50 characters of any script.
    async fn display_name(&self) -> Result<String, Error> {
        let record = self.record(UserFields::DISPLAY_NAME).await?;
        self.text(record.display_name.as_deref())
    }

    /// The user's self-description: up to 500 characters; empty if there is none.
    async fn bio(&self) -> Result<String, Error> {
        let record = self.record(UserFields::BIO).await?;
        self.text(record.bio.as_deref())
    }

    /// The time of registration.
    async fn created_at(&self) -> Result<DateTime, Error> {
        let record = self.record(UserFields::CREATED_AT).await?;
        record.created_at.map(DateTime).ok_or_else(|| Broken::NoRecord(self.id).into())
    }

    /// The region in the user's profile; null if they have given none.
    async fn region(&self) -> Option<Result<Region, Error>> {
        let region = async {
            match self.record(UserFields::RESIDENCE).await?.residence {
                Some(Residence(region)) => Ok(region),
                // It could not be read with the rest; this load reports the reason.
                None => Ok(self.scope.loader.regions(Arc::new([self.id])).await?[0]),
            }
        };
        region.await.map(|region| region.map(Region)).transpose()
    }

    /// True if this user is the viewer.
    async fn is_viewer(&self) -> bool {
        self.scope.viewer_id() == Some(self.id)
    }

    /// The relation between the viewer and this user; null for an anonymous request and for the viewer themselves.
    async fn relation(&self) -> Option<Result<Relation, Error>> {
        let viewer = self.other_viewer()?;
        let relation = match self.relation {
            Some(relation) => Ok(relation),
            None => self.scope.loader.relation(viewer, self.id).await,
        };
        Some(relation.map(|relation| Relation::new(self.clone(), relation)))
    }

    /// The users who follow this user, newest follow first.
    async fn followers(
        &self,
        context: &Context<'_>,
        #[graphql(
            desc = "Maximum number of entries, from the start of the list or after `after`. Default 20, limited to 100."
        )]
        first: Option<i32>,
        #[graphql(desc = "A cursor of this list: the page begins after it.")] after: Option<String>,
        #[graphql(
            desc = "Maximum number of entries, from the end of the list or before `before`. Limited to 100."
        )]
        last: Option<i32>,
        #[graphql(desc = "A cursor of this list: the page ends before it.")] before: Option<String>,
    ) -> Result<FollowConnection, Error> {
        self.list(context, ListKind::Followers, Paging { first, after, last, before }).await
    }

    /// The users whom this user follows, newest follow first.
    async fn following(
        &self,
        context: &Context<'_>,
        #[graphql(
            desc = "Maximum number of entries, from the start of the list or after `after`. Default 20, limited to 100."
        )]
        first: Option<i32>,
        #[graphql(desc = "A cursor of this list: the page begins after it.")] after: Option<String>,
        #[graphql(
            desc = "Maximum number of entries, from the end of the list or before `before`. Limited to 100."
        )]
        last: Option<i32>,
        #[graphql(desc = "A cursor of this list: the page ends before it.")] before: Option<String>,
    ) -> Result<FollowConnection, Error> {
        self.list(context, ListKind::Following, Paging { first, after, last, before }).await
    }

    /// The users whom this user follows and who follow back, by the time this user followed them, newest first.
    async fn mutuals(
        &self,
        context: &Context<'_>,
        #[graphql(
            desc = "Maximum number of entries, from the start of the list or after `after`. Default 20, limited to 100."
        )]
        first: Option<i32>,
        #[graphql(desc = "A cursor of this list: the page begins after it.")] after: Option<String>,
        #[graphql(
            desc = "Maximum number of entries, from the end of the list or before `before`. Limited to 100."
        )]
        last: Option<i32>,
        #[graphql(desc = "A cursor of this list: the page ends before it.")] before: Option<String>,
    ) -> Result<FollowConnection, Error> {
        self.list(context, ListKind::Mutuals, Paging { first, after, last, before }).await
    }

    /// The followers of this user whom the viewer follows, by the time they followed this user, newest first; empty for
    /// an anonymous request.
    async fn known_followers(
        &self,
        context: &Context<'_>,
        #[graphql(
            desc = "Maximum number of entries, from the start of the list or after `after`. Default 20, limited to 100."
        )]
        first: Option<i32>,
        #[graphql(desc = "A cursor of this list: the page begins after it.")] after: Option<String>,
        #[graphql(
            desc = "Maximum number of entries, from the end of the list or before `before`. Limited to 100."
        )]
        last: Option<i32>,
        #[graphql(desc = "A cursor of this list: the page ends before it.")] before: Option<String>,
    ) -> Result<FollowConnection, Error> {
        self.list(context, ListKind::KnownFollowers, Paging { first, after, last, before }).await
    }

    /// The distribution of this user's followers over countries; null if it is temporarily unavailable.
    async fn followers_by_region(
        &self,
        #[graphql(desc = "Maximum number of entries. Default 20, limited to 100.", default = 20)]
        first: Option<i32>,
    ) -> Option<Result<FollowersByRegion, Error>> {
        let by_region = async {
            let first = connection::most(first)?;
            let total = self.scope.loader.count(self.id, Side::Followers).await?;
            let followers = self.scope.loader.followers(self.id, total).await?;
            let regions = self.scope.loader.regions(followers).await?;
            let countries = regions.iter().map(|region| region.map(model::region::Region::whole_country));
            Ok(FollowersByRegion::new(shares(countries), first, regions.len(), total))
        };
        Some(by_region.await)
    }

    /// The user's posts, newest first.
    async fn posts(
        &self,
        context: &Context<'_>,
        #[graphql(
            desc = "Maximum number of entries, from the start of the list or after `after`. Default 20, limited to 100."
        )]
        first: Option<i32>,
        #[graphql(desc = "A cursor of this list: the page begins after it.")] after: Option<String>,
        #[graphql(
            desc = "Maximum number of entries, from the end of the list or before `before`. Limited to 100."
        )]
        last: Option<i32>,
        #[graphql(desc = "A cursor of this list: the page ends before it.")] before: Option<String>,
    ) -> Result<PostConnection, Error> {
        let paging = Paging { first, after, last, before };
        connection::load_posts_of(&self.scope, self, self.id, &paging, &context.look_ahead()).await
    }
}
