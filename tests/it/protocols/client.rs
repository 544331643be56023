//! The client package: the entries to which a client applies events are those of the page that it would read.

use std::cell::RefCell;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::{Request, header};
use futures::StreamExt as _;
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::time::timeout;

use crate::harness::case::model_config;
use crate::harness::post::publish;
use crate::harness::world::{Person, World, deliver_all};

/// Number of users beside the viewer.
const OTHERS: usize = 3;
/// Entries per page.
const PAGE: usize = 3;
/// Timeout of an event that is due.
const DUE: Duration = Duration::from_secs(45);

const ENTRY: &str = "cursor key positions repostedBy { id } node { id author { id } }";

/// A change that a user makes.
#[derive(Clone, Copy, Debug)]
enum Change {
    Publish,
    /// Repost the post of this rank among all posts, the newest first.
    Repost(usize),
    Undo(usize),
    /// Delete the post of this rank among the user's own.
    Delete(usize),
    Edit(usize),
    /// The viewer's relation to the user.
    Follow,
    Unfollow,
    Mute,
    MuteReposts,
    Unmute,
    Block,
    Unblock,
    /// The user blocks the viewer, until the end.
    BlockedBy,
}

impl Change {
    /// Returns the mutation of the viewer's relation to a user; `None` for other changes.
    fn of_relation(self) -> Option<&'static str> {
        Some(match self {
            Self::Follow => "follow(input: { userId: $id })",
            Self::Unfollow => "unfollow(input: { userId: $id })",
            Self::Mute => "mute(input: { userId: $id })",
            Self::MuteReposts => "mute(input: { userId: $id, scope: REPOSTS })",
            Self::Unmute => "unmute(input: { userId: $id })",
            Self::Block => "block(input: { userId: $id })",
            Self::Unblock => "unblock(input: { userId: $id })",
            _ => return None,
        })
    }
}

/// A step of a history. Changes are made by one of the servers.
#[derive(Clone, Copy, Debug)]
enum Step {
    Change {
        server: usize,
        user: usize,
        change: Change,
    },
    /// The workers deliver posts.
    Deliver,
    /// The client starts anew.
    Start,
    /// The client reads the next page.
    ReadOn,
    /// The client receives all events, and is interrupted after this number of them.
    Receive {
        interrupted: usize,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    // Mostly posts of the user whom the viewer does not follow, which are in the timeline if others repost them.
    let author = prop_oneof![2 => Just(OTHERS), 1 => 0..=OTHERS];
    let change = prop_oneof![
        6 => author.prop_map(|user| (user, Change::Publish)),
        10 => (0..=OTHERS, 0..3usize).prop_map(|(user, rank)| (user, Change::Repost(rank))),
        4 => (0..=OTHERS, 0..3usize).prop_map(|(user, rank)| (user, Change::Undo(rank))),
        2 => (0..=OTHERS, 0..3usize).prop_map(|(user, rank)| (user, Change::Delete(rank))),
        1 => (0..=OTHERS, 0..3usize).prop_map(|(user, rank)| (user, Change::Edit(rank))),
        6 => (1..=OTHERS, relations()),
    ];
    let change =
        (0..2usize, change).prop_map(|(server, (user, change))| Step::Change { server, user, change });
    let step = prop_oneof![
        10 => change,
        1 => Just(Step::Deliver),
        1 => Just(Step::Start),
        1 => Just(Step::ReadOn),
        3 => (0..6usize).prop_map(|interrupted| Step::Receive { interrupted }),
    ];
    proptest::collection::vec(step, 1..30)
}

fn relations() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => Just(Change::Follow),
        1 => Just(Change::Unfollow),
        1 => Just(Change::Mute),
        1 => Just(Change::MuteReposts),
        2 => Just(Change::Unmute),
        1 => Just(Change::Block),
        1 => Just(Change::Unblock),
        1 => Just(Change::BlockedBy),
    ]
}

/// A process that applies events with the client package.
struct Package {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Package {
    fn start() -> Self {
        let mut process = Command::new("node")
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/clients/typescript/tests/entries.mjs"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("node is installed");
        let (input, output) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        Self { process, input, output: BufReader::new(output) }
    }

