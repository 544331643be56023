//! A world in which requests can be expensive, and a viewer who can see all of it.

use std::fmt::Write as _;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, header};
use clap::Parser;
use fanfold::app::App;
use fanfold::app::import::ImportFollow;
use fanfold::app::moderation::invite::NewInvite;
use fanfold::app::post::NewPost;
use fanfold::config::{GraphqlConfig, HttpConfig};
use fanfold::graphql::{Api, GraphqlRequest};
use fanfold::model::clock::Timestamp;
use fanfold::model::details::References;
use fanfold::model::id::{PostId, UserId};
use fanfold::model::moderation::{ReportReason, Reported};
use fanfold::model::moderator::Moderator;
use fanfold::model::post::{Content, Visibility};
use fanfold::model::region::Table;
use fanfold::store::batch::Batch;
use fanfold::store::report::NewReport;
use fanfold::store::{audience, region, report};
use http_body_util::BodyExt as _;
use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tower::ServiceExt as _;

use crate::document::{Document, Pool};
use crate::ground::Redis;
use crate::lists;
use crate::people::users;
use crate::usage::{Before, Usage};

/// The size of a world.
pub(crate) struct Sizes {
    users: usize,
    /// Users who follow five thousand others, the viewer among them.
    hubs: usize,
    /// Users with a thousand posts in Redis, and some in the archive.
    authors: usize,
    /// Users who have viewed the viewer's profile.
    visitors: usize,
}

impl Sizes {
    pub(crate) const LARGE: Self = Self { users: 20_000, hubs: 100, authors: 100, visitors: 10_000 };
    pub(crate) const SMALL: Self = Self { users: 6_000, hubs: 20, authors: 12, visitors: 2_000 };
}

/// The maximum number of users that a user can follow.
const FOLLOWED: usize = 5_000;
/// Posts per author: as many as stay in Redis, and some that are archived.
const POSTS: usize = 1_100;
/// The maximum characters of a post.
const CHARACTERS: usize = 2_000;
/// Open reports and invites: more than the largest page of them.
const TO_MODERATE: usize = 150;

pub(crate) struct World {
    redis: Redis,
    api: Api,
    router: Router,
    token: String,
    pool: Pool,
}

#[derive(Parser)]
struct Options {
    #[command(flatten)]
    graphql: GraphqlConfig,
    #[command(flatten)]
    http: HttpConfig,
}

