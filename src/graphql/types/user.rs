//! A user as clients see them.

use std::sync::Arc;

use async_graphql::parser::types::Field;
use async_graphql::{Context, ID};
use futures::FutureExt as _;
use futures::future::{try_join, try_join_all};

use crate::app::error::{Broken, Error};
use crate::app::read::{Load as _, Shared};
use crate::app::region::read::{FollowerSample, Regions};
use crate::app::region::shares;
use crate::app::relation::read::{FollowCount, UserList};
use crate::app::visibility::{Access, PostAccess, UserSelection, VisibleUser};
use crate::graphql::context::Scope;
use crate::graphql::directive::{CacheControlScope::Private, cache_control, cost, list_size, names};
use crate::graphql::id::GlobalId;
use crate::graphql::paging::{DEFAULT_SIZE, Paging, connections, page_limit, period_of};
use crate::graphql::preloaded::{Json, Leaf, Nested, Source, fields, loaded, loaded_leaf, memory};
use crate::graphql::selection::Selected;
use crate::graphql::types::connection::post::{PostConnection, counts_of};
use crate::graphql::types::connection::user::FollowConnection;
use crate::graphql::types::period::PeriodInput;
use crate::graphql::types::region::{FollowersByRegion, Region};
use crate::graphql::types::relation::Relation;
use crate::graphql::types::scalar::{DateTime, number};
use crate::graphql::types::selection::relation_selection;
use crate::model;
use crate::model::clock::Period;
use crate::model::id::UserId;
use crate::model::region::Residence;
use crate::model::relation::{ListKind, Side};
use crate::model::user::UserFields;

/// An existing user, with preloaded data. Resolving a preloaded field reads nothing. All other fields use the loader,
/// which batches their reads.
#[derive(Clone)]
pub(in crate::graphql) struct User {
    scope: Arc<Scope>,
    id: UserId,
    /// The record fields that the whole selection needs. All resolvers request this set, so one read serves them all.
    asked: UserFields,
    record: Option<Arc<model::user::User>>,
    relation: Option<model::relation::Relation>,
    /// True if the viewer requested this user directly, so showing the profile counts as a view.
    is_viewed: bool,
}

/// A value in the record of a user, as a resolver returns it.
trait Recorded: Sized + 'static {
    /// The value as it is in the record.
    type In<'a>: Leaf;

    /// Copies the value out of the record. Charges text to the budget for the response.
    fn keep(read: Self::In<'_>, scope: &Scope) -> Result<Self, Error>;
}

/// Reads a value from a user's record; returns `None` if the record lacks it.
type Read<V> = for<'a> fn(&'a User, &'a model::user::User) -> Option<<V as Recorded>::In<'a>>;

impl Recorded for String {
    type In<'a> = &'a str;

    fn keep(read: &str, scope: &Scope) -> Result<Self, Error> {
        Ok(scope.text(read)?.to_owned())
    }
}

impl Recorded for Option<String> {
    type In<'a> = Option<&'a str>;

    fn keep(read: Option<&str>, scope: &Scope) -> Result<Self, Error> {
        read.map(|read| String::keep(read, scope)).transpose()
    }
}

impl Recorded for bool {
    type In<'a> = Self;

    fn keep(read: Self, _: &Scope) -> Result<Self, Error> {
        Ok(read)
    }
}

impl Recorded for DateTime {
    type In<'a> = Self;

    fn keep(read: Self, _: &Scope) -> Result<Self, Error> {
        Ok(read)
    }
}

impl User {
    /// Creates a user from an id alone, with no selected fields.
    pub(in crate::graphql) fn unread(scope: &Arc<Scope>, id: UserId) -> Self {
        let scope = Arc::clone(scope);
        Self { scope, id, asked: UserFields::NONE, record: None, relation: None, is_viewed: false }
    }

    /// Creates a user from an id and the record fields that the selection needs.
    pub(in crate::graphql) fn asked(scope: &Arc<Scope>, id: UserId, selection: UserSelection) -> Self {
        Self { asked: selection.fields, ..Self::unread(scope, id) }
    }

    /// Creates a user from loaded data.
    pub(in crate::graphql) fn visible(
        scope: &Arc<Scope>,
        VisibleUser { record, relation }: VisibleUser,
    ) -> Self {
        let user = Self::unread(scope, record.id);
        Self { record: Some(record), relation, ..user }
    }

    /// Loads these users, with the data that the selection needs. An entry is `None` if its user does not exist, or if
    /// the viewer may not see them. Makes one round trip.
    pub(in crate::graphql) async fn load_all(
        scope: &Arc<Scope>,
        ids: Arc<[UserId]>,
        selection: UserSelection,
        access: Access,
    ) -> Result<Vec<Option<Self>>, Error> {
        let users = scope.visible().users(ids, selection, access).await?;
        Ok(users.into_iter().map(|user| Some(Self::visible(scope, user?))).collect())
    }