    /// Performs a call, and returns the entries after it, and whether there are further pages.
    fn call(&mut self, call: &Value) -> (Vec<Value>, bool) {
        writeln!(self.input, "{call}").unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let Value::Object(mut state) = serde_json::from_str(&line).expect("the process runs") else {
            panic!("{line} is no object");
        };
        let Some(Value::Array(entries)) = state.remove("entries") else { panic!("{line} has no entries") };
        (entries, state["hasMore"] == true)
    }
}

impl Drop for Package {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// A subscription as an event stream.
struct Events {
    body: BodyDataStream,
    received: String,
}

impl Events {
    async fn after(world: &World, viewer: &Person, cursor: &str) -> Self {
        let query = format!(
            "subscription ($after: String) {{ timeline(after: $after) {{
                __typename cursor
                ... on PostAdded {{ edge {{ {ENTRY} }} }}
                ... on PostRemoved {{ postId }}
                ... on RepostRemoved {{ postId userId }}
            }} }}"
        );
        let body = json!({ "query": query, "variables": { "after": cursor } }).to_string();
        let request = Request::post("/graphql")
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "text/event-stream")
            .header(header::AUTHORIZATION, format!("Bearer {}", viewer.token));
        let response = world.begin(request.body(Body::from(body)).unwrap()).await;
        Self { body: response.into_body().into_data_stream(), received: String::new() }
    }

    /// Waits for the next event.
    async fn next(&mut self) -> Value {
        loop {
            if let Some((message, rest)) = self.received.split_once("\n\n") {
                let data = message.lines().find_map(|line| line.strip_prefix("data: ")).map(str::to_owned);
                let rest = rest.to_owned();
                self.received = rest;
                let Some(data) = data else { continue };
                let response: Value = serde_json::from_str(&data).unwrap();
                assert_eq!(response.get("errors"), None, "{response}");
                return response["data"]["timeline"].clone();
            }
            let chunk = timeout(DUE, self.body.next()).await.expect("an event is due");
            let chunk = chunk.expect("the stream goes on").unwrap();
            self.received.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }
}

/// Two servers, and the package, for one history after another.
struct Theatre {
    servers: [World; 2],
    package: Package,
    /// Number of histories so far.
    histories: usize,
}

impl Theatre {
    async fn new(strategy: &str) -> Self {
        // Two followers make a star.
        let options = ["--timeline-strategy", strategy, "--timeline-push-limit", "1"];
        let options = [&options[..], &["--relation-changes-per-pair", "1000000"]].concat();
        let world = World::with(&options).await;
        let other = world.beside(&options).await;
        for app in [world.app.clone(), other.app.clone()] {
            tokio::spawn(async move { app.keep_listening().await });
        }
        Self { servers: [world, other], package: Package::start(), histories: 0 }
    }
}

/// A history: the viewer follows two of the others, and one whose posts mark the end of what was sent.
struct Play<'a> {
    theatre: &'a mut Theatre,
    viewer: Person,
    others: Vec<Person>,
    marker: Person,
    /// All posts with their authors, the oldest first.
    posts: Vec<(String, usize)>,
    /// Users who have blocked the viewer.
    invisible: Vec<String>,
    events: Events,
    /// The cursor of the last event, or of what was read.
    cursor: String,
    /// Number of changes since the last events were received that may reset the timeline.
    resets: usize,
    entries: Vec<Value>,
    has_more: bool,
}

impl<'a> Play<'a> {
    async fn begin(theatre: &'a mut Theatre) -> Self {
        theatre.histories += 1;
        let turn = theatre.histories;
        let world = &theatre.servers[0];
        let mut people = Vec::new();
        for number in 0..OTHERS + 2 {
            people.push(world.register(&format!("user{turn}x{number}")).await);
        }
        let (viewer, marker) = (people.remove(0), people.pop().unwrap());
        for followed in [&marker, &people[0], &people[1]] {
            world.follow(&viewer, followed).await;
        }
        let page = page(world, &viewer, PAGE, None).await;
        let cursor = page["liveCursor"].as_str().unwrap().to_owned();
        let events = Events::after(world, &viewer, &cursor).await;
        let (entries, has_more) = theatre.package.call(&json!({ "read": page }));
        let (posts, invisible) = (Vec::new(), Vec::new());
        Self {
            theatre,
            viewer,
            others: people,
            marker,
            posts,
            invisible,
            events,
            cursor,
            resets: 0,
            entries,
            has_more,
        }
    }

