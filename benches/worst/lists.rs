//! The worst stored data for every list of the schema: more entries than the largest page has, or as many as are kept.

use std::path::Path;

use apollo_compiler::Schema;
use apollo_compiler::schema::ExtendedType;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use clap::Parser;
use fanfold::app::App;
use fanfold::app::post::{EditRequest, NewPost, PublishRequest};
use fanfold::app::viewer::Viewer;
use fanfold::archive::Archive;
use fanfold::config::ArchiveConfig;
use fanfold::model::details::{References, Reply};
use fanfold::model::id::{PostId, UserId};
use fanfold::model::post::{Content, Visibility};
use fanfold::model::relation::MuteScope;
use serde_json::Value;

use crate::ground::Redis;

/// Number of entries of a list: more than the largest page.
pub(crate) const FULL: usize = 150;
/// Number of earlier versions that a post keeps.
const EDITS: usize = 20;
/// Number of sessions that a user keeps.
const SESSIONS: usize = 100;
/// Number of posts above the last one of a conversation: more than the maximum that is read.
const DEPTH: usize = 45;

/// Lists whose length the document alone determines, or this crate's data.
const INDEPENDENT: [&str; 3] = ["Query.nodes", "Query.relations", "Query.countries"];

#[derive(Parser)]
struct Options {
    #[command(flatten)]
    archive: ArchiveConfig,
}

/// The posts of the worst lists.
pub(crate) struct Posts {
    /// A post with as many replies, quotes, reposts, segments and earlier versions as possible.
    pub(crate) center: PostId,
    /// The last post of a long conversation.
    pub(crate) last: PostId,
    /// The name of a user whose followers the viewer follows.
    hub: String,
}

/// A list of the schema: its name, a query, the path of the list in the data, in which `*` stands for the entry with
/// the longest list, and the least number of entries.
type List = (&'static str, String, &'static str, usize);

/// Returns a content with as many segments as possible, of the maximum length.
pub(crate) fn content() -> Content {
    let entities: Vec<String> = (0..10).map(|n| format!(" @u{n} #t{n} l{n}.com")).collect();
    let beginning = format!("xx{} ", entities.concat());
    Content::parse(&format!("{beginning}{}", "x".repeat(2_000 - beginning.len()))).unwrap()
}

/// Writes the worst data for the viewer, who follows the first of these users and not the last.
pub(crate) async fn fill(app: &App, redis: &Redis, viewer: &Viewer, ids: &[UserId]) -> Posts {
    let (followed, stranger) = (&ids[..FULL], ids[ids.len() - 1]);
    let author = viewer.user().unwrap();
    let content = content();
    let request = PublishRequest { content: content.as_str(), ..PublishRequest::default() };
    let center = app.publish(viewer, request).await.unwrap();
    for version in 0..EDITS + 5 {
        let (content, post) = (format!("{version:02}{}", &content.as_str()[2..]), center);
        let request = EditRequest { post, content: &content, idempotency_key: None };
        app.edit_post(viewer, request).await.unwrap();
    }
    let reply = References { reply: Some(Reply::to(center, None)), ..References::default() };
    let quote = References { quoted: Some(center), ..References::default() };
    let repost = References { original: Some(center), ..References::default() };
    for post in import(app, followed, &content, &reply).await {
        app.bookmark(viewer, post).await.unwrap();
        app.like(viewer, post).await.unwrap();
    }
    import(app, followed, &content, &quote).await;
    import(app, followed, &Content::of_repost(), &repost).await;
    let (mut last, mut place) = (center, None);
    for _ in 0..DEPTH {
        place = Some(Reply::to(last, place.as_ref()));
        let reply = References { reply: place.clone(), ..References::default() };
        last = import(app, &[author], &content, &reply).await[0];
    }
    // The newest entries of the timeline are reposts of one post.
    let reposted = import(app, &[stranger], &content, &References::default()).await[0];
    let repost = References { original: Some(reposted), ..References::default() };
    import(app, followed, &Content::of_repost(), &repost).await;
    // One is open already.
    for _ in 1..SESSIONS {
        app.login("viewer", "correct horse", Some(&"x".repeat(100)), None).await.unwrap();
    }
    let others = &ids[ids.len() - 1 - 2 * FULL..ids.len() - 1];
    for (muted, blocked) in others[..FULL].iter().zip(&others[FULL..]) {
        app.mute(viewer, *muted, MuteScope::All, None).await.unwrap();
        app.block(viewer, *blocked).await.unwrap();
    }
    request_follows(redis, author, &others[..FULL]);
    like_all(redis, center, followed);
    let Options { archive } = Options::parse_from(["bench"]);
    let archive = Archive::new(&archive, Path::new(redis.directory())).unwrap();
    let mut connection = redis.client().get_connection().unwrap();
    for (number, days) in (1..).take(FULL).enumerate() {
        let day = app.today().plus(-days);
        archive.write_visits(day, number as u64).await.unwrap();
        let since = redis::cmd("HSET").arg("ff:{g}:visit:days").arg("since").arg(day.number()).to_owned();
        since.exec(&mut connection).unwrap();
    }
    Posts { center, last, hub: format!("u{}", ids.len() - 1) }
}

