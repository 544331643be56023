//! The data of all servers: users, follows, posts and a session, written by Fanfold.

use std::collections::HashSet;
use std::time::Duration;

use fanfold::app::App;
use fanfold::app::import::ImportFollow;
use fanfold::app::post::NewPost;
use fanfold::app::user::NewAccount;
use fanfold::model::clock::Timestamp;
use fanfold::model::details::References;
use fanfold::model::id::UserId;
use fanfold::model::post::{Content, Visibility};
use fanfold::model::user::{Bio, DisplayName, Username};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use crate::ground::Redis;
use crate::reads::TARGET;

/// The size of the world.
pub(crate) struct Sizes {
    pub(crate) users: usize,
    pub(crate) follows: usize,
    /// Number of requests of the read that names other users.
    pub(crate) draws: usize,
}

/// What the peers need to know of the world.
pub(crate) struct World {
    /// Session token of the viewer.
    pub(crate) token: String,
    /// Number of shards of the username index.
    pub(crate) name_shards: u32,
    /// The users, and their names in the same order: those with most followers come first.
    pub(crate) users: Vec<UserId>,
    pub(crate) names: Vec<String>,
    /// Number of requests of the read that names other users.
    pub(crate) draws: usize,
}

/// Number of the target's newest followers, among whom all four relations to the viewer occur.
const PAGE: usize = 50;
/// Number of people whom the viewer follows besides.
const FOLLOWED: usize = 200;
/// Number of authors of the posts at the top of the viewer's timeline.
const AUTHORS: usize = 10;
/// Number of posts of each author.
const POSTS: usize = 5;
/// Index of the target among the users: one with many followers.
const TARGET_INDEX: usize = 3;
/// Time between two follows or posts, in milliseconds.
const STEP: i64 = 1_000;

const FIRST_NAMES: [&str; 8] = ["Ada", "Chidi", "Elif", "José", "Mei", "Noor", "Tomáš", "Γιώργος"];
const LAST_NAMES: [&str; 7] = ["Cohen", "Dubois", "Lindqvist", "Mbeki", "Nguyễn", "O’Brien", "Yılmaz"];
const SAYINGS: [&str; 5] = [
    "The ferry was late again, and for once no one on the quay seemed to mind it at all.",
    "Found the old camera with a film still in it. Eight pictures left, and no idea whose they are.",
    "Is there a word for the hour in which a market has closed and its smells have not?",
    "My neighbour practised the same four bars all evening, and then got them right.",
    "Long walk along the river. The heron \"does not care\", and it shows.",
];

impl World {
    /// Writes the world, the same one on every call with the same sizes. Returns once everything is delivered.
    pub(crate) async fn build(redis: &Redis, sizes: &Sizes) -> Self {
        let app = redis.app(&[]).await;
        let users = users(&app, sizes.users).await;
        let opened = app.register("viewer", "correct horse", None, None, None, None).await.unwrap();
        let viewer = opened.viewer.user().unwrap();
        let mut follows = random_follows(&users, sizes.follows);
        follows.extend(follows_around(&users, viewer));
        import(&app, &follows).await;
        publish(&app, &users[users.len() - FOLLOWED..]).await;
        for mut worker in app.workers() {
            worker.drain(Duration::ZERO).await.unwrap();
        }
        let names = (0..users.len()).map(name).collect();
        let name_shards = app.store().keys().name_shards();
        Self { token: opened.token.expose(), name_shards, users, names, draws: sizes.draws }
    }
}

/// Returns a user's name.
fn name(index: usize) -> String {
    if index == TARGET_INDEX { TARGET.to_owned() } else { format!("member_{index}") }
}

/// Creates users, one of them the target.
async fn users(app: &App, count: usize) -> Vec<UserId> {
    let account = |index: usize| {
        let first = FIRST_NAMES[index % FIRST_NAMES.len()];
        let last = LAST_NAMES[index % LAST_NAMES.len()];
        NewAccount {
            username: Username::parse(&name(index)).unwrap(),
            display_name: DisplayName::parse(&format!("{first} {last}")).unwrap(),
            bio: Bio::default(),
            region: None,
            created_at: Timestamp::from_millis(0),
            password: None,
            subject: None,
            sign_in: None,
        }
    };
    app.import_users((0..count).map(account).collect()).await.unwrap().ids
}

/// Returns follows of random users by random users. A few users have a large share of all followers.
fn random_follows(users: &[UserId], count: usize) -> Vec<(UserId, UserId)> {
    let mut rng = StdRng::seed_from_u64(16);
    let mut seen = HashSet::new();
    let mut follows = Vec::with_capacity(count);
    while follows.len() < count {
        let follower = users[rng.random_range(0..users.len())];
        let popularity: f64 = rng.random();
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            clippy::cast_sign_loss,
            reason = "the product is a valid index"
        )]
        let followee = users[(users.len() as f64 * popularity.powi(3)) as usize];
        if follower != followee && seen.insert((follower, followee)) {
            follows.push((follower, followee));
        }
    }
    follows
}

/// Returns the viewer's follows, and those of the target's newest followers. Among the latter, all four relations to
/// the viewer occur.
fn follows_around(users: &[UserId], viewer: UserId) -> Vec<(UserId, UserId)> {
    let followed = &users[users.len() - FOLLOWED..];
    let page = &users[users.len() - FOLLOWED - PAGE..users.len() - FOLLOWED];
    let mut follows: Vec<_> = followed.iter().map(|&other| (viewer, other)).collect();
    follows.extend(followed.iter().step_by(2).map(|&other| (other, viewer)));
    for (index, &other) in page.iter().enumerate() {
        follows.extend((index % 4 % 2 == 1).then_some((viewer, other)));
        follows.extend((index % 4 / 2 == 1).then_some((other, viewer)));
        follows.push((other, users[TARGET_INDEX]));
    }
    follows
}

/// Writes follows, in order of time. The last follow of a pair of users is the one that counts.
async fn import(app: &App, follows: &[(UserId, UserId)]) {
    let mut last = HashSet::new();
    let mut distinct: Vec<_> = follows.iter().rev().filter(|pair| last.insert(**pair)).collect();
    distinct.reverse();
    let at = (1..).map(|number: i64| Timestamp::from_millis(number * STEP));
    let follows: Vec<ImportFollow> = distinct
        .into_iter()
        .zip(at)
        .map(|(&(follower, followee), at)| ImportFollow { follower, followee, at })
        .collect();
    for follows in follows.chunks(5_000) {
        app.import_follows(follows.to_vec()).await.unwrap();
    }
}

/// Publishes posts of all authors in turn, and then some more of the last few.
async fn publish(app: &App, authors: &[UserId]) {
    let all = (0..POSTS).flat_map(|_| authors);
    let newest = (0..POSTS).flat_map(|_| &authors[authors.len() - AUTHORS..]);
    let post = |(number, &author): (usize, &UserId)| NewPost {
        references: References::default(),
        author,
        content: Content::parse(&format!("{} ({number})", SAYINGS[number % SAYINGS.len()])).unwrap(),
        platform: None,
        visibility: Visibility::Public,
        created_at: Timestamp::from_millis(i64::try_from(number).unwrap() * STEP),
    };
    let posts: Vec<NewPost> = all.chain(newest).enumerate().map(post).collect();
    for posts in posts.chunks(1_000) {
        app.import_posts(posts).await.unwrap();
    }
}