    /// Returns the user's id.
    pub(in crate::graphql) fn user_id(&self) -> UserId {
        self.id
    }

    /// Marks the user as requested directly by the viewer.
    pub(in crate::graphql) fn viewed(self) -> Self {
        Self { is_viewed: true, ..self }
    }

    /// Returns the loaded relation between the viewer and this user. Returns `None` if the relation was not loaded, if
    /// the viewer is anonymous, or if this user is the viewer.
    pub(in crate::graphql) fn loaded_relation(&self) -> Option<Relation> {
        Some(Relation::new(self.other_viewer()?, self.clone(), self.relation?))
    }

    /// Returns the viewer's id; `None` if the viewer is anonymous or is this user.
    fn other_viewer(&self) -> Option<UserId> {
        self.scope.viewer_id().filter(|viewer| *viewer != self.id)
    }

    /// Returns the viewer's access to the user's posts; `None` if the data on which it depends are not preloaded.
    fn known_post_access(&self) -> Option<PostAccess> {
        if self.scope.viewer_id() == Some(self.id) {
            return Some(PostAccess::All);
        }
        let is_private = self.record.as_ref()?.is_private?;
        let is_known = self.relation.is_some() || self.scope.viewer_id().is_none();
        let access = || PostAccess::of(self.scope.viewer_id(), self.id, is_private, self.relation.as_ref());
        is_known.then(access)
    }

    /// Returns the viewer's access to the user's posts. Makes no round trip if the data on which it depends are
    /// preloaded; otherwise one.
    async fn post_access(&self) -> Result<PostAccess, Error> {
        if let Some(access) = self.known_post_access() {
            return Ok(access);
        }
        let visible = self.scope.visible();
        let is_private = async {
            let record = visible.user_record(self.id, self.asked | UserFields::PRIVATE).await?;
            Ok(record.and_then(|record| record.is_private))
        };
        let relation = async {
            match self.relation {
                None if self.other_viewer().is_some() => visible.relation(self.id, false).await,
                relation => Ok(relation),
            }
        };
        let (is_private, relation) = try_join(is_private, relation).await?;
        let is_private = is_private.unwrap_or(true);
        Ok(PostAccess::of(self.scope.viewer_id(), self.id, is_private, relation.as_ref()))
    }

    /// Returns the viewer's access to the posts of each of these users; `None` if the data on which it depends are not
    /// preloaded.
    pub(in crate::graphql) fn known_post_accesses(users: &[&Self]) -> Option<Vec<PostAccess>> {
        users.iter().map(|user| user.known_post_access()).collect()
    }

    /// Returns the viewer's access to the posts of each of these users. Makes no round trip if the data on which it
    /// depends are preloaded; otherwise one.
    pub(in crate::graphql) async fn post_accesses(users: &[&Self]) -> Result<Vec<PostAccess>, Error> {
        try_join_all(users.iter().map(|user| user.post_access())).await
    }

    /// Returns the record with at least the `needed` fields. Marks the profile as shown if the viewer requested the
    /// user directly.
    async fn record(&self, needed: UserFields) -> Result<Arc<model::user::User>, Error> {
        if self.is_viewed {
            self.scope.show_profile(self.id);
        }
        if let Some(record) = &self.record
            && record.fields().contains(needed)
        {
            return Ok(Arc::clone(record));
        }
        // Boxed, like all loads here: the future of each field of a user is as large as the largest resolver.
        let record = self.scope.visible().user_record(self.id, self.asked | needed).boxed().await?;
        record.ok_or_else(|| Broken::NoRecord(self.id).into())
    }

    /// Returns a value from the record, which is loaded if it lacks the `needed` fields.
    async fn resolve_recorded<V: Recorded>(&self, needed: UserFields, read: Read<V>) -> Result<V, Error> {
        let record = self.record(needed).await?;
        V::keep(read(self, &record).ok_or(Broken::NoRecord(self.id))?, &self.scope)
    }

    /// Returns the source of a field whose value is in the record.
    fn recorded<V: Recorded>(_: &Field, read: Read<V>) -> Source<'_, Self> {
        memory(move |user: &Self, json| read(user, user.preloaded()?)?.write(json))
    }

    /// Returns the number of entries in a list that the viewer may see. Makes one round trip.
    async fn list_length(&self, kind: ListKind) -> Result<i32, Error> {
        self.scope.visible().user_count(UserList { kind, owner: self.id }).boxed().await.map(number)
    }

    async fn list(
        &self,
        context: &Context<'_>,
        kind: ListKind,
        paging: Paging,
    ) -> Result<FollowConnection, Error> {
        let list = UserList { kind, owner: self.id };
        FollowConnection::load(&self.scope, list, &paging, &Selected::of(context)).await
    }
}