/// Returns the global id of a post.
pub(crate) fn id(post: PostId) -> String {
    URL_SAFE_NO_PAD.encode(format!("Post:{post}"))
}

/// Imports a post by each of these authors.
async fn import(app: &App, authors: &[UserId], content: &Content, references: &References) -> Vec<PostId> {
    let post = |author: &UserId| NewPost {
        references: references.clone(),
        author: *author,
        content: content.clone(),
        platform: None,
        visibility: Visibility::Public,
        created_at: app.now(),
    };
    app.import_posts(&authors.iter().map(post).collect::<Vec<_>>()).await.unwrap()
}

/// Writes requests to follow, in both directions, as they would be stored if the accounts were private.
fn request_follows(redis: &Redis, viewer: UserId, others: &[UserId]) {
    let mut connection = redis.client().get_connection().unwrap();
    for (at, other) in others.iter().enumerate() {
        for (of, one, another) in [
            ("requests", viewer, other),
            ("requesting", *other, &viewer),
            ("requesting", viewer, other),
            ("requests", *other, &viewer),
        ] {
            let key = format!("ff:{{u{one}}}:{of}");
            redis::cmd("ZADD").arg(key).arg(at).arg(another.get()).exec(&mut connection).unwrap();
        }
    }
}

/// Writes likes of a post by these users, as they are stored with the post.
fn like_all(redis: &Redis, post: PostId, users: &[UserId]) {
    let mut connection = redis.client().get_connection().unwrap();
    for (number, user) in (1..).zip(users) {
        let key = format!("ff:{{p{post}}}:likes");
        redis::cmd("ZADD").arg(key).arg(number).arg(user.get()).exec(&mut connection).unwrap();
    }
}

