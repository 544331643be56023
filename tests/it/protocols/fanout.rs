//! Delivery by several processes, which are killed and stopped.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use fanfold::app::App;
use fanfold::app::post::NewPost;
use fanfold::model::details::References;
use fanfold::model::id::{PostId, UserId};
use fanfold::model::post::{Content, Visibility};
use serde_json::json;

use crate::harness::graph::Graph;
use crate::harness::server::{Server, command, eventually};
use crate::harness::world::{ManualClock, Redis, app};

/// Starts a process that delivers, and waits until it says so.
fn deliver(redis: &Redis) -> Child {
    let arguments = ["deliver", "--redis-url", &redis.url()];
    let mut process = command(&arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "Fanfold delivers\n");
    process
}

/// An author with this number of followers, all of whom have a timeline.
async fn audience(redis: &Redis, followers: usize) -> (App, UserId) {
    let app = app(redis, &ManualClock::new(), &["--timeline-push-limit", "1000000"]).await;
    let graph =
        Graph { users: followers + 1, follows: (1..=followers).map(|follower| (follower, 0)).collect() };
    let ids = graph.load(&app, None).await;
    // Timelines as they are after their owners have read them, with nothing to read. Each master of a cluster creates
    // those in its slots.
    let open = "for user = ARGV[1], ARGV[2] do redis.pcall('RPUSH', 'ff:{u' .. user .. '}:timeline', '=1:0:1:0') end";
    redis.raw::<()>(&["EVAL", open, "0", "2", &(followers + 1).to_string()]);
    (app, ids[0])
}

async fn publish(app: &App, author: UserId) -> PostId {
    let content = Content::parse("hello").unwrap();
    let post = NewPost {
        references: References::default(),
        author,
        content,
        platform: None,
        visibility: Visibility::Public,
        created_at: Graph::time(0),
    };
    app.import_posts(&[post]).await.unwrap()[0]
}

/// Waits until the delivery of a post is in progress.
fn until_begun(redis: &Redis, post: PostId) {
    let job = format!("deliver:{post}");
    let progress = || redis.raw::<Option<String>>(&["HGET", "ff:{f1}:fanout:progress", &job]);
    assert!(eventually(|| progress().is_some()), "the delivery of {post} has not begun");
}

/// Returns the numbers of followers that have the post once, and more than once.
fn receivers(redis: &Redis, followers: usize, post: PostId) -> (u64, u64) {
    let count = "local once, more = 0, 0
        for user = 2, ARGV[1] + 1 do
            local list, found = redis.pcall('LRANGE', 'ff:{u' .. user .. '}:timeline', 0, -2), 0
            for _, post in ipairs(list) do if post == ARGV[2] then found = found + 1 end end
            if found == 1 then once = once + 1 elseif found > 1 then more = more + 1 end
        end
        return { once, more }";
    redis.raw(&["EVAL", count, "0", &followers.to_string(), &post.to_string()])
}

#[tokio::test]
async fn a_delivery_that_is_killed_in_the_middle_is_finished_by_another_server() {
    const FOLLOWERS: usize = 50_000;
    let redis = Redis::start();
    let (app, author) = audience(&redis, FOLLOWERS).await;
    let serve = || Server::over(&redis, &["--timeline-push-limit", "1000000"]);
    let (one, other) = (serve(), serve());
    other.signal("-STOP");
    let post = publish(&app, author).await;
    until_begun(&redis, post);
    one.kill();
    let (some, _) = receivers(&redis, FOLLOWERS, post);
    assert!(0 < some && some < FOLLOWERS as u64, "it was killed in the middle: {some}");
    other.signal("-CONT");
    assert!(eventually(|| redis.raw::<u64>(&["XLEN", "ff:{f1}:fanout"]) == 0));
    assert_eq!(receivers(&redis, FOLLOWERS, post), (FOLLOWERS as u64, 0));
    let delivery: String = redis.raw(&["HGET", &format!("ff:{{p{post}}}:post"), "delivery"]);
    assert_eq!(delivery, format!("delivered:{FOLLOWERS}"));
    assert_eq!(app.backlog().await.unwrap().jobs, 0);
    assert_eq!(other.stop(), Some(0));
}

#[tokio::test]
async fn a_delivery_that_is_stopped_is_given_to_another_process_at_once() {
    const FOLLOWERS: usize = 50_000;
    let redis = Redis::start();
    let (app, author) = audience(&redis, FOLLOWERS).await;
    let post = publish(&app, author).await;
    let mut one = deliver(&redis);
    until_begun(&redis, post);
    Command::new("kill").arg(one.id().to_string()).status().unwrap();
    assert_eq!(one.wait().unwrap().code(), Some(0));
    assert!(receivers(&redis, FOLLOWERS, post).0 < FOLLOWERS as u64);
    // The jobs are taken over without waiting until their worker counts as dead.
    let drained = command(&["deliver", "--until-empty", "--redis-url", &redis.url()]).output().unwrap();
    let stdout = String::from_utf8_lossy(&drained.stdout);
    assert_eq!(stdout, "left for later: 0\ngiven up:       0\n");
    assert_eq!(receivers(&redis, FOLLOWERS, post), (FOLLOWERS as u64, 0));
}

#[test]
fn a_server_delivers_unless_configured_otherwise_and_reports_the_progress() {
    let redis = Redis::own();
    let serve = |deliver: &str| Server::over(&redis, &["--delivery-in-server", deliver]);
    let metric = |server: &Server, name: &str| -> u64 {
        let (status, metrics) = server.page("/metrics");
        assert_eq!(status, 200);
        let line = metrics.lines().find(|line| line.starts_with(name)).expect("is measured");
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    let idle = serve("off");
    let (ada, bob) = (idle.token("ada"), idle.token("bob"));
    let read = "{ viewer { timeline { nodes { content } } } }";
    idle.ask_as(&bob, "mutation { follow(input: { userId: \"VXNlcjox\" }) { userErrors { message } } }");
    idle.ask_as(&bob, read);
    idle.ask_as(&ada, "mutation { publish(input: { content: \"hello\" }) { userErrors { message } } }");
    assert_eq!(idle.ask_as(&bob, read)["data"]["viewer"]["timeline"]["nodes"], json!([]));
    assert_eq!((metric(&idle, "fanfold_fanout_jobs "), metric(&idle, "fanfold_deliveries_total ")), (1, 0));

    let busy = serve("on");
    assert!(eventually(|| metric(&idle, "fanfold_fanout_jobs ") == 0));
    assert_eq!(metric(&idle, "fanfold_deliveries_total "), 1);
    let nodes = idle.ask_as(&bob, read)["data"]["viewer"]["timeline"]["nodes"].take();
    assert_eq!(nodes, json!([{ "content": "hello" }]));
    assert_eq!(busy.stop(), Some(0));
    redis.pause(true);
    let (status, metrics) = idle.page("/metrics");
    assert_eq!(status, 200);
    assert!(metrics.contains("fanfold_redis_up 0\n"), "{metrics}");
    assert!(metrics.contains("fanfold_fanout_jobs NaN\n"), "a stale value would pass for the current one");
    redis.pause(false);
    assert_eq!(idle.stop(), Some(0));
}
