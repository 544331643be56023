//! `fanfold demo`: creates a demo world.

mod conversation;
mod people;
mod posts;
mod reactions;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::process::ExitCode;

use clap::Args;
use rand::rngs::StdRng;
use rand::seq::{IndexedRandom as _, SliceRandom as _};
use rand::{RngExt as _, SeedableRng as _};

use self::conversation::Society;
use self::people::Person;
use crate::app::App;
use crate::app::user::NewAccount;
use crate::cli::world::{Boundaries, World};
use crate::cli::{Data, Outcome, say};
use crate::config::DataConfig;
use crate::model::clock::Timestamp;
use crate::model::secret::{Password, PasswordHash};
use crate::model::user::{Bio, DisplayName, Username};

/// Creates a demo world: people with names and bios who follow each other, mute some of those they follow, post, and
/// respond to each other's posts, or repost, like or bookmark them. Some accounts are private, and some people block
/// others.
///
/// As in real networks, most people have some followers, and a few have a large share of all followers. The same number
/// of users and the same seed create the same world. There is always a user called ada. Running the command again
/// changes nothing.
#[derive(Args, Debug)]
pub(super) struct Demo {
    /// Number of users.
    #[arg(long, value_name = "N", env = "FANFOLD_DEMO_USERS", default_value_t = 1_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    users: u32,

    /// Seed of the random number generator.
    #[arg(long, value_name = "NUMBER", env = "FANFOLD_DEMO_SEED", default_value_t = 1)]
    seed: u64,

    /// Password of all users.
    #[arg(long, value_name = "PASSWORD", env = "FANFOLD_DEMO_PASSWORD", default_value = "demo-password")]
    #[arg(hide_env_values = true)]
    password: String,

    #[command(flatten)]
    data: DataConfig,
}

impl Demo {
    pub(super) async fn run(self) -> Outcome {
        let password = Password::choose(&self.password);
        let password = password.map_err(|violation| format!("--password: {}", violation.rule))?;
        let most = self.data.rules.relation.relation_follow_limit as usize;
        let work = async |app: &App| -> Outcome {
            let hash = app.hash_password(password).await?;
            let loaded = world(self.users as usize, self.seed, most, &hash).load(app).await?;
            say(&loaded.to_string())?;
            say(&format!("sign in as ada, or as any other user, with the password {}", self.password))?;
            Ok(ExitCode::SUCCESS)
        };
        Data::work(self.data, work).await
    }
}

/// Creation time of the first account: 2025-01-01T00:00:00Z.
const BEGINNING: i64 = 1_735_689_600_000;
/// Time of the first follow, after all accounts: 2025-07-01T00:00:00Z.
const FIRST_FOLLOW: i64 = 1_751_328_000_000;
/// Time between the first and the last follow, in milliseconds: a year.
const FOLLOWING: i64 = 365 * 86_400_000;

/// Returns the world that a seed generates. Each user follows at most `most` others.
fn world(users: usize, seed: u64, most: usize, password: &PasswordHash) -> World {
    let mut rng = StdRng::seed_from_u64(seed);
    let users = people(&mut rng, users, password);
    let mut follows = follows(&mut rng, users.len(), most);
    follows.shuffle(&mut rng);
    let step = FOLLOWING / i64::try_from(follows.len().max(1)).unwrap_or(i64::MAX);
    // Follow times increase with the index, at equal intervals.
    let time = move |index: usize| {
        let index = i64::try_from(index).unwrap_or(i64::MAX);
        Timestamp::from_millis(FIRST_FOLLOW + index.saturating_mul(step))
    };
    // Mutes, boundaries, posts, reposts and reactions use separate generators, so that one does not change the others.
    let mutes = mutes(StdRng::seed_from_u64(seed.wrapping_add(2)), &follows);
    let boundaries = boundaries(StdRng::seed_from_u64(seed.wrapping_add(3)), users.len(), &follows);
    let society = society(&users, &follows, &boundaries);
    let span = (Timestamp::from_millis(FIRST_FOLLOW), FOLLOWING);
    let rngs = [1, 4, 5].map(|number| StdRng::seed_from_u64(seed.wrapping_add(number)));
    let posts = conversation::sayings(rngs, society, span);
    World { users, follows, time: Box::new(time), mutes, boundaries, posts }
}

/// Returns pairs of a user and a followed user whom they mute: one of ada's follows, and one in a hundred of the
/// others'.
fn mutes(mut rng: StdRng, follows: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let of_ada = follows.iter().find(|(follower, _)| *follower == 0);
    let others = follows.iter().filter(|(follower, _)| *follower != 0 && rng.random_bool(0.01));
    of_ada.into_iter().chain(others).copied().collect()
}

