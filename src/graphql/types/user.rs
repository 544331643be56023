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

/// A user who exists, with as much of it as was loaded together with others. A field that finds its
/// data here asks for nothing; otherwise it asks the loader, which asks for all of them at once.
#[derive(Clone)]
pub(in crate::graphql) struct User {
    scope: Arc<Scope>,
    id: UserId,
    /// What its fields will ask for, so that they ask one and the same question.
    asked: UserFields,
    record: Option<Arc<model::user::User>>,
    relation: Option<model::relation::Relation>,
    /// Whether the viewer has asked for this very user, so that what its profile shows is a look at it.
    is_looked_at: bool,
}

impl User {
    /// A user of whom only the id is known, and nothing asked.
    pub(in crate::graphql) fn unread(scope: &Arc<Scope>, id: UserId) -> Self {
        let scope = Arc::clone(scope);
        Self { scope, id, asked: UserFields::NONE, record: None, relation: None, is_looked_at: false }
    }

    /// A user of whom only the id is known, and what will be asked.
    pub(in crate::graphql) fn asked(scope: &Arc<Scope>, id: UserId, selection: UserSelection) -> Self {
        Self { asked: selection.fields, ..Self::unread(scope, id) }
    }

    /// A user with its record, and how the viewer and it stand if that was asked.
    pub(in crate::graphql) fn loaded(
        scope: &Arc<Scope>,
        record: Arc<model::user::User>,
        relation: Option<model::relation::Relation>,
    ) -> Self {
        let user = Self::unread(scope, record.id);
        Self { record: Some(record), relation, ..user }
    }

    /// The same user, whom the viewer has asked for by itself.
    pub(in crate::graphql) fn looked_at(self) -> Self {
        Self { is_looked_at: true, ..self }
    }

    /// How the viewer and the user stand, if that was loaded; `None` also for an anonymous viewer and
    /// for the viewer itself.
    pub(in crate::graphql) fn loaded_relation(&self) -> Option<Relation> {
        self.other_viewer()?;
        Some(Relation::new(self.clone(), self.relation?))
    }

    /// The viewer, if there is one and it is not this user: with whom a relation is.
    fn other_viewer(&self) -> Option<UserId> {
        self.scope.viewer_id().filter(|viewer| *viewer != self.id)
    }

    /// The record with at least these fields, for a field that the profile shows.
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

    /// A text of the record, as it goes into the response.
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

/// Somebody with an account.
#[Object]
impl User {
    /// Globally unique; opaque to clients.
    pub(in crate::graphql) async fn id(&self) -> ID {
        GlobalId::User(self.id).print()
    }

    /// The name the user signs in with: 2 to 30 of a–z, 0–9 and _. Unique.
    async fn username(&self) -> Result<String, Error> {
        let record = self.record(UserFields::NONE).await?;
        Ok(self.scope.text(&record.username)?.to_owned())
    }

    /// The name shown to people: 1 to 50 characters of any script.
    async fn display_name(&self) -> Result<String, Error> {
        let record = self.record(UserFields::DISPLAY_NAME).await?;
        self.text(record.display_name.as_deref())
    }

    /// What the user says of itself: up to 500 characters; empty if it says nothing.
    async fn bio(&self) -> Result<String, Error> {
        let record = self.record(UserFields::BIO).await?;
        self.text(record.bio.as_deref())
    }

    /// When the account was made.
    async fn created_at(&self) -> Result<DateTime, Error> {
        let record = self.record(UserFields::CREATED_AT).await?;
        record.created_at.map(DateTime).ok_or_else(|| Broken::NoRecord(self.id).into())
    }

    /// Where the user says that it is; null if it does not.
    async fn region(&self) -> Option<Result<Region, Error>> {
        let region = async {
            match self.record(UserFields::RESIDENCE).await?.residence {
                Some(Residence(region)) => Ok(region),
                // It could not be read with the rest. It is told here why not.
                None => Ok(self.scope.loader.regions(Arc::new([self.id])).await?[0]),
            }
        };
        region.await.map(|region| region.map(Region)).transpose()
    }

    /// Whether this is the person asking.
    async fn is_viewer(&self) -> bool {
        self.scope.viewer_id() == Some(self.id)
    }