fields! {
    /// A registered user.
    impl User, Public, |user| Some(&user.scope);

    /// The global id: unique across all types, opaque to clients.
    value id "id": ID = |user| GlobalId::User(user.id).print();
    /// The unique name that the user signs in with: 2 to 30 characters from a–z, 0–9 and _.
    record username "username": String = UserFields::NONE, |_, record| Some(&record.username);
    /// The display name: 1 to 50 characters of any script, of which at least one is visible.
    record display_name "displayName": String = UserFields::DISPLAY_NAME, |_, record| {
        record.display_name.as_deref()
    };
    /// The user's bio: up to 500 characters of any script; empty if not set.
    record bio "bio": String = UserFields::BIO, |_, record| record.bio.as_deref();
    /// The https URL of the user's picture, on a host that the server allows; null if not set.
    record avatar_url "avatarUrl": Option<String> = UserFields::AVATAR_URL, |user, record| {
        Some(user.scope.app.shown_avatar(record.avatar_url.as_ref()?.as_str()))
    };
    /// The time of registration.
    record created_at "createdAt": DateTime = UserFields::CREATED_AT, |_, record| record.created_at.map(DateTime);
    resolver "its load says why the record lacks it" reading "region" = UserFields::RESIDENCE, {
        /// The region in the user's profile; null if not set.
        async fn region(&self) -> Option<Result<Region, Error>> {
            let region = async {
                match self.record(UserFields::RESIDENCE).await?.residence {
                    Some(Residence(region)) => Ok(region),
                    // The region could not be read with the record; this load reports the reason.
                    None => Ok(self.scope.loader.load(Regions(Shared(Arc::new([self.id])))).boxed().await?[0]),
                }
            };
            region.await.map(|region| region.map(Region)).transpose()
        }
    }
    /// True if the user approves followers, and only these see the user's posts.
    record is_private "isPrivate": bool = UserFields::PRIVATE, |_, record| record.is_private;
    /// True if this user is the viewer.
    @[directive = cache_control::apply(Private)]
    value is_viewer "isViewer": bool = |user| user.scope.viewer_id() == Some(user.id);
    resolver "its source, below, has it only if it is in memory" {
        /// The relation between the viewer and this user; null for an anonymous request and for the viewer themselves.
        async fn relation(&self, context: &Context<'_>) -> Option<Result<Relation, Error>> {
            let viewer = self.other_viewer()?;
            let relation = if let Some(relation) = self.relation {
                Ok(Some(relation))
            } else {
                let UserSelection { requester, .. } = relation_selection(&[Selected::of(context)]);
                self.scope.visible().relation(self.id, requester).boxed().await
            };
            relation.transpose().map(|relation| Ok(Relation::new(viewer, self.clone(), relation?)))
        }
    }
    source "relation" = |field| {
        let Some(nested) = Nested::of(field) else { return Source::Resolver };
        memory(move |user: &Self, json: &mut Json| match user.other_viewer() {
            Some(viewer) => nested.write(&Relation::new(viewer, user.clone(), user.relation?), json),
            None => json.value(&()),
        })
    };
    resolver "their sources, below, load the counts of all users together" {
        /// The number of users in `followers`, the same as its `totalCount`; null if temporarily unavailable.
        #[graphql(directive = cost::apply("1".to_owned()))]
        async fn follower_count(&self) -> Option<Result<i32, Error>> {
            Some(self.list_length(ListKind::Followers).await)
        }

        /// The number of users in `following`, the same as its `totalCount`; null if temporarily unavailable.
        #[graphql(directive = cost::apply("1".to_owned()))]
        async fn following_count(&self) -> Option<Result<i32, Error>> {
            Some(self.list_length(ListKind::Following).await)
        }

        /// The number of posts and reposts in `posts`, the same as its `totalCount`; null if temporarily unavailable.
        #[graphql(directive = cost::apply("1".to_owned()))]
        async fn post_count(&self) -> Option<Result<i32, Error>> {
            let counts = counts_of(&self.scope, &[self], Period::ALL).boxed().await;
            Some(counts.map(|counts| number(counts[0])))
        }
    }
    source "followerCount" = |_| Self::stored_lengths(Side::Followers);
    source "followingCount" = |_| Self::stored_lengths(Side::Following);
    source "postCount" = |_| loaded_leaf(Self::user_id, async |authors: Vec<&Self>| {
        let counts = counts_of(&authors.first()?.scope, &authors, Period::ALL).await.ok()?;
        Some(counts.iter().copied().map(number).collect())
    });
    resolver "they are loaded" {
        #[graphql(flatten)]
        #[expect(clippy::unused_async, reason = "the library requires it")]
        async fn lists(&self) -> UserLists {
            UserLists(self.clone())
        }

        /// The distribution of this user's followers across countries, including followers whom the viewer may not see;
        /// null if temporarily unavailable.
        #[graphql(
            directive = list_size::apply(
                Some(DEFAULT_SIZE),
                Some(names(["first"])),
                Some(names(["regions"])),
                Some(false),
            ),
            directive = cost::apply("50".to_owned())
        )]
        async fn followers_by_region(
            &self,
            #[graphql(
                desc = "Maximum number of countries. Default 20; values above 100 count as 100.",
                default = 20
            )]
            first: Option<i32>,
        ) -> Option<Result<FollowersByRegion, Error>> {
            let by_region = async {
                // The distribution is the same for all viewers, so all followers count.
                let count = FollowCount { owner: self.id, side: Side::Followers, excluded: None };
                let total = self.scope.loader.load(count).await?;
                let sample = FollowerSample { user: self.id, count: total };
                let followers = self.scope.loader.load(sample).await?;
                let regions = self.scope.loader.load(Regions(Shared(followers))).await?;
                let countries = regions.iter().map(|region| region.map(model::region::Region::whole_country));
                Ok(FollowersByRegion::new(shares(countries), page_limit(first), regions.len(), total))
            };
            Some(by_region.boxed().await)
        }

        #[graphql(flatten)]
        #[expect(clippy::unused_async, reason = "the library requires it")]
        async fn own_posts(&self) -> UserPosts {
            UserPosts(self.clone())
        }
    }
    source "posts" = |field| loaded(field, Self::user_id, async |authors| {
        let paging = Paging::of(field)?;
        let period = period_of(field, "createdAt")?;
        PostConnection::load_all(&authors, &paging, period, &Selected::one(field)).await.ok()
    });
    source "followers" = |field| Self::stored_lists(field, ListKind::Followers);
    source "following" = |field| Self::stored_lists(field, ListKind::Following);
}