/// Returns the private accounts, the requests to follow them, and the blocks: about 3 % of the accounts are private,
/// and one user in 200 blocks another. The accounts of ada and of her followers are public, so that she can follow them
/// back. She requests to follow up to three users, and blocks one. Other blocks are between users who do not follow
/// her, and whom she does not follow.
fn boundaries(mut rng: StdRng, users: usize, follows: &[(u32, u32)]) -> Boundaries {
    const REQUESTS_OF_ADA: usize = 3;
    let users = u32::try_from(users).expect("a demo world has at most a million users");
    let followers: HashSet<u32> = follows.iter().filter(|pair| pair.1 == 0).map(|pair| pair.0).collect();
    let followed: HashSet<u32> = follows.iter().filter(|pair| pair.0 == 0).map(|pair| pair.1).collect();
    let private: BTreeSet<u32> =
        (1..users).filter(|user| rng.random_bool(0.03) && !followers.contains(user)).collect();
    let is_stranger = |user: &u32| !followers.contains(user) && !followed.contains(user);
    let strangers: Vec<u32> = (1..users).filter(is_stranger).collect();

    let of_ada = private.iter().filter(|user| is_stranger(user)).take(REQUESTS_OF_ADA);
    let mut requests: BTreeSet<(u32, u32)> = of_ada.map(|&user| (0, user)).collect();
    for &user in &private {
        for _ in 0..rng.random_range(1..=6) {
            requests.insert((rng.random_range(1..users), user));
        }
    }
    requests.retain(|(user, other)| user != other);

    let with_ada: Vec<u32> = strangers.iter().copied().filter(|user| !private.contains(user)).collect();
    let mut blocks: BTreeSet<(u32, u32)> =
        with_ada.choose(&mut rng).map(|&user| (0, user)).into_iter().collect();
    for _ in 0..users / 200 {
        if let (Some(&user), Some(&other)) = (strangers.choose(&mut rng), strangers.choose(&mut rng)) {
            blocks.insert((user, other));
        }
    }
    blocks.retain(|(user, other)| user != other);

    for &(user, other) in follows {
        requests.remove(&(user, other));
        blocks.remove(&(user, other));
        blocks.remove(&(other, user));
    }
    blocks.retain(|&(user, other)| !requests.contains(&(user, other)) && !requests.contains(&(other, user)));
    Boundaries {
        private: private.into_iter().collect(),
        requests: requests.into_iter().collect(),
        blocks: blocks.into_iter().collect(),
    }
}

/// Returns what the generator of posts needs to know of the users.
fn society(users: &[NewAccount], follows: &[(u32, u32)], boundaries: &Boundaries) -> Society {
    let mut followers: Vec<Vec<u32>> = vec![Vec::new(); users.len()];
    for &(follower, followee) in follows {
        followers[followee as usize].push(follower);
    }
    let names = users.iter().map(|user| user.username.clone()).collect();
    Society { names, followers, private: boundaries.private.iter().copied().collect() }
}

fn people(rng: &mut StdRng, count: usize, password: &PasswordHash) -> Vec<NewAccount> {
    let step = (FIRST_FOLLOW - BEGINNING) / i64::try_from(count).unwrap_or(i64::MAX);
    let mut bearers: HashMap<String, u32> = HashMap::new();
    let mut newcomer = |index: usize| {
        let person = if index == 0 { people::ada() } else { people::random(rng) };
        let Person { username, display_name, bio, region } = person;
        let bearer = bearers.entry(username.clone()).or_default();
        *bearer += 1;
        let username = if *bearer == 1 { username } else { format!("{username}{bearer}") };
        let age = i64::try_from(index).unwrap_or(i64::MAX).saturating_mul(step);
        NewAccount {
            username: Username::parse(&username).expect("the names of the demo world keep the rule"),
            display_name: DisplayName::parse(&display_name)
                .expect("the names of the demo world keep the rule"),
            bio: Bio::parse(&bio).expect("the bios of the demo world keep the rule"),
            region,
            created_at: Timestamp::from_millis(BEGINNING + age),
            password: Some(password.clone()),
            subject: None,
            sign_in: None,
        }
    };
    (0..count).map(&mut newcomer).collect()
}

/// Returns pairs of follower and followed user. Most people follow some others, and a few follow hundreds. People
/// follow famous people (fame falls with the rank, per Zipf's law) and their neighbours. Followed people often follow
/// back.
fn follows(rng: &mut StdRng, users: usize, most: usize) -> Vec<(u32, u32)> {
    let fame = Fame::new(rng, users);
    let most = most.min(users - 1);
    let mut followed: Vec<HashSet<u32>> = vec![HashSet::new(); users];
    let mut follows = Vec::new();
    for follower in 0..users {
        for _ in 0..wanted(rng, follower, users) {
            let followee =
                if rng.random_bool(0.6) { fame.random(rng) } else { neighbour(rng, follower, users) };
            let answers = rng.random_bool(0.35);
            for (one, other) in
                [(follower, followee), (followee, follower)].into_iter().take(1 + usize::from(answers))
            {
                let other = u32::try_from(other).expect("a demo world has at most a million users");
                if one != other as usize && followed[one].len() < most && followed[one].insert(other) {
                    follows.push((u32::try_from(one).expect("as above"), other));
                }
            }
        }
    }
    follows
}

