//! Exports of an account's data: complete against a naive model, wherever the download is cut; and who may download one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode, header};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use fanfold::app::user::ProfileUpdate;
use fanfold::app::viewer::Viewer;
use fanfold::model::clock::{Clock as _, Timestamp};
use fanfold::model::id::{PostId, UserId};
use fanfold::model::moderation::ActionNote;
use fanfold::model::moderator::Moderator;
use fanfold::model::post::Visibility;
use fanfold::model::relation::MuteScope;
use http_body_util::BodyExt as _;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};

use crate::harness::graph::Graph;
use crate::harness::issuer::{Issuer, SigningKey, claims};
use crate::harness::world::{PASSWORD, Person, World, archive_all, deliver_all};

/// Users in a random world. The owner of the export is the last one.
const USERS: usize = 260;

const EXPORT: &str = "mutation ($password: String) { exportAccount(input: { currentPassword: $password }) {
    exportPath expiresAt userErrors { code message field } } }";

/// A naive model of what users have done.
#[derive(Default)]
struct Model {
    private: BTreeSet<UserId>,
    suspended: BTreeSet<UserId>,
    follows: BTreeMap<(UserId, UserId), Timestamp>,
    requests: BTreeMap<(UserId, UserId), Timestamp>,
    blocks: BTreeMap<(UserId, UserId), Timestamp>,
    mutes: BTreeMap<(UserId, UserId), (Timestamp, Option<Timestamp>, MuteScope)>,
    posts: BTreeMap<PostId, Value>,
}

impl Model {
    fn has_block(&self, one: UserId, other: UserId) -> bool {
        self.blocks.contains_key(&(one, other)) || self.blocks.contains_key(&(other, one))
    }

    fn follow(&mut self, from: UserId, to: UserId, now: Timestamp) {
        let edge = (from, to);
        if self.has_block(from, to) || self.follows.contains_key(&edge) || self.requests.contains_key(&edge) {
            return;
        }
        let list = if self.private.contains(&to) { &mut self.requests } else { &mut self.follows };
        list.insert(edge, now);
    }

    fn end(&mut self, from: UserId, to: UserId) {
        self.follows.remove(&(from, to));
        self.requests.remove(&(from, to));
    }

    fn accept(&mut self, from: UserId, to: UserId, now: Timestamp) {
        if self.requests.remove(&(from, to)).is_some() {
            self.follows.insert((from, to), now);
        }
    }

    fn make_public(&mut self, user: UserId, now: Timestamp) {
        self.private.remove(&user);
        let waiting: Vec<_> = self.requests.keys().filter(|(_, to)| *to == user).copied().collect();
        waiting.into_iter().for_each(|(from, to)| self.accept(from, to, now));
    }

    fn block(&mut self, from: UserId, to: UserId, now: Timestamp) {
        self.end(from, to);
        self.end(to, from);
        self.blocks.entry((from, to)).or_insert(now);
    }

    /// Returns the lines of a user's lists and posts, in any order.
    fn lines(&self, owner: UserId, now: Timestamp, name: impl Fn(UserId) -> String) -> Vec<Value> {
        let is_seen = |user: &UserId| {
            !self.suspended.contains(user) && !self.blocks.contains_key(&(*user, owner)) && *user != owner
        };
        let line = |kind: &str, user: UserId, since: Timestamp| json!({ "type": kind, "userId": global("User", user.get()), "username": name(user), "since": print(since) });
        let mut lines: Vec<Value> = self.posts.values().cloned().collect();
        let edges = [
            (&self.follows, "following", "follower"),
            (&self.requests, "followRequestSent", "followRequestReceived"),
            (&self.blocks, "block", ""),
        ];
        for (edges, of_owner, of_other) in edges {
            for (&(from, to), &at) in edges {
                if from == owner && is_seen(&to) {
                    lines.push(line(of_owner, to, at));
                } else if to == owner && is_seen(&from) && !of_other.is_empty() {
                    lines.push(line(of_other, from, at));
                }
            }
        }
        for (&(from, to), &(since, until, scope)) in &self.mutes {
            if from == owner && is_seen(&to) && until.is_none_or(|until| until > now) {
                let mut mute = line("mute", to, since);
                mute["until"] = until.map_or(Value::Null, |until| Value::String(print(until)));
                mute["scope"] = json!(if scope == MuteScope::All { "ALL" } else { "REPOSTS" });
                lines.push(mute);
            }
        }
        lines
    }
}