    /// How the viewer and this user stand; null for an anonymous request and for the viewer itself.
    async fn relation(&self) -> Option<Result<Relation, Error>> {
        let viewer = self.other_viewer()?;
        let relation = match self.relation {
            Some(relation) => Ok(relation),
            None => self.scope.loader.relation(viewer, self.id).await,
        };
        Some(relation.map(|relation| Relation::new(self.clone(), relation)))
    }

    /// Who follows this user, newest follow first.
    async fn followers(
        &self,
        context: &Context<'_>,
        #[graphql(
            desc = "At most this many, from the start of the list or after `after`. Default 20, at most 100."
        )]
        first: Option<i32>,
        #[graphql(desc = "A cursor of this list: the page begins after it.")] after: Option<String>,
        #[graphql(desc = "At most this many, from the end of the list or before `before`. At most 100.")]
        last: Option<i32>,
        #[graphql(desc = "A cursor of this list: the page ends before it.")] before: Option<String>,
    ) -> Result<FollowConnection, Error> {
        self.list(context, ListKind::Followers, Paging { first, after, last, before }).await
    }

    /// Whom this user follows, newest follow first.
    async fn following(
        &self,
        context: &Context<'_>,
        #[graphql(
            desc = "At most this many, from the start of the list or after `after`. Default 20, at most 100."
        )]
        first: Option<i32>,
        #[graphql(desc = "A cursor of this list: the page begins after it.")] after: Option<String>,
        #[graphql(desc = "At most this many, from the end of the list or before `before`. At most 100.")]
        last: Option<i32>,
        #[graphql(desc = "A cursor of this list: the page ends before it.")] before: Option<String>,
    ) -> Result<FollowConnection, Error> {
        self.list(context, ListKind::Following, Paging { first, after, last, before }).await
    }

    /// Users whom this user follows and who follow back, by when this user followed them, newest
    /// first.
    async fn mutuals(
        &self,
        context: &Context<'_>,
        #[graphql(
            desc = "At most this many, from the start of the list or after `after`. Default 20, at most 100."
        )]
        first: Option<i32>,
        #[graphql(desc = "A cursor of this list: the page begins after it.")] after: Option<String>,
        #[graphql(desc = "At most this many, from the end of the list or before `before`. At most 100.")]
        last: Option<i32>,
        #[graphql(desc = "A cursor of this list: the page ends before it.")] before: Option<String>,
    ) -> Result<FollowConnection, Error> {
        self.list(context, ListKind::Mutuals, Paging { first, after, last, before }).await
    }

    /// Followers of this user whom the viewer follows, by when they followed this user, newest first;
    /// empty for an anonymous request.
    async fn known_followers(
        &self,
        context: &Context<'_>,
        #[graphql(
            desc = "At most this many, from the start of the list or after `after`. Default 20, at most 100."
        )]
        first: Option<i32>,
        #[graphql(desc = "A cursor of this list: the page begins after it.")] after: Option<String>,
        #[graphql(desc = "At most this many, from the end of the list or before `before`. At most 100.")]
        last: Option<i32>,
        #[graphql(desc = "A cursor of this list: the page ends before it.")] before: Option<String>,
    ) -> Result<FollowConnection, Error> {
        self.list(context, ListKind::KnownFollowers, Paging { first, after, last, before }).await
    }

    /// Where this user's followers are, the country with most of them first; null if that cannot be read now.
    async fn followers_by_region(
        &self,
        #[graphql(desc = "At most this many entries. Default 20, at most 100.", default = 20)] first: Option<
            i32,
        >,
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

    /// What this user has posted, newest first.
    async fn posts(
        &self,
        context: &Context<'_>,
        #[graphql(
            desc = "At most this many, from the start of the list or after `after`. Default 20, at most 100."
        )]
        first: Option<i32>,
        #[graphql(desc = "A cursor of this list: the page begins after it.")] after: Option<String>,
        #[graphql(desc = "At most this many, from the end of the list or before `before`. At most 100.")]
        last: Option<i32>,
        #[graphql(desc = "A cursor of this list: the page ends before it.")] before: Option<String>,
    ) -> Result<PostConnection, Error> {
        let paging = Paging { first, after, last, before };
        connection::load_posts_of(&self.scope, self, self.id, &paging, &context.look_ahead()).await
    }
}
