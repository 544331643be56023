//! A user who is blocked cannot tell the blocking user from one who does not exist: neither from a response, nor from
//! the work that the server does for it.

use std::collections::{BTreeMap, BTreeSet};

use async_graphql::parser::parse_schema;
use async_graphql::parser::types::{BaseType, InputValueDefinition, Type, TypeKind, TypeSystemDefinition};
use axum::http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use fanfold::model::clock::Timestamp;
use fanfold::model::id::UserId;
use fanfold::store::batch::Batch;
use fanfold::store::compact;
use serde_json::{Value, json};

use crate::harness::id::global;
use crate::harness::world::{ManualClock, Person, World, archive_all, deliver_all};

const UNKNOWN: u64 = 7_700_001;

/// The users of a world, who have the ids 1 to 5 in this order.
const VIEWER: u64 = 1;
const BLOCKER: u64 = 2;
const THIRD: u64 = 3;
const PRIVATE: u64 = 5;

/// What an argument identifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    /// A user, by id in `$id` and by name in `$name`. `$cursor` is a position in the user's list with this code.
    User(u8),
    /// A post, by id in `$id`.
    Post,
    /// A user, in `$cursor` as the position in a list with this code, of this owner.
    Entry(u8, u64),
}

/// A document, and the arguments of the schema that it tests.
type Row = (&'static [&'static str], Subject, &'static str);