fn global(kind: &str, id: u64) -> String {
    URL_SAFE_NO_PAD.encode(format!("{kind}:{id}"))
}

fn print(time: Timestamp) -> String {
    format!("{:.3}", jiff::Timestamp::from_millisecond(time.as_millis()).unwrap())
}

/// A random world, with its model.
struct Random {
    world: World,
    model: Model,
    rng: StdRng,
    ids: Vec<UserId>,
    viewers: BTreeMap<UserId, Viewer>,
    owner: Person,
    me: UserId,
}

impl Random {
    async fn new(seed: u64) -> Self {
        let options = [["--post-hot-limit", "20"], ["--post-publishes-per-author", "1000000"]];
        let world = World::with(options.as_flattened()).await;
        let graph = Graph { users: USERS, follows: Vec::new() };
        let mut ids = graph.load(&world.app, None).await;
        let owner = world.register("owner").await;
        let me = world.app.authenticate(&owner.token).await.unwrap().user().unwrap();
        ids.push(me);
        let (model, rng) = (Model::default(), StdRng::seed_from_u64(seed));
        Self { world, model, rng, ids, viewers: BTreeMap::new(), owner, me }
    }

    fn now(&self) -> Timestamp {
        self.world.clock.now()
    }

    async fn viewer(&mut self, user: UserId) -> Viewer {
        if !self.viewers.contains_key(&user) {
            let viewer = self.world.app.operator_as(user).await.unwrap();
            self.viewers.insert(user, viewer);
        }
        self.viewers[&user].clone()
    }

    fn draw(&mut self) -> UserId {
        self.ids[self.rng.random_range(0..USERS)]
    }

    async fn follow(&mut self, from: UserId, to: UserId) {
        let (viewer, now) = (self.viewer(from).await, self.now());
        // A follow across a block is rejected.
        drop(self.world.app.follow(&viewer, to).await);
        self.model.follow(from, to, now);
    }

    async fn publish(&mut self) {
        let viewer = self.viewer(self.me).await;
        let number = self.model.posts.len();
        let visibility = if self.rng.random_bool(0.3) { Visibility::Followers } else { Visibility::Public };
        let platform = self.rng.random_bool(0.5).then_some("web");
        let content = format!("post {number}\n\"quoted\" \\ ü 🦀");
        let id = self.world.app.publish(&viewer, &content, platform, visibility, None).await.unwrap();
        let line = json!({
            "type": "post",
            "id": global("Post", id.get()),
            "content": content,
            "platform": platform,
            "visibility": if visibility.is_public() { "PUBLIC" } else { "FOLLOWERS" },
            "createdAt": print(self.now()),
        });
        self.model.posts.insert(id, line);
    }