impl User {
    /// Returns the source of a field whose values are lists of one kind.
    fn stored_lists(field: &Field, kind: ListKind) -> Source<'_, Self> {
        loaded(field, Self::user_id, async move |owners| {
            let paging = Paging::of(field)?;
            FollowConnection::load_all(&owners, kind, &paging, &Selected::one(field)).await.ok()
        })
    }

    /// Returns the source of a field whose values are the lengths of lists on one side.
    fn stored_lengths<'a>(side: Side) -> Source<'a, Self> {
        loaded_leaf(Self::user_id, async move |owners: Vec<&Self>| {
            let visible = owners.first()?.scope.visible();
            let counts = visible.user_counts(side, owners.iter().map(|owner| owner.id)).await.ok()?;
            Some(counts.iter().copied().map(number).collect())
        })
    }

    /// Returns the preloaded record; `None` if the record is not loaded, or if showing the profile counts as a view.
    fn preloaded(&self) -> Option<&model::user::User> {
        self.record.as_deref().filter(|_| !self.is_viewed)
    }
}

/// A user's lists of other users, as connections.
struct UserLists(User);

connections! {
    impl UserLists {
        /// The users who follow this user, newest follow first.
        async fn followers(&self, context, paging) -> FollowConnection {
            self.0.list(context, ListKind::Followers, paging).await
        }

        /// The users whom this user follows, newest follow first.
        async fn following(&self, context, paging) -> FollowConnection {
            self.0.list(context, ListKind::Following, paging).await
        }

        /// The users whom this user follows and who follow back, ordered by the time at which this user followed them,
        /// newest first.
        @[directive = cost::apply("10".to_owned())]
        async fn mutuals(&self, context, paging) -> FollowConnection {
            self.0.list(context, ListKind::Mutuals, paging).await
        }

        /// This user's followers whom the viewer follows, ordered by the time at which they followed this user, newest
        /// first; empty for an anonymous request.
        @[directive = cost::apply("10".to_owned()), directive = cache_control::apply(Private)]
        async fn known_followers(&self, context, paging) -> FollowConnection {
            self.0.list(context, ListKind::KnownFollowers, paging).await
        }
    }
}

/// A user's posts, as a connection.
struct UserPosts(User);

connections! {
    impl UserPosts {
        /// The user's posts, newest first.
        async fn posts(
            &self, context, paging,
            created_at: PeriodInput = "Return only posts created in this period. If null, return all posts.",
        ) -> PostConnection {
            let Self(author) = self;
            let period = created_at.map_or(Period::ALL, Period::from);
            let selected = Selected::of(context);
            let posts = PostConnection::load_all(&[author], &paging, period, &selected).await?.pop();
            posts.ok_or_else(|| Broken::NoRecord(author.id).into())
        }
    }
}