const ROWS: &[Row] = &[
    (
        &["Query.node.id"],
        Subject::User(1),
        "query ($id: ID!) { node(id: $id) { __typename id ... on User { ...user } } }",
    ),
    (&["Query.node.id"], Subject::Post, "query ($id: ID!) { node(id: $id) { __typename id ... on Post { ...post } } }"),
    (
        &["Query.nodes.ids"],
        Subject::User(1),
        "query ($id: ID!) { nodes(ids: [\"VXNlcjoz\", $id, \"VXNlcjoz\", $id]) { id ... on User { ...user } } }",
    ),
    (&["Query.nodes.ids"], Subject::Post, "query ($id: ID!) { nodes(ids: [$id, $id]) { id ... on Post { ...post } } }"),
    (&["Query.post.id"], Subject::Post, "query ($id: ID!) { post(id: $id) { ...post } }"),
    (&["Query.user.by.id"], Subject::User(1), "query ($id: ID!) { user(by: { id: $id }) { ...user } }"),
    (&["Query.user.by.id"], Subject::User(1), "query ($id: ID!) { user(by: { id: $id }) { id } }"),
    (
        &["Query.user.by.username"],
        Subject::User(1),
        "query ($name: String!) { user(by: { username: $name }) { ...user } }",
    ),
    (&["Query.user.by.username"], Subject::User(1), "query ($name: String!) { user(by: { username: $name }) { id } }"),
    (
        &["Query.relations.userIds"],
        Subject::User(1),
        "query ($id: ID!) { relations(userIds: [$id, \"VXNlcjoz\", $id]) { id status requestedSince requesterSince
            user { ...user } } }",
    ),
    (
        &["User.followers.after"],
        Subject::User(1),
        "query ($id: ID!, $cursor: String) { user(by: { id: $id }) { followers(after: $cursor) { nodes { id } } } }",
    ),
    (
        &["User.following.after"],
        Subject::User(2),
        "query ($id: ID!, $cursor: String) { user(by: { id: $id }) { following(after: $cursor) { nodes { id } } } }",
    ),
    (
        &["User.mutuals.before"],
        Subject::User(3),
        "query ($id: ID!, $cursor: String) { user(by: { id: $id }) { mutuals(before: $cursor) { nodes { id } } } }",
    ),
    (
        &["User.knownFollowers.before"],
        Subject::User(4),
        "query ($id: ID!, $cursor: String) { user(by: { id: $id }) { knownFollowers(before: $cursor) { totalCount } } }",
    ),
    (
        &["User.posts.after"],
        Subject::User(5),
        "query ($id: ID!, $cursor: String) { user(by: { id: $id }) { posts(after: $cursor) { nodes { id } } } }",
    ),
    (
        &["User.posts.before"],
        Subject::User(5),
        "query ($id: ID!, $cursor: String) { user(by: { id: $id }) { posts(before: $cursor) { totalCount } } }",
    ),
    (&["User.followers.after"], Subject::Entry(1, THIRD), "query ($cursor: String) { user(by: { id: \"VXNlcjoz\" }) {
        list: followers(first: 2, after: $cursor) { ...page } } }"),
    (&["User.followers.before"], Subject::Entry(1, THIRD), "query ($cursor: String) { user(by: { id: \"VXNlcjoz\" }) {
        list: followers(last: 2, before: $cursor) { ...page } } }"),
    (&["User.following.after"], Subject::Entry(2, THIRD), "query ($cursor: String) { user(by: { id: \"VXNlcjoz\" }) {
        list: following(first: 2, after: $cursor) { ...page } } }"),
    (&["User.following.before"], Subject::Entry(2, THIRD), "query ($cursor: String) { user(by: { id: \"VXNlcjoz\" }) {
        list: following(last: 2, before: $cursor) { ...page } } }"),
    (&["User.mutuals.after"], Subject::Entry(3, THIRD), "query ($cursor: String) { user(by: { id: \"VXNlcjoz\" }) {
        list: mutuals(first: 2, after: $cursor) { ...page } } }"),
    (&["User.mutuals.before"], Subject::Entry(3, THIRD), "query ($cursor: String) { user(by: { id: \"VXNlcjoz\" }) {
        list: mutuals(last: 2, before: $cursor) { ...page } } }"),
    (
        &["User.knownFollowers.after"],
        Subject::Entry(4, THIRD),
        "query ($cursor: String) { user(by: { id: \"VXNlcjoz\" }) {
        list: knownFollowers(first: 2, after: $cursor) { ...page } } }",
    ),
    (
        &["User.knownFollowers.before"],
        Subject::Entry(4, THIRD),
        "query ($cursor: String) { user(by: { id: \"VXNlcjoz\" }) {
        list: knownFollowers(last: 2, before: $cursor) { ...page } } }",
    ),
    (&["Viewer.muted.after"], Subject::Entry(7, VIEWER), "query ($cursor: String) { viewer {
        list: muted(first: 2, after: $cursor) { ...users } } }"),
    (&["Viewer.muted.before"], Subject::Entry(7, VIEWER), "query ($cursor: String) { viewer {
        list: muted(last: 2, before: $cursor) { ...users } } }"),
    (&["Viewer.blocked.after"], Subject::Entry(8, VIEWER), "query ($cursor: String) { viewer {
        list: blocked(first: 2, after: $cursor) { ...users } } }"),
    (&["Viewer.blocked.before"], Subject::Entry(8, VIEWER), "query ($cursor: String) { viewer {
        list: blocked(last: 2, before: $cursor) { ...users } } }"),
    (&["Viewer.followRequests.after"], Subject::Entry(9, VIEWER), "query ($cursor: String) { viewer {
        list: followRequests(first: 2, after: $cursor) { ...users } } }"),
    (&["Viewer.followRequests.before"], Subject::Entry(9, VIEWER), "query ($cursor: String) { viewer {
        list: followRequests(last: 2, before: $cursor) { ...users } } }"),
    (&["Viewer.sentFollowRequests.after"], Subject::Entry(10, VIEWER), "query ($cursor: String) { viewer {
        list: sentFollowRequests(first: 2, after: $cursor) { ...users } } }"),
    (&["Viewer.sentFollowRequests.before"], Subject::Entry(10, VIEWER), "query ($cursor: String) { viewer {
        list: sentFollowRequests(last: 2, before: $cursor) { ...users } } }"),
    (&["Mutation.follow.input.userId"], Subject::User(1), "mutation ($id: ID!) { follow(input: { userId: $id }) {
        viewer { id } relation { status } user { id } userErrors { ...error } } }"),
    (&["Mutation.unfollow.input.userId"], Subject::User(1), "mutation ($id: ID!) { unfollow(input: { userId: $id }) {
        viewer { id } relation { status } user { id } userErrors { ...error } } }"),
    (
        &["Mutation.removeFollower.input.userId"],
        Subject::User(1),
        "mutation ($id: ID!) { removeFollower(input: { userId: $id }) {
        viewer { id } relation { status } user { id } userErrors { ...error } } }",
    ),
    (&["Mutation.mute.input.userId"], Subject::User(1), "mutation ($id: ID!) { mute(input: { userId: $id }) {
        viewer { id } relation { status } user { id } userErrors { ...error } } }"),
    (&["Mutation.unmute.input.userId"], Subject::User(1), "mutation ($id: ID!) { unmute(input: { userId: $id }) {
        viewer { id } relation { status } user { id } userErrors { ...error } } }"),
    (&["Mutation.block.input.userId"], Subject::User(1), "mutation ($id: ID!) { block(input: { userId: $id }) {
        viewer { id } relation { status } user { id } userErrors { ...error } } }"),
    (&["Mutation.unblock.input.userId"], Subject::User(1), "mutation ($id: ID!) { unblock(input: { userId: $id }) {
        viewer { id } relation { status } user { id } userErrors { ...error } } }"),
    (
        &["Mutation.acceptFollowRequest.input.userId"],
        Subject::User(1),
        "mutation ($id: ID!) { acceptFollowRequest(input: { userId: $id }) {
        viewer { id } relation { status } user { id } userErrors { ...error } } }",
    ),
    (
        &["Mutation.rejectFollowRequest.input.userId"],
        Subject::User(1),
        "mutation ($id: ID!) { rejectFollowRequest(input: { userId: $id }) {
        viewer { id } relation { status } user { id } userErrors { ...error } } }",
    ),
    (&["Mutation.deletePost.input.postId"], Subject::Post, "mutation ($id: ID!) { deletePost(input: { postId: $id }) {
        deletedPostId viewer { id } userErrors { ...error } } }"),
    (&["Mutation.editPost.input.postId"], Subject::Post, "mutation ($id: ID!) { editPost(input: { postId: $id, content: \"x\" }) {
        post { id } userErrors { ...error } } }"),
    (
        &["Mutation.publish.input.inReplyTo"],
        Subject::Post,
        "mutation ($id: ID!) { publish(input: { content: \"x\", inReplyTo: $id }) {
        viewer { id } post { id } userErrors { ...error } } }",
    ),
    (
        &["Mutation.publish.input.quoteOf"],
        Subject::Post,
        "mutation ($id: ID!) { publish(input: { content: \"x\", quoteOf: $id, visibility: FOLLOWERS }) {
        viewer { id } post { id } userErrors { ...error } } }",
    ),
    (&["Mutation.repost.input.postId"], Subject::Post, "mutation ($id: ID!) { repost(input: { postId: $id }) {
        viewer { id } post { id } userErrors { ...error } } }"),
    (&["Mutation.undoRepost.input.postId"], Subject::Post, "mutation ($id: ID!) { undoRepost(input: { postId: $id }) {
        post { id } userErrors { ...error } } }"),
    (&["Mutation.bookmark.input.postId"], Subject::Post, "mutation ($id: ID!) { bookmark(input: { postId: $id }) {
        post { id } userErrors { ...error } } }"),
    (
        &["Mutation.removeBookmark.input.postId"],
        Subject::Post,
        "mutation ($id: ID!) { removeBookmark(input: { postId: $id }) {
        post { id } userErrors { ...error } } }",
    ),
    (&["Mutation.like.input.postId"], Subject::Post, "mutation ($id: ID!) { like(input: { postId: $id }) {
        post { id } userErrors { ...error } } }"),
    (&["Mutation.unlike.input.postId"], Subject::Post, "mutation ($id: ID!) { unlike(input: { postId: $id }) {
        post { id } userErrors { ...error } } }"),
    (
        &["Mutation.report.input.target.userId"],
        Subject::User(1),
        "mutation ($id: ID!) { report(input: { target: { userId: $id }, reason: \"spam\" }) { userErrors { ...error } } }",
    ),
    (
        &["Mutation.report.input.target.postId"],
        Subject::Post,
        "mutation ($id: ID!) { report(input: { target: { postId: $id }, reason: \"spam\" }) { userErrors { ...error } } }",
    ),
];