    /// Lets the owner, or another user to the owner, do something.
    async fn act(&mut self) {
        self.world.clock.advance(Duration::from_millis(7));
        let (other, me, now) = (self.draw(), self.me, self.now());
        if self.model.suspended.contains(&other) {
            return;
        }
        let (mine, theirs) = (self.viewer(me).await, self.viewer(other).await);
        let app = self.world.app.clone();
        match self.rng.random_range(0..100) {
            0..25 => self.follow(me, other).await,
            25..55 => self.follow(other, me).await,
            55..58 => {
                drop(app.unfollow(&mine, other).await);
                self.model.end(me, other);
            }
            58..61 => {
                drop(app.unfollow(&theirs, me).await);
                self.model.end(other, me);
            }
            61..66 => {
                drop(app.accept_follow_request(&mine, other).await);
                self.model.accept(other, me, now);
            }
            66..72 => {
                let is_private = self.rng.random_bool(0.7);
                let update = ProfileUpdate { is_private: Some(is_private), ..ProfileUpdate::default() };
                app.change_profile(&theirs, update).await.unwrap();
                if is_private {
                    self.model.private.insert(other);
                } else {
                    self.model.make_public(other, now);
                }
            }
            72..75 => {
                app.block(&mine, other).await.ok();
                if !self.model.blocks.contains_key(&(other, me)) {
                    self.model.block(me, other, now);
                }
            }
            75..77 => {
                app.block(&theirs, me).await.ok();
                if !self.model.blocks.contains_key(&(me, other)) {
                    self.model.block(other, me, now);
                }
            }
            77..85 => {
                let until = self.rng.random_bool(0.5).then(|| now.plus(Duration::from_millis(900)));
                let scope = if self.rng.random_bool(0.5) { MuteScope::All } else { MuteScope::Reposts };
                if app.mute(&mine, other, scope, until).await.is_ok() {
                    let former = self.model.mutes.get(&(me, other)).copied();
                    let is_active = |until: Option<Timestamp>| until.is_none_or(|until| until > now);
                    let former = former.filter(|(_, until, _)| is_active(*until));
                    let since = former.map_or(now, |(since, ..)| since);
                    self.model.mutes.insert((me, other), (since, until, scope));
                }
            }
            85..87 => {
                let note = ActionNote::default();
                app.suspend_user(&Moderator::Operator, other, note).await.unwrap();
                self.model.suspended.insert(other);
                self.viewers.remove(&other);
            }
            87..89 => {
                if let Some(post) = self.model.posts.keys().next().copied() {
                    app.delete_post(&mine, post).await.unwrap();
                    self.model.posts.remove(&post);
                }
            }
            _ => self.publish().await,
        }
    }

    /// Makes the account of the owner private from now on.
    async fn make_private(&mut self) {
        let viewer = self.viewer(self.me).await;
        let update = ProfileUpdate { is_private: Some(true), ..ProfileUpdate::default() };
        self.world.app.change_profile(&viewer, update).await.unwrap();
        self.model.private.insert(self.me);
    }

    async fn grow(seed: u64) -> Self {
        let mut random = Self::new(seed).await;
        for _ in 0..130 {
            random.publish().await;
        }
        for index in 0..220 {
            let other = random.ids[index];
            random.world.clock.advance(Duration::from_millis(1));
            random.follow(random.me, other).await;
            random.follow(other, random.me).await;
        }
        for _ in 0..250 {
            random.act().await;
        }
        random.make_private().await;
        for _ in 0..250 {
            random.act().await;
        }
        deliver_all(&random.world.app).await;
        archive_all(&random.world.app).await;
        random
    }

    fn expected(&self) -> Vec<Value> {
        let name = |user: UserId| {
            let index = self.ids.iter().position(|id| *id == user).unwrap();
            format!("u{index}")
        };
        self.model.lines(self.me, self.now(), name)
    }
}

async fn export(world: &World, person: &Person) -> String {
    let mut data = world.data(Some(&person.token), EXPORT, json!({ "password": PASSWORD })).await;
    assert_eq!(data["exportAccount"]["userErrors"], json!([]));
    data["exportAccount"]["exportPath"].take().as_str().unwrap().to_owned()
}

async fn get(world: &World, path: &str) -> (StatusCode, HeaderMap, String) {
    let request = Request::get(path).header(header::HOST, "localhost").body(Body::empty()).unwrap();
    let (status, headers, body) = world.send(request).await;
    (status, headers, String::from_utf8(body).unwrap())
}

async fn download(world: &World, path: &str, after: Option<&str>) -> String {
    let query = after.map_or_else(String::new, |after| format!("?after={after}"));
    let (status, _, body) = get(world, &format!("{path}{query}")).await;
    assert_eq!(status, StatusCode::OK, "{body}");
    body
}

fn parse(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
}

/// Returns the lines without their cursors and without the progress of deliveries, which the model does not have.
fn plain(lines: &[Value]) -> Vec<Value> {
    let strip = |line: &Value| {
        let mut line = line.clone();
        let fields = line.as_object_mut().unwrap();
        fields.remove("cursor");
        fields.remove("delivery");
        line
    };
    lines.iter().map(strip).collect()
}

/// Returns the lines of these types in a canonical order.
fn sorted(lines: Vec<Value>) -> Vec<String> {
    let mut lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    lines.sort();
    lines
}

