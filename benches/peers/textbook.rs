//! A server with `async-graphql`, written as its book teaches it: resolvers that each load their own field, with the
//! library's `DataLoader`, one for each request, over one multiplexed connection to Redis.

use std::collections::HashMap;
use std::str::FromStr;
use std::sync::Arc;

use async_graphql::dataloader::{DataLoader, Loader};
use async_graphql::{
    Context, EmptyMutation, EmptySubscription, Enum, InputObject, Object, Result, Schema, SimpleObject,
};
use async_graphql_axum::{GraphQLRequest, GraphQLResponse};
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::serve::ListenerExt as _;
use fanfold::model::id::{PostId, UserId};
use fanfold::model::secret::Token;
use fanfold::model::user::Username;
use fanfold::store::key::Keys;
use redis::aio::MultiplexedConnection;
use redis::{Client, FromRedisValue, Pipeline, RedisError, cmd, pipe};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// Serves until the process is killed.
pub(crate) fn serve(redis: &str, name_shards: u32) {
    Runtime::new().unwrap().block_on(async {
        let connection = Client::open(redis).unwrap().get_multiplexed_async_connection().await.unwrap();
        let store = Store { connection, keys: Keys::new("ff:", name_shards) };
        let schema = Schema::build(Query, EmptyMutation, EmptySubscription).data(store.clone()).finish();
        let router = Router::new().route("/graphql", post(respond)).with_state(Arc::new((store, schema)));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("textbook listens on http://{}/", listener.local_addr().unwrap());
        let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
        axum::serve(listener, router).await.unwrap();
    });
}

type Api = Schema<Query, EmptyMutation, EmptySubscription>;

/// The id of the user whose session token the request has.
#[derive(Clone, Copy)]
struct Me(UserId);

async fn respond(
    State(server): State<Arc<(Store, Api)>>,
    headers: HeaderMap,
    request: GraphQLRequest,
) -> Response {
    let (store, schema) = &*server;
    let token = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = token.and_then(|value| Token::parse(value.strip_prefix("Bearer ")?));
    match token {
        Some(token) if store.has_session(&token).await => {
            // A loader that all requests share would load the same keys once for all of them, because all requests of
            // this load are equal. Real clients' requests differ.
            let loader = DataLoader::new(store.clone(), tokio::spawn);
            let request = request.into_inner().data(Me(token.user())).data(loader);
            GraphQLResponse::from(schema.execute(request).await).into_response()
        }
        _ => StatusCode::UNAUTHORIZED.into_response(),
    }
}

/// The data in Redis.
#[derive(Clone)]
struct Store {
    connection: MultiplexedConnection,
    keys: Keys,
}

impl Store {
    async fn query<T: FromRedisValue>(&self, command: &redis::Cmd) -> Result<T, RedisError> {
        command.query_async(&mut self.connection.clone()).await
    }

    async fn send<T: FromRedisValue>(&self, commands: &Pipeline) -> Result<T, Arc<RedisError>> {
        commands.query_async(&mut self.connection.clone()).await.map_err(Arc::new)
    }

    async fn has_session(&self, token: &Token) -> bool {
        let key = self.keys.sessions(token.user());
        self.query(cmd("HEXISTS").arg(key).arg(token.hash().as_bytes())).await.unwrap_or(false)
    }
}

/// Parses ids as Redis returns them.
fn ids<T: FromStr>(texts: &[String]) -> Vec<T> {
    texts.iter().filter_map(|text| text.parse().ok()).collect()
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct ProfileOf(UserId);

#[derive(Clone)]
struct Profile {
    username: String,
    display_name: String,
}

impl Loader<ProfileOf> for Store {
    type Value = Profile;
    type Error = Arc<RedisError>;

    async fn load(&self, users: &[ProfileOf]) -> Result<HashMap<ProfileOf, Profile>, Self::Error> {
        let mut commands = pipe();
        for ProfileOf(user) in users {
            commands.cmd("HMGET").arg(self.keys.user(*user)).arg("username").arg("display_name");
        }
        let rows: Vec<(String, String)> = self.send(&commands).await?;
        let profile = |(username, display_name)| Profile { username, display_name };
        Ok(users.iter().copied().zip(rows.into_iter().map(profile)).collect())
    }
}

/// The relation between a viewer and another user.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct RelationTo {
    viewer: UserId,
    other: UserId,
}

impl Loader<RelationTo> for Store {
    type Value = Status;
    type Error = Arc<RedisError>;

    async fn load(&self, pairs: &[RelationTo]) -> Result<HashMap<RelationTo, Status>, Self::Error> {
        let mut by_viewer: HashMap<UserId, Vec<UserId>> = HashMap::new();
        for pair in pairs {
            by_viewer.entry(pair.viewer).or_default().push(pair.other);
        }
        let mut commands = pipe();
        for (viewer, others) in &by_viewer {
            for list in [self.keys.following(*viewer), self.keys.followers(*viewer)] {
                let probe = commands.cmd("ZMSCORE").arg(list);
                for other in others {
                    probe.arg(other.get());
                }
            }
        }
        let scores: Vec<Vec<Option<f64>>> = self.send(&commands).await?;
        let mut statuses = HashMap::new();
        for ((viewer, others), lists) in by_viewer.into_iter().zip(scores.chunks(2)) {
            for (index, other) in others.into_iter().enumerate() {
                let status = Status::new(lists[0][index].is_some(), lists[1][index].is_some());
                statuses.insert(RelationTo { viewer, other }, status);
            }
        }
        Ok(statuses)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct RecordOf(PostId);

#[derive(Clone)]
struct Record {
    author: UserId,
    content: String,
}

impl Loader<RecordOf> for Store {
    type Value = Record;
    type Error = Arc<RedisError>;

    async fn load(&self, posts: &[RecordOf]) -> Result<HashMap<RecordOf, Record>, Self::Error> {
        let mut commands = pipe();
        for RecordOf(post) in posts {
            commands.cmd("HMGET").arg(self.keys.post(*post)).arg("author").arg("content");
        }
        let rows: Vec<(String, String)> = self.send(&commands).await?;
        let record = |(post, (author, content)): (&RecordOf, (String, _))| {
            Some((*post, Record { author: author.parse().ok()?, content }))
        };
        Ok(posts.iter().zip(rows).filter_map(record).collect())
    }
}

/// An author's newest posts.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct PostsOf {
    author: UserId,
    first: usize,
}

impl Loader<PostsOf> for Store {
    type Value = Vec<PostId>;
    type Error = Arc<RedisError>;