/// Draws the number of users that a user tries to follow: a few dozen, rarely many hundreds (a Pareto distribution).
fn wanted(rng: &mut StdRng, follower: usize, users: usize) -> usize {
    const LEAST: f64 = 8.0;
    const SHAPE: f64 = 1.3;
    let most = (users / 4).clamp(1, 2_000);
    if follower == 0 {
        return most.min(60);
    }
    let drawn = LEAST / (1.0 - rng.random::<f64>()).powf(1.0 / SHAPE);
    // The cast saturates, and `min` bounds the result.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive and clamped")]
    let drawn = drawn as usize;
    drawn.min(most)
}

/// Draws a user at most twenty places before or after `of`.
fn neighbour(rng: &mut StdRng, of: usize, users: usize) -> usize {
    (of + users + rng.random_range(0..=40) - 20.min(users)) % users
}

/// The distribution of fame among all users.
struct Fame {
    /// The users, most famous first.
    ranks: Vec<usize>,
    /// The cumulative weights, by rank.
    sums: Vec<f64>,
}

impl Fame {
    fn new(rng: &mut StdRng, users: usize) -> Self {
        const FALLS: f64 = 0.9;
        let mut ranks: Vec<usize> = (0..users).collect();
        ranks.shuffle(rng);
        // Visitors sign in as ada, so she gets a famous rank.
        if let Some(ada) = ranks.iter().position(|&user| user == 0) {
            ranks.swap(ada, 4.min(users - 1));
        }
        let mut sum = 0.0;
        let mut sums = Vec::with_capacity(users);
        for rank in 1..=u32::try_from(users).unwrap_or(u32::MAX) {
            sum += f64::from(rank).powf(-FALLS);
            sums.push(sum);
        }
        Self { ranks, sums }
    }