/// Returns the lines that are about lists and posts. The first ones are about the account and its sessions.
fn of_model(lines: &[Value]) -> Vec<Value> {
    let is_own = |line: &&Value| !["account", "session", "end"].contains(&line["type"].as_str().unwrap());
    plain(lines).iter().filter(is_own).cloned().collect()
}

/// Returns what identifies a line: its type, and its object.
fn key(line: &Value) -> String {
    format!("{} {}{}", line["type"], line["id"], line["userId"])
}

/// Returns the complete lines of a text.
fn complete(text: &str) -> &str {
    &text[..text.rfind('\n').map_or(0, |end| end + 1)]
}

const TYPES: [&str; 10] = [
    "account",
    "session",
    "following",
    "follower",
    "followRequestSent",
    "followRequestReceived",
    "block",
    "mute",
    "post",
    "end",
];

#[tokio::test]
async fn an_export_is_complete_against_the_naive_model_wherever_it_is_cut() {
    let mut random = Random::grow(1).await;
    let world = &random.world;
    assert!(world.app.archived_count().await.unwrap() > 50, "most posts are archived");
    let path = export(world, &random.owner).await;
    let whole = download(world, &path, None).await;
    let lines = parse(&whole);
    assert_eq!(sorted(of_model(&lines)), sorted(random.expected()));
    for kind in TYPES {
        assert!(lines.iter().any(|line| line["type"] == kind), "there is no {kind}");
    }
    for kind in ["following", "follower", "post"] {
        assert!(lines.iter().filter(|line| line["type"] == kind).count() > 100, "several pages of {kind}");
    }
    let order: Vec<usize> =
        lines.iter().map(|line| TYPES.iter().position(|kind| line["type"] == *kind).unwrap()).collect();
    assert!(order.is_sorted(), "{order:?}");
    assert_eq!(whole.lines().last(), Some("{\"type\":\"end\"}"));
    // Cut anywhere, the download continues with the next line.
    for _ in 0..40 {
        let end = random.rng.random_range(whole.find('\n').unwrap() + 1..whole.len());
        let end = (0..=end).rev().find(|end| whole.is_char_boundary(*end)).unwrap();
        let had = complete(&whole[..end]);
        let last = parse(had).pop().unwrap();
        let rest = download(world, &path, Some(last["cursor"].as_str().unwrap())).await;
        assert_eq!(format!("{had}{rest}"), whole);
    }
}

#[tokio::test]
async fn nothing_that_exists_throughout_is_missing_or_twice_while_others_are_added() {
    let mut random = Random::grow(2).await;
    let before: BTreeMap<String, Value> =
        random.expected().into_iter().map(|line| (key(&line), line)).collect();
    let path = export(&random.world, &random.owner).await;
    let (mut text, mut after) = (String::new(), None::<String>);
    loop {
        let rest = download(&random.world, &path, after.as_deref()).await;
        if text.len() > 60_000 {
            text.push_str(&rest);
            break;
        }
        let end = random.rng.random_range(0..6_000.min(rest.len()));
        let end = (0..=end).rev().find(|end| rest.is_char_boundary(*end)).unwrap();
        text.push_str(complete(&rest[..end]));
        after = parse(&text).pop().map(|line| line["cursor"].as_str().unwrap().to_owned());
        for _ in 0..8 {
            random.act().await;
        }
        for _ in 0..3 {
            random.publish().await;
        }
        archive_all(&random.world.app).await;
    }
    let lines = of_model(&parse(&text));
    let expected: BTreeMap<String, Value> =
        random.expected().into_iter().map(|line| (key(&line), line)).collect();
    let mut found = BTreeMap::new();
    for line in lines {
        assert_eq!(found.insert(key(&line), line.clone()), None, "twice: {line}");
    }
    let throughout = before.iter().filter(|(key, line)| expected.get(*key) == Some(line));
    let missing: Vec<_> = throughout.filter(|(key, line)| found.get(*key) != Some(line)).collect();
    assert_eq!(missing, Vec::<(&String, &Value)>::new());
}

