//! Measures what the length of a conversation costs: replies to a post with many replies and to one with none, pages of
//! long and of short lists, ancestors at the end of a deep thread, and the deletion of a post with many reposts.
//!
//! `cargo bench` measures; `cargo test` only checks that the bench works, with a few posts.

#![allow(clippy::unwrap_used, reason = "a bench that cannot go on shall panic")]
#![allow(clippy::print_stdout, reason = "this is what it is for")]
#![allow(clippy::disallowed_methods, reason = "a bench measures time")]

#[path = "ground/connection.rs"]
mod connection;
mod ground;
#[path = "ground/people.rs"]
mod people;
#[path = "ground/server.rs"]
mod server;
#[path = "ground/times.rs"]
mod times;

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use fanfold::app::App;
use fanfold::app::post::{NewPost, PublishRequest};
use fanfold::app::viewer::Viewer;
use fanfold::model::clock::{Clock as _, SystemClock};
use fanfold::model::details::{References, Reply};
use fanfold::model::id::{PostId, UserId};
use fanfold::model::post::{Content, Visibility};
use redis::aio::MultiplexedConnection;

use crate::connection::{Connection, request};
use crate::ground::{Redis, is_measured};
use crate::people::users;
use crate::server::Server;
use crate::times::Times;

/// The amount of data, and the number of rounds.
struct Sizes {
    /// Replies to the post with many replies, and reposts of the deleted post.
    many: usize,
    /// Replies to the post with few replies: more than a page.
    few: usize,
    /// Posts of the deep thread.
    depth: usize,
    rounds: usize,
}

/// Number of posts imported together.
const TOGETHER: usize = 1_000;
/// Options that let a user publish as often as a bench does.
const OPTIONS: [&str; 2] = ["--post-publishes-per-author", "1000000"];

#[tokio::main]
async fn main() {
    let sizes = if is_measured() {
        Sizes { many: 10_000, few: 25, depth: 1_000, rounds: 200 }
    } else {
        Sizes { many: 60, few: 25, depth: 20, rounds: 2 }
    };
    let redis = Redis::start(None);
    let app = redis.app(&OPTIONS).await;
    let viewer = app.register("writer", "correct horse", None, None, None, None).await.unwrap().viewer;
    let bench = Bench { authors: users(&app, sizes.many).await, viewer, app };
    let [long, short] = [bench.thread(sizes.many).await, bench.thread(sizes.few).await];
    bench.measure_publishing(long, sizes.rounds).await;
    let server = Server::start(&redis, &OPTIONS);
    measure_pages(&server, [short, long], sizes.rounds).await;
    measure_ancestors(&server, bench.deep_thread(sizes.depth).await, sizes.rounds).await;
    let connection = redis.client().get_multiplexed_async_connection().await.unwrap();
    bench.measure_deletion(sizes.many, connection).await;
}

struct Bench {
    app: App,
    viewer: Viewer,
    authors: Vec<UserId>,
}

impl Bench {
    async fn publish(&self, in_reply_to: Option<PostId>) -> PostId {
        let request = PublishRequest { content: "hello", in_reply_to, ..PublishRequest::default() };
        self.app.publish(&self.viewer, request).await.unwrap()
    }

    /// Imports posts with these references, each by another author.
    async fn import(&self, content: &Content, references: &[References]) -> Vec<PostId> {
        let post = |(author, references): (&UserId, &References)| NewPost {
            references: references.clone(),
            author: *author,
            content: content.clone(),
            platform: None,
            visibility: Visibility::Public,
            created_at: SystemClock.now(),
        };
        let posts: Vec<NewPost> = self.authors.iter().cycle().zip(references).map(post).collect();
        let mut ids = Vec::with_capacity(posts.len());
        for posts in posts.chunks(TOGETHER) {
            ids.extend(self.app.import_posts(posts).await.unwrap());
        }
        ids
    }

    /// Publishes a post with `count` replies.
    async fn thread(&self, count: usize) -> PostId {
        let parent = self.publish(None).await;
        let reply = References { reply: Some(Reply::to(parent, None)), ..References::default() };
        self.import(&Content::parse("A reply.").unwrap(), &vec![reply; count]).await;
        parent
    }