const POSITION: &str =
    "posts are ordered by id, whether or not they exist; the list is that of a visible post";
const REACTIONS: &str = "likes and bookmarks are ordered by their times, whether or not the posts exist";
const LIKES: &str = "likes are ordered by their numbers and users, whether or not these exist; the list is that of a visible post";
const MODERATORS: &str = "for moderators, who see all users";

/// Arguments that need no row, each with the reason.
const EXEMPT: &[(&str, &str)] = &[
    ("Mutation.login.input.username", "a name that exists is known to be taken anyway"),
    ("Mutation.recoverAccount.input.username", "every failure is the same, as `api::recovery` compares"),
    ("Mutation.register.input.username", "states that a name is taken, as documented"),
    ("Mutation.revokeSession.input.sessionId", "identifies a session of the viewer"),
    ("Viewer.timeline.after", "posts are ordered by id, whether or not they exist"),
    ("Viewer.timeline.before", "posts are ordered by id, whether or not they exist"),
    ("Viewer.bookmarks.after", REACTIONS),
    ("Viewer.bookmarks.before", REACTIONS),
    ("Viewer.likes.after", REACTIONS),
    ("Viewer.likes.before", REACTIONS),
    ("Post.likedBy.after", LIKES),
    ("Post.likedBy.before", LIKES),
    ("Post.quotes.after", POSITION),
    ("Post.quotes.before", POSITION),
    ("Post.replies.after", POSITION),
    ("Post.replies.before", POSITION),
    ("Post.repostedBy.after", POSITION),
    ("Post.repostedBy.before", POSITION),
    ("Moderation.account.by.id", MODERATORS),
    ("Moderation.account.by.username", MODERATORS),
    ("Moderation.accounts.after", MODERATORS),
    ("Moderation.accounts.before", MODERATORS),
    ("Moderation.invites.after", MODERATORS),
    ("Moderation.invites.before", MODERATORS),
    ("Moderation.log.after", MODERATORS),
    ("Moderation.log.before", MODERATORS),
    ("Moderation.reports.after", MODERATORS),
    ("Moderation.reports.before", MODERATORS),
    ("Mutation.endSessions.input.userId", MODERATORS),
    ("Mutation.removePost.input.postId", MODERATORS),
    ("Mutation.resolveReport.input.reportId", MODERATORS),
    ("Mutation.revokeInvite.input.inviteId", MODERATORS),
    ("Mutation.cancelUserDeletion.input.userId", MODERATORS),
    ("Mutation.deleteUser.input.userId", MODERATORS),
    ("Mutation.issueRecoveryCode.input.userId", MODERATORS),
    ("Mutation.suspendUser.input.userId", MODERATORS),
    ("Mutation.unsuspendUser.input.userId", MODERATORS),
    ("Subscription.timeline.after", "posts are ordered by id, whether or not they exist"),
];