#[tokio::test]
async fn the_first_lines_are_the_account_and_its_sessions_as_the_api_shows_them() {
    let world = World::with(&["--media-hosts", "pictures.example"]).await;
    let ada = world.register("ada").await;
    let edit =
        "mutation { updateProfile(input: { displayName: \"Ada\", bio: \"a \\\"b\\\"\", isPrivate: true,
        avatarUrl: \"https://pictures.example/a.png\", region: { country: \"DE\", subdivision: \"DE-BE\" } })
        { userErrors { code } } }";
    world.data(Some(&ada.token), edit, Value::Null).await;
    world.clock.advance(Duration::from_secs(5));
    let login = format!(
        "mutation {{ login(input: {{ username: \"ada\", password: \"{PASSWORD}\", label: \"phone\" }}) {{ token }} }}"
    );
    world.data(None, &login, Value::Null).await;
    let publish = "mutation { publish(input: { content: \"a\", platform: \"web\", visibility: FOLLOWERS }) {
        post { id content platform visibility createdAt delivery { mode totalCount } } } }";
    let post = world.data(Some(&ada.token), publish, Value::Null).await["publish"]["post"].take();
    let query = "{ viewer { isModerator user { id username displayName bio avatarUrl isPrivate createdAt
            region { country { code name } subdivision { code name } } }
        sessions { id label createdAt lastSeenAt } } }";
    let mut viewer = world.data(Some(&ada.token), query, Value::Null).await["viewer"].take();
    let path = export(&world, &ada).await;
    let lines = parse(&download(&world, &path, None).await);
    let typed = |kind: &str, mut fields: Value| {
        fields["type"] = json!(kind);
        fields
    };
    let strip = |line: &Value| {
        let mut line = line.clone();
        line.as_object_mut().unwrap().remove("cursor");
        line
    };
    let mut account = typed("account", viewer["user"].take());
    account["isModerator"] = json!(false);
    (account["suspendedAt"], account["deletionAt"]) = (Value::Null, Value::Null);
    assert_eq!(strip(&lines[0]), account);
    // The API lists the sessions by their last use; the export, by sign-in.
    let mut sessions: Vec<Value> = serde_json::from_value(viewer["sessions"].take()).unwrap();
    sessions.sort_by_key(|session| session["createdAt"].to_string());
    let sessions: Vec<Value> = sessions.into_iter().map(|session| typed("session", session)).collect();
    assert_eq!(lines[1..3].iter().map(strip).collect::<Vec<_>>(), sessions);
    assert_eq!(strip(&lines[3]), typed("post", post));
    assert_eq!(lines[4], json!({ "type": "end" }));
    assert_eq!(lines.len(), 5);
}

#[tokio::test]
async fn a_download_is_a_private_attachment_and_wrong_cursors_are_rejected() {
    let world = World::new().await;
    let people = world.people(2).await;
    let path = export(&world, &people[0]).await;
    let (status, headers, body) = get(&world, &path).await;
    assert_eq!(status, StatusCode::OK);
    for (name, value) in [
        ("content-type", "application/jsonl"),
        ("content-disposition", "attachment; filename=\"fanfold-ann0.jsonl\""),
        ("cache-control", "no-store"),
        ("referrer-policy", "no-referrer"),
        ("x-content-type-options", "nosniff"),
    ] {
        assert_eq!(headers[name], value, "{name}");
    }
    assert!(headers.contains_key("x-request-id"));
    let request = Request::get(&path).header(header::HOST, "localhost").header("accept-encoding", "gzip");
    let (_, headers, compressed) = world.send(request.body(Body::empty()).unwrap()).await;
    assert_eq!(headers["content-encoding"], "gzip");
    let mut text = String::new();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&compressed[..]), &mut text).unwrap();
    assert_eq!(text, body);
    let head = Request::head(&path).header(header::HOST, "localhost").body(Body::empty()).unwrap();
    let (status, headers, none) = world.send(head).await;
    assert_eq!(
        (status, headers["content-type"].to_str().unwrap(), none.len()),
        (StatusCode::OK, "application/jsonl", 0)
    );
    let other = parse(&download(&world, &export(&world, &people[1]).await, None).await);
    let (other, own) =
        (other[0]["cursor"].as_str().unwrap(), parse(&body)[0]["cursor"].as_str().unwrap().to_owned());
    for (query, rule) in [
        ("after=x", "`after` is not a cursor issued by this server."),
        ("after=", "`after` is not a cursor issued by this server."),
        (&format!("after={other}"), "`after` is a cursor of another user's list."),
        (&format!("after={own}&after={own}"), "`after` is given more than once."),
    ] {
        let (status, _, body) = get(&world, &format!("{path}?{query}")).await;
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(
            (status, &body["errors"][0]["message"]),
            (StatusCode::BAD_REQUEST, &json!(rule)),
            "{query}"
        );
    }
}