    /// Draws a user, weighted by fame.
    fn random(&self, rng: &mut StdRng) -> usize {
        let total = self.sums.last().copied().unwrap_or(1.0);
        let drawn = rng.random_range(0.0..total);
        self.ranks[self.sums.partition_point(|sum| *sum <= drawn).min(self.ranks.len() - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::world::{Reference, Saying};

    fn demo(users: usize, seed: u64) -> World {
        world(users, seed, 5_000, &PasswordHash::from_phc("$"))
    }

    #[test]
    fn the_same_seed_makes_the_same_world() {
        let names =
            |world: &World| world.users.iter().map(|user| user.username.to_string()).collect::<Vec<_>>();
        let (one, same, other) = (demo(300, 1), demo(300, 1), demo(300, 2));
        assert_eq!((names(&one), &one.follows), (names(&same), &same.follows));
        assert_ne!((names(&one), &one.follows), (names(&other), &other.follows));
        let [one, same, other] = [one, same, other].map(|world| world.posts.all.collect::<Vec<_>>());
        assert!(one == same && one != other);
    }

    #[test]
    fn people_respond_to_earlier_posts_that_everyone_sees() {
        for users in [2, 3, 60, 1_000] {
            let World { follows, boundaries, posts, .. } = demo(users, 1);
            let (count, reach) = (posts.count, posts.reach);
            let posts: Vec<Saying> = posts.all.collect();
            assert!(posts.len() == count && posts.is_sorted_by_key(|post| post.at), "{users}");
            let follows: HashSet<(u32, u32)> = follows.into_iter().collect();
            let mut replies_to_ada = 0;
            for (index, post) in posts.iter().enumerate() {
                let Some(reference) = post.reference else { continue };
                let target = reference.target();
                assert!(target < index && index - target <= reach);
                let (author, other) = (post.author, posts[target].author);
                assert!(follows.contains(&(author, other)) || follows.contains(&(other, author)));
                assert!(!boundaries.private.contains(&author) && !boundaries.private.contains(&other));
                replies_to_ada += usize::from(other == 0 && matches!(reference, Reference::Reply(_)));
            }
            if users == 1_000 {
                let responses = posts.iter().filter(|post| post.reference.is_some()).count();
                assert!((count / 5..count / 2).contains(&responses), "{responses} of {count}");
                assert!(replies_to_ada > 20, "{replies_to_ada}");
            }
        }
    }

    #[test]
    fn followers_repost_a_few_posts_and_rather_those_of_popular_authors() {
        let World { follows, posts, .. } = demo(1_000, 1);
        let posts: Vec<Saying> = posts.all.collect();
        let follows: HashSet<(u32, u32)> = follows.into_iter().collect();
        let fame = |user| follows.iter().filter(|(_, followee)| *followee == user).count();
        let mut reposts: HashMap<usize, HashSet<u32>> = HashMap::new();
        for post in &posts {
            let Some(Reference::Repost(original)) = post.reference else { continue };
            assert!(follows.contains(&(post.author, posts[original].author)));
            assert!(!matches!(posts[original].reference, Some(Reference::Reply(_) | Reference::Repost(_))));
            assert!(reposts.entry(original).or_default().insert(post.author));
        }
        let count: usize = reposts.values().map(HashSet::len).sum();
        assert!((posts.len() / 50..posts.len() / 20).contains(&count), "{count} of {}", posts.len());
        assert!(reposts.values().any(|reposters| reposters.len() > 2));
        let reposted: usize = reposts.keys().map(|original| fame(posts[*original].author)).sum();
        let (reposted, all) = (reposted / reposts.len(), follows.len() / 1_000);
        assert!(
            2 * reposted > 3 * all,
            "reposted authors have {reposted} followers on average, all users {all}"
        );
    }

    #[test]
    fn followers_like_posts_and_bookmark_a_few_of_those() {
        let World { follows, posts, .. } = demo(1_000, 1);
        let posts: Vec<Saying> = posts.all.collect();
        let follows: HashSet<(u32, u32)> = follows.into_iter().collect();
        let (mut likes, mut bookmarks, mut bookmarks_of_ada) = (Vec::new(), 0, 0);
        for post in &posts {
            let likers: HashSet<u32> = post.reactions.likes.iter().map(|(user, _)| *user).collect();
            assert!(likers.len() == post.reactions.likes.len());
            assert!(likers.iter().all(|liker| follows.contains(&(*liker, post.author))));
            assert!(post.reactions.likes.iter().all(|(_, at)| *at > post.at));
            assert!(likers.is_empty() || !matches!(post.reference, Some(Reference::Repost(_))));
            for (user, at) in &post.reactions.bookmarks {
                assert!(likers.contains(user) && *at > post.at);
                bookmarks_of_ada += usize::from(*user == 0);
            }
            likes.push(likers.len());
            bookmarks += post.reactions.bookmarks.len();
        }
        likes.sort_unstable();
        let (count, median) = (likes.iter().sum::<usize>(), likes[likes.len() / 2]);
        assert!((posts.len()..8 * posts.len()).contains(&count), "{count} likes of {} posts", posts.len());
        assert!(*likes.last().unwrap() > 50 && median < 5, "{likes:?}");
        assert!((count / 40..count / 10).contains(&bookmarks), "{bookmarks} bookmarks, {count} likes");
        assert!(bookmarks_of_ada > 5, "{bookmarks_of_ada}");
    }

    #[test]
    fn names_are_unique_and_no_one_follows_twice_or_themselves() {
        for users in [2, 3, 50, 5_000] {
            let world = demo(users, 1);
            let names: HashSet<&str> = world.users.iter().map(|user| user.username.as_str()).collect();
            assert_eq!(names.len(), users);
            let follows: HashSet<&(u32, u32)> = world.follows.iter().collect();
            assert_eq!(follows.len(), world.follows.len());
            assert!(follows.iter().all(|(one, other)| one != other));
        }
    }

    #[test]
    fn a_few_are_followed_by_very_many() {
        let world = demo(2_000, 1);
        let mut followers = vec![0; 2_000];
        for (_, followee) in &world.follows {
            followers[*followee as usize] += 1;
        }
        followers.sort_unstable();
        let (median, most) = (followers[1_000], followers[1_999]);
        assert!(most > 20 * median, "{median} {most}");
    }

    #[test]
    fn boundaries_are_between_users_who_do_not_follow_each_other() {
        for users in [2, 3, 60, 1_000] {
            let World { follows, boundaries, .. } = demo(users, 1);
            let Boundaries { private, requests, blocks } = boundaries;
            let follows: HashSet<(u32, u32)> = follows.into_iter().collect();
            assert!(!private.contains(&0) && private.iter().all(|&user| !follows.contains(&(user, 0))));
            for &(user, other) in &requests {
                assert!(user != other && private.contains(&other) && !follows.contains(&(user, other)));
            }
            for &(user, other) in &blocks {
                for pair in [(user, other), (other, user)] {
                    assert!(user != other && !follows.contains(&pair) && !requests.contains(&pair));
                }
            }
            if users == 1_000 {
                let of_ada = |pairs: &[(u32, u32)]| pairs.iter().filter(|pair| pair.0 == 0).count();
                assert_eq!((of_ada(&requests), of_ada(&blocks)), (3, 1));
                assert!((15..=45).contains(&private.len()) && requests.len() > private.len());
                assert!((3..=6).contains(&blocks.len()), "{blocks:?}");
            }
        }
    }
}