const FRAGMENTS: &[(&str, &str)] = &[
    (
        "...user",
        "fragment user on User { id username displayName bio avatarUrl createdAt isPrivate isViewer region { country { code } }
            relation { status blockedSince mutedSince } followers(first: 3) { totalCount nodes { id } }
            following { totalCount } mutuals { totalCount } knownFollowers { totalCount nodes { id } }
            posts(first: 3) { totalCount nodes { content author { id } } } }",
    ),
    ("...post", "fragment post on Post { id content platform createdAt author { id username } delivery { mode } }"),
    (
        "...page",
        "fragment page on FollowConnection { totalCount edges { followedAt cursor node { id relation { status } } }
            pageInfo { hasPreviousPage hasNextPage startCursor endCursor } }",
    ),
    (
        "...users",
        "fragment users on UserConnection { totalCount edges { since cursor node { id relation { status } } }
            pageInfo { hasPreviousPage hasNextPage startCursor endCursor } }",
    ),
    ("...error", "fragment error on UserError { code message field limit retryAfterSeconds }"),
];

/// Returns a document with the fragments that it uses.
fn document(row: &str) -> String {
    let used = FRAGMENTS.iter().filter(|(spread, _)| row.contains(&format!("{spread} ")));
    used.fold(row.to_owned(), |document, (_, fragment)| document + " " + fragment)
}

/// Returns the paths of all arguments, and fields of their input objects, that identify a user or a post, or a place in
/// a list: those of type `ID`, usernames and cursors.
fn identifying_arguments() -> BTreeSet<String> {
    let sdl = fanfold::graphql::sdl();
    let mut types = BTreeMap::new();
    for definition in parse_schema(&sdl).unwrap().definitions {
        if let TypeSystemDefinition::Type(definition) = definition {
            types.insert(definition.node.name.node.to_string(), definition.node.kind);
        }
    }
    let mut found = BTreeSet::new();
    for (name, kind) in &types {
        let TypeKind::Object(object) = kind else { continue };
        for field in &object.fields {
            for argument in &field.node.arguments {
                let path = format!("{name}.{}", field.node.name.node);
                add_identifying(&types, &path, &argument.node, &mut found);
            }
        }
    }
    found
}

fn named(of: &Type) -> &str {
    match &of.base {
        BaseType::Named(name) => name,
        BaseType::List(of) => named(of),
    }
}