async fn is_gone(world: &World, path: &str) -> bool {
    let (status, headers, body) = get(world, path).await;
    if status == StatusCode::OK {
        return false;
    }
    let body: Value = serde_json::from_str(&body).unwrap();
    assert!(body["errors"][0]["message"].as_str().unwrap().starts_with("There is no such export."));
    assert_eq!((status, &headers["cache-control"]), (StatusCode::NOT_FOUND, &"no-store".parse().unwrap()));
    true
}

#[tokio::test]
async fn an_export_requires_the_password_and_only_the_newest_can_be_downloaded_for_a_day() {
    let world = World::new().await;
    let ada = world.register("ada").await;
    for (password, message) in
        [(Value::Null, "Enter your current password."), (json!("wrong"), "The password is wrong.")]
    {
        let data = world.data(Some(&ada.token), EXPORT, json!({ "password": password })).await;
        let expected = json!({ "exportPath": null, "expiresAt": null, "userErrors": [
            { "code": "WRONG_CREDENTIALS", "message": message, "field": ["input", "currentPassword"] }] });
        assert_eq!(data["exportAccount"], expected);
    }
    assert_eq!(
        world.ask(None, EXPORT, Value::Null).await["errors"][0]["extensions"]["code"],
        "UNAUTHENTICATED"
    );
    let data = world.data(Some(&ada.token), EXPORT, json!({ "password": PASSWORD })).await;
    assert_eq!(data["exportAccount"]["expiresAt"], "2026-01-02T00:00:00.000Z");
    let first = data["exportAccount"]["exportPath"].as_str().unwrap().to_owned();
    assert!(!is_gone(&world, &first).await);
    let second = export(&world, &ada).await;
    assert!(is_gone(&world, &first).await && !is_gone(&world, &second).await);
    for path in
        ["/export/x", "/export/%ff", "/export/AAAA", &format!("{second}A"), &second[..second.len() - 1]]
    {
        assert!(is_gone(&world, path).await, "{path}");
    }
    // Only a hash is stored.
    let stored: String = world.redis.raw(&["GET", "ff:{u1}:export"]);
    assert!(!stored.contains(second.strip_prefix("/export/").unwrap()));
    world.clock.advance(Duration::from_secs(86_399));
    assert!(!is_gone(&world, &second).await);
    world.clock.advance(Duration::from_secs(1));
    assert!(is_gone(&world, &second).await);
}

