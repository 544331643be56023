//! The harness: a world for each test.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode, header};
use axum::response::Response;
use clap::Parser;
use fanfold::app::App;
use fanfold::archive::Archive;
use fanfold::config::{DataConfig, GraphqlConfig, HttpConfig};
use fanfold::graphql::Api;
use fanfold::http::Routers;
use fanfold::model::clock::{Clock, Timestamp};
use fanfold::model::id::UserId;
use fanfold::model::rng::Rng;
use fanfold::store::Store;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tokio::sync::watch;
use tower::ServiceExt as _;

pub(crate) use crate::harness::deployment::Redis;
use crate::harness::reach::recorded;
use crate::harness::sql::Database;

/// A clock that only the test advances.
pub(crate) struct ManualClock(AtomicI64);

impl ManualClock {
    /// The time at which every test begins: 2026-01-01T00:00:00Z.
    pub(crate) const BEGINNING: i64 = 1_767_225_600_000;

    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(AtomicI64::new(Self::BEGINNING)))
    }

    pub(crate) fn advance(&self, duration: Duration) {
        let millis = i64::try_from(duration.as_millis()).unwrap();
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}

/// A day of the clock.
pub(crate) const DAY: Duration = Duration::from_hours(24);

/// The options of the command line, so that tests run with their defaults.
#[derive(Parser)]
pub(crate) struct Options {
    #[command(flatten)]
    pub(crate) data: DataConfig,
    #[command(flatten)]
    pub(crate) http: HttpConfig,
    #[command(flatten)]
    pub(crate) graphql: GraphqlConfig,
}

impl Options {
    pub(crate) fn new(redis: &Redis, options: &[&str]) -> Self {
        Self::at(&redis.url(), redis.directory(), options)
    }

    fn at(url: &str, directory: &str, options: &[&str]) -> Self {
        let mut all = vec!["test", "--redis-url", url, "--data-dir", directory];
        // Every read reads the watermark itself, unless a test says otherwise, so that its round trips can be counted.
        if !options.contains(&WATERMARK_AGE) {
            all.extend([WATERMARK_AGE, "0"]);
        }
        Self::parse_from(all.iter().chain(options))
    }
}

/// The option that lets timeline reads share a watermark.
pub(crate) const WATERMARK_AGE: &str = "--timeline-watermark-age";

/// A Redis, an application over it, and the routers of its server.
pub(crate) struct World {
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) app: App,
    routers: Routers,
    _running: watch::Sender<bool>,
    /// Last, so that it outlives its users.
    pub(crate) redis: Arc<Redis>,
}

/// A signed-in user.
#[derive(Clone, Debug)]
pub(crate) struct Person {
    pub(crate) id: String,
    pub(crate) token: String,
}