    fn person(&self, user: usize) -> &Person {
        user.checked_sub(1).map_or(&self.viewer, |other| &self.others[other])
    }

    fn server(&self, server: usize) -> &World {
        &self.theatre.servers[server]
    }

    async fn step(&mut self, step: Step) -> Result<(), TestCaseError> {
        self.server(0).clock.advance(Duration::from_millis(7));
        match step {
            Step::Change { server, user, change } => self.change(server, user, change).await,
            Step::Deliver => deliver_all(&self.server(1).app).await,
            Step::Start => self.start().await,
            Step::ReadOn => self.read_on().await,
            Step::Receive { interrupted } => return self.receive(interrupted).await,
        }
        Ok(())
    }

    async fn change(&mut self, server: usize, user: usize, change: Change) {
        let (world, person) = (self.server(server), self.person(user).clone());
        let any = |rank: usize| self.posts.iter().rev().nth(rank).cloned();
        let own =
            |rank: usize| self.posts.iter().rev().filter(|(_, author)| *author == user).nth(rank).cloned();
        let mutate = async |by: &Person, mutation: &str, id: &str| {
            let query = format!("mutation ($id: ID!) {{ change: {mutation} {{ userErrors {{ code }} }} }}");
            world.data(Some(&by.token), &query, json!({ "id": id })).await;
        };
        match change {
            Change::Publish => {
                let post = publish(world, &person, "x").await;
                self.posts.push((post, user));
            }
            Change::Repost(rank) => {
                let Some((post, _)) = any(rank) else { return };
                mutate(&person, "repost(input: { postId: $id })", &post).await;
            }
            Change::Undo(rank) => {
                let Some((post, _)) = any(rank) else { return };
                mutate(&person, "undoRepost(input: { postId: $id })", &post).await;
            }
            Change::Delete(rank) => {
                let Some((post, _)) = own(rank) else { return };
                mutate(&person, "deletePost(input: { postId: $id })", &post).await;
                self.posts.retain(|(other, _)| *other != post);
            }
            Change::Edit(rank) => {
                let Some((post, _)) = own(rank) else { return };
                mutate(&person, "editPost(input: { postId: $id, content: \"y\" })", &post).await;
            }
            Change::BlockedBy => {
                mutate(&person, "block(input: { userId: $id })", &self.viewer.id).await;
                self.invisible.push(person.id);
            }
            _ => {
                let mutation = change.of_relation().expect("it is a change of a relation");
                mutate(&self.viewer, mutation, &person.id).await;
                self.resets += 1;
            }
        }
    }

    /// Reads the first page, and subscribes to the events after it.
    async fn start(&mut self) {
        let world = &self.theatre.servers[0];
        deliver_all(&world.app).await;
        let page = page(world, &self.viewer, PAGE, None).await;
        page["liveCursor"].as_str().unwrap().clone_into(&mut self.cursor);
        self.events = Events::after(world, &self.viewer, &self.cursor).await;
        (self.entries, self.has_more) = self.theatre.package.call(&json!({ "read": page }));
        self.resets = 0;
    }

    /// Reads the page after the last entry, and appends it.
    async fn read_on(&mut self) {
        let Some(last) = self.entries.last().filter(|_| self.has_more) else { return };
        let after = last["cursor"].as_str().unwrap().to_owned();
        let page = page(self.server(1), &self.viewer, PAGE, Some(&after)).await;
        (self.entries, self.has_more) = self.theatre.package.call(&json!({ "append": page }));
    }

    /// Receives all events, and is interrupted after some of them. Then compares the entries with those of a page.
    async fn receive(&mut self, interrupted: usize) -> Result<(), TestCaseError> {
        let world = self.server(0);
        deliver_all(&world.app).await;
        let last = publish(world, &self.marker, "z").await;
        deliver_all(&world.app).await;
        let mut resets = 0;
        for received in 1.. {
            let event = self.events.next().await;
            event["cursor"].as_str().unwrap().clone_into(&mut self.cursor);
            if event["__typename"] == "TimelineReset" {
                resets += 1;
                let page = page(self.server(received % 2), &self.viewer, PAGE, None).await;
                (self.entries, self.has_more) = self.theatre.package.call(&json!({ "read": page }));
            } else {
                (self.entries, self.has_more) = self.theatre.package.call(&json!({ "event": event }));
            }
            if received == interrupted {
                let server = &self.theatre.servers[received % 2];
                self.events = Events::after(server, &self.viewer, &self.cursor).await;
            }
            if event["edge"]["node"]["id"] == last.as_str() {
                break;
            }
        }
        prop_assert!(resets <= self.resets, "{} resets for {} changes", resets, self.resets);
        self.resets = 0;
        self.compare().await
    }