#[tokio::test]
async fn an_export_ends_with_the_session_that_requested_it() {
    let world = World::new().await;
    let mutation = async |person: &Person, field: &str| {
        let document = format!("mutation {{ {field} {{ userErrors {{ message }} }} }}");
        let data = world.data(Some(&person.token), &document, Value::Null).await;
        assert!(data.as_object().unwrap().values().all(|done| done["userErrors"] == json!([])), "{data}");
    };
    let change = format!(
        "changePassword(input: {{ currentPassword: \"{PASSWORD}\", newPassword: \"another horse\" }})"
    );
    for (name, field) in [("ada", "logout"), ("ben", "logoutEverywhere"), ("cem", change.as_str())] {
        let person = world.register(name).await;
        let path = export(&world, &person).await;
        assert!(!is_gone(&world, &path).await);
        mutation(&person, field).await;
        assert!(is_gone(&world, &path).await, "{field}");
    }
    let login = format!(
        "mutation {{ login(input: {{ username: \"dee\", password: \"{PASSWORD}\" }}) {{ token viewer {{ user {{ id }} }} }} }}"
    );
    let id = |person: &Person| person.id.clone();
    let dee = world.register("dee").await;
    let path = export(&world, &dee).await;
    let mut again = world.data(None, &login, Value::Null).await["login"].take();
    let other = Person { id: id(&dee), token: again["token"].take().as_str().unwrap().to_owned() };
    mutation(&other, "logout").await;
    assert!(!is_gone(&world, &path).await, "another session has ended");
    // A suspension and a deletion end it, even if they are undone.
    let viewer = world.app.authenticate(&dee.token).await.unwrap();
    let user = viewer.user().unwrap();
    world.app.suspend_user(&Moderator::Operator, user, ActionNote::default()).await.unwrap();
    assert!(is_gone(&world, &path).await);
    world.app.unsuspend_user(&Moderator::Operator, user, ActionNote::default()).await.unwrap();
    assert!(is_gone(&world, &path).await);
    let mut again = world.data(None, &login, Value::Null).await["login"].take();
    let dee = Person { id: id(&dee), token: again["token"].take().as_str().unwrap().to_owned() };
    let path = export(&world, &dee).await;
    let viewer = world.app.authenticate(&dee.token).await.unwrap();
    world.app.delete_account(&viewer, PASSWORD, None).await.unwrap();
    assert!(is_gone(&world, &path).await);
    world.data(None, &login, Value::Null).await;
    assert!(is_gone(&world, &path).await, "the deletion was cancelled");
}

/// Begins a download and reads nothing of it.
async fn begin(world: &World, path: &str) -> Response {
    let request = Request::get(path).header(header::HOST, "localhost").body(Body::empty()).unwrap();
    world.begin(request).await
}

/// Returns what is left of a download, and true if it ended early.
async fn rest(response: Response) -> (String, bool) {
    let (mut text, mut body) = (String::new(), response.into_body());
    while let Some(frame) = body.frame().await {
        match frame {
            Ok(frame) => text.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap()),
            Err(_) => return (text, true),
        }
    }
    (text, false)
}