pub(crate) const PASSWORD: &str = "correct horse";

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(&[]).await
    }

    /// Creates a world with these options of the command line.
    pub(crate) async fn with(options: &[&str]) -> Self {
        Self::on(Redis::start(), options).await
    }

    /// Creates a world with an archive in this database.
    pub(crate) async fn with_archive(database: &Database, options: &[&str]) -> Self {
        Self::with(&[&["--archive-url", &database.url], options].concat()).await
    }

    /// Creates a world on a single server of its own, with these options.
    pub(crate) async fn own(options: &[&str]) -> Self {
        Self::on(Redis::own(), options).await
    }

    pub(crate) async fn on(redis: Redis, options: &[&str]) -> Self {
        Self::sharing(Arc::new(redis), ManualClock::new(), options).await
    }

    /// Creates another server of this world, with these options.
    pub(crate) async fn beside(&self, options: &[&str]) -> Self {
        Self::sharing(Arc::clone(&self.redis), Arc::clone(&self.clock), options).await
    }

    async fn sharing(redis: Arc<Redis>, clock: Arc<ManualClock>, options: &[&str]) -> Self {
        let app = app(&redis, &clock, options).await;
        let (running, stopping) = watch::channel(false);
        let Options { http, graphql, .. } = Options::new(&redis, options);
        let routers = fanfold::http::routers(Api::open(app.clone(), graphql).unwrap(), http, stopping);
        Self { clock, app, routers, _running: running, redis }
    }

    /// Requests a page of the admin listener; returns the status and the text.
    pub(crate) async fn page(&self, path: &str) -> (u16, String) {
        let request = Request::get(path).header(header::HOST, "localhost").body(Body::empty()).unwrap();
        let (status, _, body) = Self::send_to(&self.routers.admin, request).await;
        (status.as_u16(), String::from_utf8(body).unwrap())
    }

    /// Sends a request to the router and returns the response.
    pub(crate) async fn send(&self, request: Request<Body>) -> (StatusCode, HeaderMap, Vec<u8>) {
        Self::send_to(&self.routers.main, request).await
    }

    /// Sends a request to the router and returns the response, whose body is read later.
    pub(crate) async fn begin(&self, request: Request<Body>) -> Response {
        self.routers.main.clone().oneshot(request).await.unwrap()
    }

    /// Sends a request to one of the routers and returns the response.
    pub(crate) async fn send_to(router: &Router, request: Request<Body>) -> (StatusCode, HeaderMap, Vec<u8>) {
        let response = router.clone().oneshot(request).await.unwrap();
        let (head, body) = response.into_parts();
        (head.status, head.headers, body.collect().await.unwrap().to_bytes().to_vec())
    }

    /// Sends a document and returns the whole response.
    pub(crate) async fn ask(&self, token: Option<&str>, query: &str, variables: Value) -> Value {
        self.ask_as(token, "application/json", query, variables).await.1
    }

    /// Sends a document, accepting this media type.
    pub(crate) async fn ask_as(
        &self,
        token: Option<&str>,
        accept: &str,
        query: &str,
        variables: Value,
    ) -> (StatusCode, Value) {
        let body = json!({ "query": query, "variables": variables }).to_string();
        let mut request = Request::post("/graphql")
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, accept);
        if let Some(token) = token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        let (status, _, body) = self.send(request.body(body.into()).unwrap()).await;
        (status, serde_json::from_slice(&body).unwrap())
    }

    /// Sends a document that must succeed and returns its data.
    pub(crate) async fn data(&self, token: Option<&str>, query: &str, variables: Value) -> Value {
        let mut response = self.ask(token, query, variables).await;
        assert_eq!(response.get("errors"), None, "{query}");
        response["data"].take()
    }

    /// Registers a user.
    pub(crate) async fn register(&self, username: &str) -> Person {
        let query = "mutation ($input: RegisterInput!) {
            register(input: $input) { token viewer { user { id } } userErrors { message } }
        }";
        let input = json!({ "input": { "username": username, "password": PASSWORD } });
        let data = self.data(None, query, input).await;
        let text = |pointer: &str| data.pointer(pointer).unwrap().as_str().expect("is registered").to_owned();
        Person { id: text("/register/viewer/user/id"), token: text("/register/token") }
    }

    /// Registers several users, named `ann0`, `ann1`, …, with ids in this order.
    pub(crate) async fn people(&self, count: usize) -> Vec<Person> {
        let mut people = Vec::new();
        for number in 0..count {
            people.push(self.register(&format!("ann{number}")).await);
        }
        people
    }

    /// Makes a change with a mutation of `$id`, which must succeed.
    pub(crate) async fn change(&self, person: &Person, mutation: &str, id: &str) {
        let query = format!("mutation ($id: ID!) {{ change: {mutation} {{ userErrors {{ code }} }} }}");
        let data = self.data(Some(&person.token), &query, json!({ "id": id })).await;
        assert_eq!(data["change"]["userErrors"], json!([]), "{mutation}");
    }

    pub(crate) async fn follow(&self, follower: &Person, followee: &Person) -> Value {
        let query = "mutation ($id: ID!) { follow(input: { userId: $id }) {
            relation { status followingSince followerSince } userErrors { code message field } } }";
        self.data(Some(&follower.token), query, json!({ "id": followee.id })).await["follow"].take()
    }

    pub(crate) async fn unfollow(&self, follower: &Person, followee: &Person) -> Value {
        let query = "mutation ($id: ID!) { unfollow(input: { userId: $id }) {
            relation { status followingSince followerSince } userErrors { code message field } } }";
        self.data(Some(&follower.token), query, json!({ "id": followee.id })).await["unfollow"].take()
    }
}

/// Returns the user that a person is signed in as.
pub(crate) async fn user_of(world: &World, person: &Person) -> UserId {
    world.app.authenticate(&person.token).await.unwrap().user().unwrap()
}

/// Delivers every post to the timelines of its readers, and removes deleted posts from them. Two rounds: the removal of a
/// post queues those of its reposts, also in partitions that the first round has left behind.
pub(crate) async fn deliver_all(app: &App) {
    for _ in 0..2 {
        for mut worker in app.workers() {
            worker.drain(Duration::ZERO).await.unwrap();
        }
    }
}

/// Archives all waiting posts, including those that movers have left.
pub(crate) async fn archive_all(app: &App) {
    app.mover().drain(Duration::ZERO).await.unwrap();
}

/// Creates an application over a Redis, as another server process would have it.
pub(crate) async fn app(redis: &Redis, clock: &Arc<ManualClock>, options: &[&str]) -> App {
    app_at(&redis.url(), redis.directory(), clock, options).await
}

/// Opens an application over the Redis at this address.
pub(crate) async fn app_at(url: &str, directory: &str, clock: &Arc<ManualClock>, options: &[&str]) -> App {
    let DataConfig { redis, rules, archive } = Options::at(url, directory, options).data;
    let archive = Archive::new(&archive, &redis.data_dir).unwrap();
    let store = Store::open(&redis).await.unwrap();
    let app = App::new(store, archive, Arc::clone(clock) as _, Rng::from_seed(1), rules);
    app.open_jwt().await.unwrap();
    recorded(app)
}

/// Prints bytes in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// Returns the codes of all errors of a response.
pub(crate) fn codes(response: &Value) -> Vec<&str> {
    let errors = response["errors"].as_array().expect("has errors");
    errors.iter().map(|error| error["extensions"]["code"].as_str().expect("has a code")).collect()
}