/// Returns the lists, with queries that show the worst data.
fn lists(posts: &Posts) -> Vec<List> {
    let (center, last) = (id(posts.center), id(posts.last));
    let of_post = |post: &str, list: &str| format!("{{ post(id: \"{post}\") {{ {list} }} }}");
    let of_center = |list: &str| of_post(&center, list);
    let of_viewer = |list: &str| format!("{{ viewer {{ {list} }} }}");
    let of_user = |list: &str| format!("{{ viewer {{ user {{ {list} }} }} }}");
    let of_hub = |list: &str| format!("{{ user(by: {{ username: \"{}\" }}) {{ {list} }} }}", posts.hub);
    let page = |list: &str| format!("{list}(first: 100) {{ nodes {{ __typename }} }}");
    let moderation = |list: &str| of_viewer(&format!("moderation {{ {} }}", page(list)));
    vec![
        ("Post.segments", of_center("segments { text }"), "post/segments", 61),
        ("Post.edits", of_center("edits { content }"), "post/edits", EDITS),
        ("Post.ancestors", of_post(&last, "ancestors(first: 40) { id }"), "post/ancestors", 40),
        ("Post.replies", of_center(&page("replies")), "post/replies/nodes", 100),
        ("Post.quotes", of_center(&page("quotes")), "post/quotes/nodes", 100),
        ("Post.repostedBy", of_center(&page("repostedBy")), "post/repostedBy/nodes", 100),
        ("Post.likedBy", of_center(&page("likedBy")), "post/likedBy/nodes", 100),
        ("Viewer.timeline", of_viewer(&page("timeline")), "viewer/timeline/nodes", 100),
        ("Viewer.likes", of_viewer(&page("likes")), "viewer/likes/nodes", 100),
        ("Viewer.bookmarks", of_viewer(&page("bookmarks")), "viewer/bookmarks/nodes", 100),
        ("Viewer.muted", of_viewer(&page("muted")), "viewer/muted/nodes", 100),
        ("Viewer.blocked", of_viewer(&page("blocked")), "viewer/blocked/nodes", 100),
        ("Viewer.followRequests", of_viewer(&page("followRequests")), "viewer/followRequests/nodes", 100),
        (
            "Viewer.sentFollowRequests",
            of_viewer(&page("sentFollowRequests")),
            "viewer/sentFollowRequests/nodes",
            100,
        ),
        ("Viewer.sessions", of_viewer("sessions { label }"), "viewer/sessions", SESSIONS),
        ("User.followers", of_user(&page("followers")), "viewer/user/followers/nodes", 100),
        ("User.following", of_user(&page("following")), "viewer/user/following/nodes", 100),
        ("User.mutuals", of_user(&page("mutuals")), "viewer/user/mutuals/nodes", 100),
        ("User.knownFollowers", of_hub(&page("knownFollowers")), "user/knownFollowers/nodes", 100),
        ("User.posts", of_user(&page("posts")), "viewer/user/posts/nodes", 100),
        (
            "User.followersByRegion",
            of_user("followersByRegion(first: 100) { regions { count } }"),
            "viewer/user/followersByRegion/regions",
            1,
        ),
        (
            "PostEdge.repostedBy",
            of_viewer("timeline(first: 100) { edges { repostedBy { id } } }"),
            "viewer/timeline/edges/*/repostedBy",
            90,
        ),
        (
            "PostEdge.positions",
            of_viewer("timeline(first: 100) { edges { positions } }"),
            "viewer/timeline/edges/*/positions",
            90,
        ),
        ("Moderation.accounts", moderation("accounts"), "viewer/moderation/accounts/nodes", 1),
        ("Moderation.reports", moderation("reports"), "viewer/moderation/reports/nodes", 100),
        ("Moderation.log", moderation("log"), "viewer/moderation/log/nodes", 100),
        ("Moderation.invites", moderation("invites"), "viewer/moderation/invites/nodes", 100),
        (
            "Audience.regions",
            of_viewer("audience(days: 30) { regions(first: 100) { count } }"),
            "viewer/audience/regions",
            1,
        ),
        (
            "Country.subdivisions",
            of_user("region { country { subdivisions { name } } }"),
            "viewer/user/region/country/subdivisions",
            200,
        ),
        ("Query.visits", "{ visits(first: 100) { uniqueVisitors } }".to_owned(), "visits", 100),
    ]
}

/// Asserts that the world has the worst data for every list of the schema.
pub(crate) async fn check(posts: &Posts, read: impl AsyncFn(&str) -> Value) {
    let lists = lists(posts);
    for name in in_schema() {
        let is_known = INDEPENDENT.contains(&&*name) || lists.iter().any(|(known, ..)| *known == name);
        assert!(is_known, "`{name}` has no worst data: add them in benches/worst/lists.rs");
    }
    for (name, query, path, least) in lists {
        let data = read(&query).await;
        let entries = length(&data, &path.split('/').collect::<Vec<_>>());
        assert!(entries >= least, "`{name}` has {entries} entries, not {least}: {query}");
    }
}

/// Returns the length of the list at a path; 0 if there is none.
fn length(value: &Value, path: &[&str]) -> usize {
    match path {
        [] => value.as_array().map_or(0, Vec::len),
        ["*", rest @ ..] => {
            let entries = value.as_array().map_or(&[][..], Vec::as_slice);
            entries.iter().map(|entry| length(entry, rest)).max().unwrap_or(0)
        }
        [name, rest @ ..] => length(&value[*name], rest),
    }
}

/// Returns the names of the lists: fields that state a size, without errors and events.
fn in_schema() -> Vec<String> {
    let schema = Schema::parse_and_validate(fanfold::graphql::sdl(), "schema.graphql").unwrap();
    let objects = schema.types.values().filter_map(ExtendedType::as_object);
    let lists = objects.flat_map(|object| {
        let sized = object.fields.values().filter(|field| field.directives.get("listSize").is_some());
        sized.map(|field| format!("{}.{}", object.name, field.name))
    });
    lists.filter(|name| !name.ends_with(".userErrors")).collect()
}