#[tokio::test]
async fn a_user_has_two_downloads_at_a_time_and_a_client_that_does_not_read_is_dropped() {
    let world = World::new().await;
    let people = world.people(2).await;
    let path = export(&world, &people[0]).await;
    let held = [begin(&world, &path).await, begin(&world, &path).await];
    let third = begin(&world, &path).await;
    assert_eq!(third.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(third.headers()["retry-after"], "10");
    assert!(rest(third).await.0.contains("This export is already being downloaded 2 times."));
    let other = export(&world, &people[1]).await;
    assert!(!is_gone(&world, &other).await, "another user is not affected");
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(61)).await;
    tokio::time::resume();
    // The tasks of the downloads have their turn.
    tokio::time::sleep(Duration::from_millis(20)).await;
    for response in held {
        let (text, is_cut) = rest(response).await;
        assert!(is_cut);
        let lines = parse(&text);
        assert_eq!((lines.len(), &lines[0]["type"]), (1, &json!("account")), "a page was waiting");
        // The download continues after the line.
        let after = lines[0]["cursor"].as_str().unwrap();
        assert!(download(&world, &path, Some(after)).await.ends_with("{\"type\":\"end\"}\n"));
    }
    // A client that leaves frees its seat.
    for _ in 0..5 {
        let response = begin(&world, &path).await;
        assert_eq!(response.status(), StatusCode::OK);
        drop(response);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_download_in_progress_ends_with_the_session() {
    let world = World::new().await;
    let listening = world.app.clone();
    let listening = tokio::spawn(async move { listening.keep_listening().await });
    let ada = world.register("ada").await;
    let path = export(&world, &ada).await;
    let held = begin(&world, &path).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    world.data(Some(&ada.token), "mutation { logout { userErrors { code } } }", Value::Null).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let (text, is_cut) = rest(held).await;
    assert!(is_cut && text.lines().count() == 1, "{text}");
    listening.abort();
}

#[tokio::test]
async fn downloads_are_charged_for_what_they_read() {
    let world = World::with(&["--graphql-rate-limit", "600", "--graphql-cost-limit", "600"]).await;
    let ada = world.register("ada").await;
    let viewer = world.app.authenticate(&ada.token).await.unwrap();
    for number in 0..120 {
        let content = format!("post {number}");
        world.app.publish(&viewer, &content, None, Visibility::Public, None).await.unwrap();
    }
    let path = export(&world, &ada).await;
    let left = async || {
        let query = "{ rateLimit { remaining } }";
        world.data(Some(&ada.token), query, Value::Null).await["rateLimit"]["remaining"].as_u64().unwrap()
    };
    let before = left().await;
    assert_eq!(download(&world, &path, None).await.lines().count(), 123);
    let after = left().await;
    // One for the request, one for each of the two lines before the posts, 150 for the first page of posts.
    assert_eq!(before - after, 1 + 1 + 1 + 150 + 2, "the query costs 2");
    let expensive = "{ viewer { user { posts(first: 100) { nodes { content } } } } }";
    while world.ask(Some(&ada.token), expensive, Value::Null).await.get("errors").is_none() {}
    while world.ask(Some(&ada.token), "{ __typename }", Value::Null).await.get("errors").is_none() {}
    let (status, headers, body) = get(&world, &path).await;
    assert_eq!(
        (status, headers.contains_key("retry-after")),
        (StatusCode::TOO_MANY_REQUESTS, true),
        "{body}"
    );
}

#[tokio::test]
async fn users_of_another_application_need_no_password_and_their_export_outlives_the_token() {
    let key = SigningKey::p256();
    let issuer = Issuer::start(&[key.jwk("a")]);
    let world = World::with(&issuer.options()).await;
    let header = json!({ "alg": "ES256", "typ": "JWT", "kid": "a" });
    let token = key.sign(&header, &claims("ada"));
    let ada = Person { id: String::new(), token: token.clone() };
    let data = world.data(Some(&token), EXPORT, Value::Null).await;
    let path = data["exportAccount"]["exportPath"].as_str().unwrap().to_owned();
    assert_eq!(parse(&download(&world, &path, None).await)[0]["username"], "ada");
    world.clock.advance(Duration::from_hours(23));
    assert_eq!(
        world.ask(Some(&ada.token), EXPORT, Value::Null).await["errors"][0]["extensions"]["code"],
        "UNAUTHENTICATED"
    );
    assert!(!is_gone(&world, &path).await);
    // The export ends with the key, as tokens do.
    issuer.publish(&[SigningKey::p256().jwk("b")]);
    world.app.refresh_jwt_keys().await;
    assert!(is_gone(&world, &path).await);
}

/// Returns a line as the page shows it: cursors and ids of sessions are opaque, and left out.
fn shown(line: &str) -> String {
    let mut line = line.to_owned();
    let value: Value = serde_json::from_str(&line).unwrap();
    let session = Some(&value["id"]).filter(|_| value["type"] == "session");
    for opaque in [value["cursor"].as_str(), session.and_then(Value::as_str)].into_iter().flatten() {
        line = line.replace(opaque, "…");
    }
    line
}

#[tokio::test]
async fn the_export_in_the_page_for_clients_is_what_a_server_sends() {
    let page = include_str!("../../../docs/clients.md");
    let example = page.split_once("```jsonl\n").unwrap().1.split_once("```").unwrap().0;
    let world = World::new().await;
    let people = [world.register("ada").await, world.register("ben").await, world.register("cem").await];
    let [ada, ben, cem] = &people;
    let change = async |mutation: &str| {
        let query = format!("mutation {{ {mutation} {{ userErrors {{ message }} }} }}");
        world.data(Some(&ada.token), &query, Value::Null).await;
    };
    world.clock.advance(Duration::from_mins(1));
    change(
        "updateProfile(input: { displayName: \"Ada\", region: { country: \"DE\", subdivision: \"DE-BE\" } })",
    )
    .await;
    world.follow(ada, ben).await;
    world.follow(cem, ada).await;
    change(&format!("mute(input: {{ userId: \"{}\", until: \"2026-02-01T00:00:00Z\" }})", cem.id)).await;
    change("publish(input: { content: \"Hello!\", platform: \"web\" })").await;
    let text = download(&world, &export(&world, ada).await, None).await;
    let lines: String = text.lines().map(|line| format!("{}\n", shown(line))).collect();
    assert_eq!(lines, example);
}