    /// Compares the entries, without those of users who are not visible any more, with a page of as many entries.
    async fn compare(&self) -> Result<(), TestCaseError> {
        let shown: Vec<_> = self.entries.iter().filter_map(|entry| self.visible(entry)).collect();
        let size = if self.has_more { shown.len() } else { 100 };
        let page = page(self.server(1), &self.viewer, size, None).await;
        let edges = page["edges"].as_array().unwrap();
        let cuts = self.has_more && !self.invisible.is_empty();
        let floor = shown.last().filter(|_| cuts).map_or("", |(_, rows)| &rows[0].0);
        let shown: Vec<_> = shown.iter().map(|(key, rows)| (key, above(rows, floor))).collect();
        let read: Vec<_> = edges.iter().map(entry).collect();
        let read: Vec<_> = read.iter().map(|(key, rows)| (key, above(rows, ""))).collect();
        prop_assert_eq!(shown, read);
        Ok(())
    }

    /// Returns the parts of an entry that are still visible.
    fn visible(&self, edge: &Value) -> Option<Entry> {
        let is_invisible = |user: &Value| self.invisible.iter().any(|other| user == other.as_str());
        let (key, mut rows) = entry(edge);
        rows.retain(|(_, user)| !is_invisible(user));
        (!is_invisible(&edge["node"]["author"]["id"]) && !rows.is_empty()).then_some((key, rows))
    }
}

/// The key of an entry, and its positions with the users who have reposted it, or null.
type Entry = (String, Vec<(String, Value)>);

fn entry(edge: &Value) -> Entry {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let users = edge["repostedBy"].as_array().unwrap();
    let positions = edge["positions"].as_array().unwrap();
    assert_eq!(positions.len(), users.len().max(1), "{edge}");
    let user = |index: usize| users.get(index).map_or(Value::Null, |user| user["id"].clone());
    let rows = positions.iter().enumerate().map(|(index, position)| (text(position), user(index)));
    (text(&edge["key"]), rows.collect())
}

/// Returns the positions that are not below a place, with their users.
fn above<'a>(rows: &'a [(String, Value)], place: &str) -> Vec<&'a (String, Value)> {
    rows.iter().filter(|(position, _)| position.as_str() >= place).collect()
}

async fn page(world: &World, viewer: &Person, size: usize, after: Option<&str>) -> Value {
    let query = format!(
        "query ($first: Int!, $after: String) {{ viewer {{ timeline(first: $first, after: $after) {{
            edges {{ {ENTRY} }} pageInfo {{ hasNextPage }} liveCursor
        }} }} }}"
    );
    let variables = json!({ "first": size, "after": after });
    world.data(Some(&viewer.token), &query, variables).await["viewer"]["timeline"].take()
}

/// Plays a history under a strategy, on the servers of this thread.
fn play(strategy: &str, steps: &[Step]) -> Result<(), TestCaseError> {
    thread_local! {
        static THEATRE: RefCell<Option<(Runtime, Theatre)>> = const { RefCell::new(None) };
    }
    THEATRE.with_borrow_mut(|theatre| {
        let (runtime, theatre) = theatre.get_or_insert_with(|| {
            let runtime = Runtime::new().unwrap();
            let theatre = runtime.block_on(Theatre::new(strategy));
            (runtime, theatre)
        });
        runtime.block_on(async {
            let mut play = Play::begin(theatre).await;
            for step in steps {
                play.step(*step).await?;
            }
            play.receive(0).await
        })
    })
}

proptest! {
    #![proptest_config(model_config(1_000))]

    #[test]
    fn entries_to_which_events_are_applied_are_those_of_a_page(steps in steps()) {
        play("hybrid", &steps)?;
    }

    #[test]
    fn they_are_with_posts_that_are_only_pushed(steps in steps()) {
        play("push", &steps)?;
    }

    #[test]
    fn they_are_with_posts_that_are_only_pulled(steps in steps()) {
        play("pull", &steps)?;
    }
}