    async fn load(&self, lists: &[PostsOf]) -> Result<HashMap<PostsOf, Vec<PostId>>, Self::Error> {
        let mut commands = pipe();
        for list in lists {
            commands.cmd("LRANGE").arg(self.keys.posts(list.author)).arg(0).arg(list.first - 1);
        }
        let rows: Vec<Vec<String>> = self.send(&commands).await?;
        Ok(lists.iter().copied().zip(rows.iter().map(|row| ids(row))).collect())
    }
}

type Load = DataLoader<Store>;

struct Query;

#[derive(InputObject)]
struct UserBy {
    username: String,
}

#[Object]
impl Query {
    async fn user(&self, context: &Context<'_>, by: UserBy) -> Result<Option<User>> {
        let store = context.data::<Store>()?;
        let username = Username::parse(&by.username).map_err(|_| "not a username")?;
        let read = cmd("HGET").arg(store.keys.names_with(&username)).arg(username.as_str()).to_owned();
        let holder: Option<String> = store.query(&read).await?;
        Ok(holder.and_then(|holder| holder.parse().ok()).map(User))
    }

    async fn viewer(&self) -> Viewer {
        Viewer
    }
}

struct Viewer;

#[Object]
impl Viewer {
    async fn timeline(&self, context: &Context<'_>, first: usize) -> Result<Posts> {
        let (store, Me(me)) = (context.data::<Store>()?, context.data()?);
        let read = cmd("LRANGE").arg(store.keys.timeline(*me)).arg(0).arg(first - 1).to_owned();
        Ok(Posts::new(ids(&store.query::<Vec<String>>(&read).await?)))
    }
}

struct User(UserId);

#[derive(SimpleObject)]
struct Users {
    nodes: Vec<User>,
}

#[derive(SimpleObject)]
struct Posts {
    nodes: Vec<Post>,
}

impl Posts {
    fn new(ids: Vec<PostId>) -> Self {
        Self { nodes: ids.into_iter().map(Post).collect() }
    }
}

#[derive(SimpleObject)]
struct Relation {
    status: Status,
}

#[derive(Clone, Copy, Enum, PartialEq, Eq)]
enum Status {
    None,
    Following,
    Follower,
    Mutual,
}

impl Status {
    fn new(is_followed: bool, is_follower: bool) -> Self {
        match (is_followed, is_follower) {
            (false, false) => Self::None,
            (true, false) => Self::Following,
            (false, true) => Self::Follower,
            (true, true) => Self::Mutual,
        }
    }
}

impl User {
    async fn profile(&self, context: &Context<'_>) -> Result<Profile> {
        let profile = context.data::<Load>()?.load_one(ProfileOf(self.0)).await?;
        Ok(profile.ok_or("no such user")?)
    }
}

#[Object]
impl User {
    async fn username(&self, context: &Context<'_>) -> Result<String> {
        Ok(self.profile(context).await?.username)
    }

    async fn display_name(&self, context: &Context<'_>) -> Result<String> {
        Ok(self.profile(context).await?.display_name)
    }

    async fn relation(&self, context: &Context<'_>) -> Result<Option<Relation>> {
        let Me(me) = *context.data()?;
        if me == self.0 {
            return Ok(None);
        }
        let status = context.data::<Load>()?.load_one(RelationTo { viewer: me, other: self.0 }).await?;
        Ok(status.map(|status| Relation { status }))
    }

    async fn followers(&self, context: &Context<'_>, first: usize) -> Result<Users> {
        let store = context.data::<Store>()?;
        let read = cmd("ZREVRANGE").arg(store.keys.followers(self.0)).arg(0).arg(first - 1).to_owned();
        let followers: Vec<String> = store.query(&read).await?;
        Ok(Users { nodes: ids(&followers).into_iter().map(User).collect() })
    }

    async fn posts(&self, context: &Context<'_>, first: usize) -> Result<Posts> {
        let posts = context.data::<Load>()?.load_one(PostsOf { author: self.0, first }).await?;
        Ok(Posts::new(posts.unwrap_or_default()))
    }
}

struct Post(PostId);

impl Post {
    async fn record(&self, context: &Context<'_>) -> Result<Record> {
        let record = context.data::<Load>()?.load_one(RecordOf(self.0)).await?;
        Ok(record.ok_or("no such post")?)
    }
}

#[Object]
impl Post {
    async fn content(&self, context: &Context<'_>) -> Result<String> {
        Ok(self.record(context).await?.content)
    }

    async fn author(&self, context: &Context<'_>) -> Result<User> {
        Ok(User(self.record(context).await?.author))
    }
}