impl World {
    pub(crate) async fn build(sizes: &Sizes) -> Self {
        let redis = Redis::start(None);
        let app = redis.app(&["--post-publishes-per-author", "100000"]).await;
        let opened = app.register("viewer", "correct horse", None, None, None, None).await.unwrap();
        let viewer = opened.viewer.user().unwrap();
        let ids = users(&app, sizes.users).await;
        settle(&app, &[&ids[..], &[viewer]].concat()).await;
        follow(&app, viewer, &ids, sizes.hubs).await;
        let posts = publish(&app, &ids[..sizes.authors], viewer).await;
        let worst = lists::fill(&app, &redis, &opened.viewer, &ids).await;
        app.mover().drain(std::time::Duration::ZERO).await.unwrap();
        look_at(&app, viewer, &ids[..sizes.visitors]).await;
        moderate(&app, viewer, &ids, &posts).await;
        let Options { graphql, http } = Options::parse_from(["bench"]);
        let api = Api::open(app, graphql).unwrap();
        let router = fanfold::http::routers(api.clone(), http, watch::channel(false).1).main;
        let token = opened.token.expose();
        let mut world = Self { redis, api, router, token, pool: Pool::default() };
        lists::check(&worst, async |query| world.data(query).await).await;
        world.fill_pool(&ids, sizes, &worst).await;
        world
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Returns true if the server accepts a document for execution.
    pub(crate) fn is_admissible(&self, document: &Document) -> bool {
        let request = GraphqlRequest {
            query: Some(document.text.clone()),
            variables: Value::Object(document.variables.clone()),
            ..GraphqlRequest::default()
        };
        self.api.plan(request).is_ok()
    }

    /// Sends a document as a client would, and measures its usage.
    pub(crate) async fn measure(&self, document: &Document) -> Usage {
        let mut connection = self.redis.client().get_connection().unwrap();
        let before = Before::note(&mut connection);
        let bytes = self.send(&document.text, &document.variables, document.is_signed_in).await;
        before.usage(&mut connection, bytes.len() as u64)
    }

    async fn send(&self, query: &str, variables: &Map<String, Value>, is_signed_in: bool) -> Vec<u8> {
        let mut request = Request::post("/graphql").header(header::CONTENT_TYPE, "application/json");
        if is_signed_in {
            request = request.header(header::AUTHORIZATION, format!("Bearer {}", self.token));
        }
        let body = Body::from(json!({ "query": query, "variables": variables }).to_string());
        let response = self.router.clone().oneshot(request.body(body).unwrap()).await.unwrap();
        response.into_body().collect().await.unwrap().to_bytes().to_vec()
    }

    async fn data(&self, query: &str) -> Value {
        let answer: Value = serde_json::from_slice(&self.send(query, &Map::new(), true).await).unwrap();
        assert_eq!(answer.get("errors"), None, "{query}");
        answer["data"].clone()
    }

    /// Collects ids and cursors of expensive data.
    async fn fill_pool(&mut self, ids: &[UserId], sizes: &Sizes, worst: &lists::Posts) {
        let mut query = String::from(
            "{ viewer { user { id } timeline(first: 100) { pageInfo { endCursor } nodes { id } } } ",
        );
        // Authors, hubs, and others.
        let numbers = [0, 1, sizes.authors - 1, sizes.authors, sizes.hubs, ids.len() - 1];
        for number in numbers {
            write!(query, "u{number}: user(by: {{ username: \"u{number}\" }}) {{ id posts(first: 100) {{ pageInfo {{ endCursor }} nodes {{ id }} }} followers(first: 100) {{ pageInfo {{ endCursor }} }} }} ").unwrap();
        }
        let data = self.data(&format!("{query}}}")).await;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let mut pool =
            Pool { names: numbers.iter().map(|number| format!("u{number}")).collect(), ..Pool::default() };
        pool.names.push("viewer".to_owned());
        // Often.
        for _ in 0..numbers.len() {
            pool.posts.extend([worst.center, worst.last].map(lists::id));
        }
        pool.users.extend(text(&data["viewer"]["user"]["id"]));
        for number in numbers {
            let user = &data[&format!("u{number}")];
            pool.users.extend(text(&user["id"]));
            pool.posts.extend(text(&user["posts"]["nodes"][0]["id"]));
            pool.posts.extend(text(&user["posts"]["nodes"][99]["id"]));
            pool.cursors.extend(text(&user["posts"]["pageInfo"]["endCursor"]));
            pool.cursors.extend(text(&user["followers"]["pageInfo"]["endCursor"]));
        }
        // Pages down the timeline, into the archive.
        let mut cursor = text(&data["viewer"]["timeline"]["pageInfo"]["endCursor"]);
        for _ in 0..12 {
            let Some(after) = cursor.take() else { break };
            let query = format!(
                "{{ viewer {{ timeline(first: 100, after: \"{after}\") {{ pageInfo {{ endCursor }} }} }} }}"
            );
            cursor = text(&self.data(&query).await["viewer"]["timeline"]["pageInfo"]["endCursor"]);
            pool.cursors.push(after);
        }
        self.pool = pool;
    }
}

/// Sets the region of all users to a country with many subdivisions.
async fn settle(app: &App, ids: &[UserId]) {
    let region = Table::current().find("SI", None).ok();
    for ids in ids.chunks(1_000) {
        let mut batch = Batch::new("bench: settle");
        let tickets =
            ids.iter().map(|&id| batch.push(region::write(app.store().keys(), id, region))).collect();
        batch.send(app.store()).await.unwrap().take_all(tickets).unwrap();
    }
}

/// Makes the viewer and other hubs follow the maximum number of users, including all authors. Some of these follow
/// back.
async fn follow(app: &App, viewer: UserId, ids: &[UserId], hubs: usize) {
    let at = Timestamp::from_millis(1_000);
    let hubs = std::iter::once(viewer).chain(ids.iter().rev().take(hubs - 1).copied());
    for hub in hubs {
        let followed = ids.iter().filter(|id| **id != hub).take(FOLLOWED);
        let edges = |&other: &UserId| {
            [
                ImportFollow { follower: hub, followee: other, at },
                ImportFollow { follower: other, followee: hub, at },
            ]
        };
        let edges: Vec<ImportFollow> = followed.flat_map(edges).collect();
        for edges in edges.chunks(5_000) {
            app.import_follows(edges.to_vec()).await.unwrap();
        }
    }
}

/// Publishes posts of maximum length: with the maximum number of segments, of four bytes a character, and of one.
/// Returns the oldest post of each author.
async fn publish(app: &App, authors: &[UserId], viewer: UserId) -> Vec<PostId> {
    let of = |character: &str| Content::parse(&character.repeat(CHARACTERS)).unwrap();
    let contents = [lists::content(), of("\u{1f980}"), of("x")];
    let mut oldest = Vec::new();
    for number in 0..POSTS {
        let post = |(index, &author): (usize, &UserId)| NewPost {
            references: References::default(),
            author,
            content: contents[(index + number) % contents.len()].clone(),
            platform: None,
            visibility: Visibility::Public,
            created_at: Timestamp::from_millis(i64::try_from(number).unwrap()),
        };
        let posts: Vec<NewPost> = authors.iter().chain([&viewer]).enumerate().map(post).collect();
        let published = app.import_posts(&posts).await.unwrap();
        if oldest.is_empty() {
            oldest = published;
        }
    }
    oldest
}

/// Records a view of the viewer's profile by each of the visitors.
async fn look_at(app: &App, viewer: UserId, visitors: &[UserId]) {
    for visitors in visitors.chunks(1_000) {
        let mut batch = Batch::new("bench: read");
        let keys = app.store().keys();
        let record = |&visitor: &UserId| batch.push(audience::record(keys, viewer, app.today(), visitor));
        let tickets = visitors.iter().map(record).collect();
        batch.send(app.store()).await.unwrap().take_all(tickets).unwrap();
    }
}

/// Makes the viewer a moderator, with reports of archived posts, invites, and a log.
async fn moderate(app: &App, viewer: UserId, ids: &[UserId], posts: &[PostId]) {
    app.set_moderator(&Moderator::Operator, viewer, true).await.unwrap();
    let by_viewer = Moderator::User(viewer);
    let mut batch = Batch::new("bench: report");
    let mut tickets = Vec::new();
    for (number, &reporter) in ids.iter().take(TO_MODERATE).enumerate() {
        let invite = NewInvite { uses: 1, expires_at: None, note: "For a friend." };
        app.create_invite(&by_viewer, invite).await.unwrap();
        let author = number % posts.len();
        // The last author is the viewer.
        let user = ids.get(author).copied().filter(|_| author + 1 < posts.len()).unwrap_or(viewer);
        let reported = Reported { user, post: Some(posts[author]) };
        let reason = ReportReason::parse("This is spam.").unwrap();
        let new = NewReport { reporter, reported, at: app.now(), reason };
        tickets.push(batch.push(report::add(app.store().keys(), &new, 1)));
    }
    batch.send(app.store()).await.unwrap().take_all(tickets).unwrap();
}