    /// Publishes a post and `depth` posts below it, each of which replies to the one before. Returns the last.
    async fn deep_thread(&self, depth: usize) -> PostId {
        let content = Content::parse("A reply.").unwrap();
        let mut last = self.publish(None).await;
        let mut place = None;
        for _ in 0..depth {
            place = Some(Reply::to(last, place.as_ref()));
            let reply = References { reply: place.clone(), ..References::default() };
            last = self.import(&content, &[reply]).await[0];
        }
        last
    }

    /// Publishes replies to the post with many replies, and to posts with none, in turns.
    async fn measure_publishing(&self, long: PostId, rounds: usize) {
        let [mut to_none, mut to_many] = [Times::default(), Times::default()];
        for _ in 0..rounds {
            let fresh = self.publish(None).await;
            for (times, parent) in [(&mut to_none, fresh), (&mut to_many, long)] {
                let began = Instant::now();
                self.publish(Some(parent)).await;
                times.0.push(began.elapsed());
            }
        }
        println!("{rounds} rounds; milliseconds {:>37} {:>9} {:>9}", "median", "90 %", "most");
        to_none.print("reply to a post without replies");
        to_many.print("reply to a post with many replies");
        print_ratio("reply to many : to none", &to_many, &to_none);
    }

    /// Deletes a post with `count` reposts, and waits until the workers of the server have deleted these.
    async fn measure_deletion(&self, count: usize, mut connection: MultiplexedConnection) {
        let original = self.publish(None).await;
        let repost = References { original: Some(original), ..References::default() };
        self.import(&Content::of_repost(), &vec![repost; count]).await;
        let key = format!("ff:{{p{original}}}:reposts");
        let mut left =
            async || -> usize { redis::cmd("LLEN").arg(&key).query_async(&mut connection).await.unwrap() };
        assert_eq!(left().await, count);
        let began = Instant::now();
        self.app.delete_post(&self.viewer, original).await.unwrap();
        let answered = began.elapsed();
        while left().await > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        println!(
            "a post with {count} reposts was deleted in {:.2} ms, and its reposts in {:.2} s",
            answered.as_secs_f64() * 1_000.0,
            began.elapsed().as_secs_f64()
        );
    }
}

/// Reads the first and the last page of replies of each post, in turns.
async fn measure_pages(server: &Server, posts: [PostId; 2], rounds: usize) {
    let page = |post: PostId, arguments: &str| {
        query(post, &format!("replies({arguments}) {{ nodes {{ id content author {{ username }} }} }}"))
    };
    let [short, long] = posts;
    let requests = [page(short, "first: 20"), page(long, "first: 20"), page(long, "last: 20")];
    let [short, first, last] = measure(server, requests, rounds).await;
    short.print("page of a short list of replies");
    first.print("first page of a long list of replies");
    last.print("last page of a long list of replies");
    print_ratio("page of a long list : of a short one", &first, &short);
    print_ratio("last page of a long list : the first", &last, &first);
}

/// Reads the nearest ancestors of a post, in turns with a single post.
async fn measure_ancestors(server: &Server, post: PostId, rounds: usize) {
    let above =
        |first: usize| query(post, &format!("ancestors(first: {first}) {{ id author {{ username }} }}"));
    let [one, eight, forty] = measure(server, [above(1), above(8), above(40)], rounds).await;
    one.print("the parent of a post of a deep thread");
    eight.print("its eight nearest ancestors");
    forty.print("its forty nearest ancestors");
}

fn query(post: PostId, fields: &str) -> Vec<u8> {
    let id = URL_SAFE_NO_PAD.encode(format!("Post:{post}"));
    request(&format!("{{ post(id: \"{id}\") {{ {fields} }} }}"), "")
}

/// Sends these requests in turns.
async fn measure<const N: usize>(server: &Server, requests: [Vec<u8>; N], rounds: usize) -> [Times; N] {
    let mut connection = Connection::new(&server.address);
    let mut times = [(); N].map(|()| Times::default());
    for _ in 0..rounds {
        for (request, times) in requests.iter().zip(&mut times) {
            let began = Instant::now();
            let (status, _) = connection.send(request).await;
            times.0.push(began.elapsed());
            assert_eq!(status, 200);
        }
    }
    times
}

fn print_ratio(what: &str, one: &Times, other: &Times) {
    println!("{what} = {:.2} (medians)", one.quantile(50) / other.quantile(50));
}