fn add_identifying(
    types: &BTreeMap<String, TypeKind>,
    path: &str,
    value: &InputValueDefinition,
    found: &mut BTreeSet<String>,
) {
    let (name, of) = (value.name.node.as_str(), named(&value.ty.node));
    let path = format!("{path}.{name}");
    match types.get(of) {
        Some(TypeKind::InputObject(object)) => {
            for field in &object.fields {
                add_identifying(types, &path, &field.node, found);
            }
        }
        _ if of == "ID" => drop(found.insert(path)),
        _ if of == "String" && ["username", "after", "before"].contains(&name) => drop(found.insert(path)),
        _ => {}
    }
}

#[test]
fn every_argument_that_identifies_a_user_or_a_post_has_a_row() {
    let tested: BTreeSet<String> =
        ROWS.iter().flat_map(|(paths, ..)| paths.iter().map(|path| (*path).to_owned())).collect();
    let exempt: BTreeSet<String> = EXEMPT.iter().map(|(path, _)| (*path).to_owned()).collect();
    assert_eq!(&tested | &exempt, identifying_arguments());
    assert_eq!(tested.intersection(&exempt).count(), 0);
}

/// Returns a cursor as the server prints it: format, list, owner and position.
fn cursor(list: u8, owner: u64, position: &[u64]) -> String {
    let mut bytes = vec![1, list];
    for number in std::iter::once(&owner).chain(position) {
        bytes.extend(number.to_be_bytes());
    }
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A world in which one user blocks the viewer.
struct Blocked {
    world: World,
    people: Vec<Person>,
    /// Posts of the blocker: a hot one and an archived one.
    posts: Vec<u64>,
    /// A post of a private account that the viewer does not follow.
    private_post: u64,
}

impl Blocked {
    /// `blockers` is the number of further users who block the viewer. If `is_mutual`, the viewer blocks the blocker
    /// too.
    async fn new(blockers: u64, is_mutual: bool) -> Self {
        let world = World::with(&["--post-hot-limit", "1", "--graphql-rate-limit", "1000000"]).await;
        world.app.open_archive().await.unwrap();
        let people = world.people(5).await;
        let blocked = Self { world, people, posts: Vec::new(), private_post: 0 };
        let Self { world, people, .. } = &blocked;
        // The lists of the third user contain the blocker between others, and no two entries have the same time.
        for follower in [3, 1, 4, 0] {
            world.clock.advance(std::time::Duration::from_millis(7));
            world.follow(&people[follower], &people[2]).await;
            world.follow(&people[2], &people[follower]).await;
        }
        for other in [3, 1, 4] {
            world.clock.advance(std::time::Duration::from_millis(7));
            world.follow(&people[0], &people[other]).await;
            blocked.change(0, "mute", other).await;
        }
        let data = async |person: usize, query: &str| {
            world.data(Some(&people[person].token), query, Value::Null).await
        };
        data(4, "mutation { updateProfile(input: { isPrivate: true }) { userErrors { code } } }").await;
        blocked.change(0, "unfollow", 4).await;
        let mut posts = Vec::new();
        for author in [1, 1, 4] {
            let query = "mutation { publish(input: { content: \"secret\" }) { post { id } } }";
            let id = data(author, query).await["publish"]["post"]["id"].take();
            let id = URL_SAFE_NO_PAD.decode(id.as_str().unwrap()).unwrap();
            posts.push(String::from_utf8(id).unwrap()[5..].parse().unwrap());
        }
        deliver_all(&world.app).await;
        archive_all(&world.app).await;
        let store = world.app.store();
        let viewer = store.keys().blockers(UserId::new(VIEWER).unwrap());
        let mut batch = Batch::new("test");
        let add = |member: u64| {
            let member = UserId::new(1_000 + member).unwrap();
            batch.push(compact::add(&viewer, member, Timestamp::from_millis(1)))
        };
        let tickets: Vec<_> = (0..blockers).map(add).collect();
        if blockers > 0 {
            batch.send(store).await.unwrap().take_all(tickets).unwrap();
        }
        blocked.change(1, "block", 0).await;
        if is_mutual {
            // As if both had blocked each other at the same time.
            let block = ["ZADD", "ff:{u1}:blocking", "1767225600000", "2"];
            blocked.world.redis.raw::<u64>(&block);
        }
        blocked.change(0, "block", 3).await;
        let private_post = posts.pop().unwrap();
        Self { posts, private_post, ..blocked }
    }

    async fn change(&self, person: usize, mutation: &str, other: usize) {
        let query = format!(
            "mutation ($id: ID!) {{ {mutation}(input: {{ userId: $id }}) {{ userErrors {{ code }} }} }}"
        );
        let (person, other) = (&self.people[person], &self.people[other]);
        let data = self.world.data(Some(&person.token), &query, json!({ "id": other.id })).await;
        assert_eq!(data[mutation]["userErrors"], json!([]), "{mutation}");
    }

    /// Sends a document as the viewer. Returns the response, without its time and the id of the request, and the number
    /// of round trips that it took once everything was warm. Its headers state what the request cost, instead of what is
    /// left of the limit.
    async fn ask(&self, row: &str, variables: &Value) -> (StatusCode, HeaderMap, String, u64) {
        let (mut last, mut left) = (None, 0);
        for _ in 0..3 {
            let body = json!({ "query": document(row), "variables": variables }).to_string();
            let request = Request::post("/graphql")
                .header(header::CONTENT_TYPE, "application/json")
                .header(header::ACCEPT, "application/graphql-response+json")
                .header(header::AUTHORIZATION, format!("Bearer {}", self.people[0].token));
            let before = self.world.app.store().round_trips();
            let (status, mut headers, body) = self.world.send(request.body(body.into()).unwrap()).await;
            let trips = self.world.app.store().round_trips() - before;
            headers.remove(header::DATE);
            headers.remove("x-request-id");
            headers.remove("x-ratelimit-reset");
            let remaining = headers["x-ratelimit-remaining"].to_str().unwrap().parse::<i64>().unwrap();
            headers.insert("x-ratelimit-remaining", HeaderValue::from(left - remaining));
            left = remaining;
            last = Some((status, headers, String::from_utf8(body).unwrap(), trips));
        }
        last.unwrap()
    }

    /// Returns variables that identify a subject: the blocker, or what does not exist.
    fn variables(subject: Subject, user: u64, post: u64) -> Value {
        // The times of the blocker's entries in the lists of the third user, and of the viewer's mute.
        let at = |millis: u64| ManualClock::BEGINNING as u64 + millis;
        let position = |list: u8, at: u64| if list == 5 { vec![post] } else { vec![at, user] };
        match subject {
            Subject::User(list) => {
                let cursor = cursor(list, user, &position(list, at(14)));
                let name = if user == UNKNOWN { "Nobody" } else { "Ann1" };
                json!({ "id": global("User", user), "name": name, "cursor": cursor })
            }
            Subject::Post => json!({ "id": global("Post", post) }),
            Subject::Entry(list, owner) => {
                let millis = if owner == THIRD { 14 } else { 42 };
                json!({ "cursor": cursor(list, owner, &position(list, at(millis))) })
            }
        }
    }

    async fn check(&self) {
        for (_, subject, row) in ROWS {
            let unknown = self.ask(row, &Self::variables(*subject, UNKNOWN, UNKNOWN)).await;
            assert_eq!(unknown.0, StatusCode::OK, "{row}: {}", unknown.2);
            let posts = if *subject == Subject::Post { &self.posts[..] } else { &[UNKNOWN] };
            for post in posts {
                let blocker = self.ask(row, &Self::variables(*subject, BLOCKER, *post)).await;
                assert_eq!(blocker, unknown, "{row}, {post}");
            }
            if *subject == Subject::Post {
                let hidden = self.ask(row, &Self::variables(*subject, PRIVATE, self.private_post)).await;
                assert_eq!(hidden, unknown, "{row}");
            }
        }
    }
}

#[tokio::test]
async fn what_a_blocked_user_asks_about_the_blocker_has_the_answer_of_an_unknown_user() {
    Blocked::new(0, false).await.check().await;
}

#[tokio::test]
async fn it_has_so_if_both_users_block_each_other() {
    Blocked::new(0, true).await.check().await;
}

#[tokio::test]
async fn it_has_so_if_very_many_users_block_the_viewer() {
    Blocked::new(5_001, false).await.check().await;
}

/// The rows would prove nothing if all of them failed for all users.
#[tokio::test]
async fn what_other_users_ask_has_another_answer() {
    let blocked = Blocked::new(0, false).await;
    blocked.change(1, "unblock", 0).await;
    for (_, subject, row) in ROWS {
        if matches!(subject, Subject::Entry(..)) {
            continue;
        }
        let unknown = blocked.ask(row, &Blocked::variables(*subject, UNKNOWN, UNKNOWN)).await;
        let found = blocked.ask(row, &Blocked::variables(*subject, BLOCKER, blocked.posts[0])).await;
        assert_ne!(found.2, unknown.2, "{row}");
    }
}
