//! Generates the posts of a demo world: what people say, and how others take it up.
//!
//! The time is divided into rounds. Later in a round, people also respond to the latest posts of the round, in turns: a
//! turn responds to the one before it. Few responses thus refer to a post just before them, and many posts can be
//! published together. In the last turn, people also repost what has been said in the round.

use std::collections::HashSet;
use std::ops::Range;

use rand::RngExt as _;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;

use crate::cli::demo::posts::{self, Topic};
use crate::cli::demo::reactions;
use crate::cli::world::{Reactions, Reference, Saying, Sayings};
use crate::model::clock::Timestamp;
use crate::model::post::{Content, Platform};
use crate::model::user::Username;

/// Mean number of posts per user.
const MEAN: usize = 8;
/// Maximum number of rounds.
const ROUNDS: usize = 52;
/// Minimum number of posts per round.
const LEAST: usize = 16;
/// The turns of a round, each with its share of the posts and the share of the round's time at which it ends. In the
/// first turn, no one responds to another.
const TURNS: [(f64, f64); 4] = [(0.5, 0.75), (0.24, 0.9), (0.16, 0.96), (0.1, 0.995)];
/// Share of responses among the posts of the other turns.
const RESPONSES: f64 = 0.6;
/// Share of replies to a reply that the author of the first post writes, rather than others.
const ADDRESSED: f64 = 0.5;
/// Number of attempts to find a response before something else is said.
const ATTEMPTS: usize = 5;
/// Share of quotes among the responses to statements.
const QUOTES: f64 = 0.2;
/// Share of the last turn's statements that someone makes a repost.
const REPOSTS: f64 = 0.8;
/// Share of reposts of the post that was reposted just before.
const REPEATED: f64 = 0.4;

/// Those who may speak. Users are indices.
pub(super) struct Society {
    /// The names of all users.
    pub(super) names: Vec<Username>,
    /// Each user's followers.
    pub(super) followers: Vec<Vec<u32>>,
    /// Users whose posts only followers see, so that they do not take part in conversations.
    pub(super) private: HashSet<u32>,
}

impl Society {
    /// Draws a follower of a user whose own posts everyone sees.
    fn follower(&self, of: u32, rng: &mut StdRng) -> Option<u32> {
        let drawn = self.followers[of as usize].choose(rng).copied();
        drawn.filter(|follower| !self.private.contains(follower))
    }

    /// Draws one of these posts: a late one, and rather one whose author has many followers.
    fn notable(&self, said: &[Said], among: Range<usize>, rng: &mut StdRng) -> Option<usize> {
        let candidates: Vec<usize> = (0..3)
            .filter(|_| !among.is_empty())
            .map(|_| {
                let age = rng.random::<f64>().powi(3);
                among.end - 1 - part(among.len() - 1, age)
            })
            .filter(|&post| !self.private.contains(&said[post].author))
            .collect();
        candidates.into_iter().max_by_key(|&post| self.followers[said[post].author as usize].len())
    }
}

/// A post of the current round.
struct Said {
    author: u32,
    topic: Topic,
    /// The author of the post to which it replies.
    addressed: Option<u32>,
    /// Those who have responded to it. No one does so twice.
    responders: Vec<u32>,
    /// Those who have reposted it.
    reposters: Vec<u32>,
}

impl Said {
    fn new(author: u32, topic: Topic, addressed: Option<u32>) -> Self {
        Self { author, topic, addressed, responders: Vec::new(), reposters: Vec::new() }
    }
}

/// The generator of all posts, round by round.
struct Speech {
    rng: StdRng,
    /// The generator of reposts, so that they do not change the other posts.
    reposting: StdRng,
    /// The generator of reactions.
    reacting: StdRng,
    society: Society,
    /// For each user, the probability that they say something when they could.
    zeal: Vec<f64>,
    rounds: usize,
    count: usize,
    began: Timestamp,
    /// Duration of all rounds, in milliseconds.
    duration: i64,
}

/// Returns all posts, in chronological order. Some people post often, many now and then, and some never.
pub(super) fn sayings(
    [mut rng, reposting, reacting]: [StdRng; 3],
    society: Society,
    (began, duration): (Timestamp, i64),
) -> Sayings {
    let users = society.names.len();
    let zeal = (0..users).map(|_| rng.random::<f64>().powi(3).max(0.001)).collect();
    let count = users * MEAN;
    let rounds = (count / LEAST).clamp(1, ROUNDS);
    let mut speech = Speech { rng, reposting, reacting, society, zeal, rounds, count, began, duration };
    let sayings = (0..rounds).flat_map(move |round| speech.round(round));
    Sayings { count, reach: count.div_ceil(rounds), all: Box::new(sayings) }
}

impl Speech {
    /// Returns the posts of a round.
    fn round(&mut self, round: usize) -> Vec<Saying> {
        let first = self.count * round / self.rounds;
        let size = self.count * (round + 1) / self.rounds - first;
        let mut sayings = Vec::with_capacity(size);
        let mut said: Vec<Said> = Vec::with_capacity(size);
        let (mut began, mut before) = (0.0, 0..0);
        let mut reposted = None;
        for (turn, (share, ended)) in TURNS.into_iter().enumerate() {
            let last_turn = turn + 1 == TURNS.len();
            let length = if last_turn { size - said.len() } else { part(size, share) };
            for number in 0..length {
                let attempts = if self.rng.random_bool(RESPONSES) { ATTEMPTS } else { 0 };
                let response = (0..attempts).find_map(|_| self.response(&mut said, before.clone()));
                let (mut post, content, mut reference) = response.unwrap_or_else(|| self.statement());
                if last_turn
                    && reference.is_none()
                    && let Some((reposter, original)) = self.repost(&mut said[..before.end], reposted)
                {
                    post = Said::new(reposter, Topic::End, None);
                    (reference, reposted) = (Some(Reference::Repost(original)), Some(original));
                }
                let at = self.time(round, began + (ended - began) * ratio(number, length));
                let reactions = match reference {
                    // Its original is liked instead.
                    Some(Reference::Repost(_)) => Reactions::default(),
                    Some(Reference::Reply(_) | Reference::Quote(_)) | None => {
                        let followers = &self.society.followers[post.author as usize];
                        reactions::to(&mut self.reacting, followers, post.topic.is_of_statement(), at)
                    }
                };
                sayings.push(Saying {
                    author: post.author,
                    content: Content::parse(&content).expect(RULE),
                    platform: posts::platform(&mut self.rng).map(|name| Platform::parse(name).expect(RULE)),
                    at,
                    reference: reference.map(|reference| reference.after(first)),
                    reactions,
                });
                said.push(post);
            }
            before = said.len() - length..said.len();
            began = ended;
        }
        sayings
    }

    /// Returns the time at a share of a round.
    fn time(&self, round: usize, share: f64) -> Timestamp {
        let rounds = i64::try_from(self.rounds).unwrap_or(i64::MAX);
        let length = self.duration / rounds;
        // A round is much shorter than the integers that a float can represent.
        #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "see above")]
        let within = (length as f64 * share) as i64;
        let round = i64::try_from(round).unwrap_or(i64::MAX);
        Timestamp::from_millis(self.began.as_millis() + length.saturating_mul(round) + within)
    }

    /// Returns a post that responds to nothing.
    fn statement(&mut self) -> (Said, String, Option<Reference>) {
        // Ada is always accepted as an author, so that she has posts.
        let author = loop {
            let user = self.rng.random_range(0..self.zeal.len());
            if user == 0 || self.rng.random_bool(self.zeal[user]) {
                break user;
            }
        };
        let (content, topic) = posts::saying(&mut self.rng);
        (Said::new(index(author), topic, None), content, None)
    }

    /// Returns a response to one of these posts; `None` if no one has an answer to the one that is drawn.
    fn response(
        &mut self,
        said: &mut [Said],
        among: Range<usize>,
    ) -> Option<(Said, String, Option<Reference>)> {
        let target = self.society.notable(said, among, &mut self.rng)?;
        let Said { author: other, topic, addressed, ref mut responders, .. } = said[target];
        let addressed = addressed.filter(|_| self.rng.random_bool(ADDRESSED));
        let author = addressed.or_else(|| self.society.follower(other, &mut self.rng))?;
        if responders.contains(&author) {
            return None;
        }
        let is_quote = topic.is_of_statement() && self.rng.random_bool(QUOTES);
        let (reference, (content, topic), addressed) = if is_quote {
            (Reference::Quote(target), posts::quote(&mut self.rng), None)
        } else {
            (Reference::Reply(target), self.reply(other, author, topic)?, Some(other))
        };
        responders.push(author);
        Some((Said::new(author, topic, addressed), content, Some(reference)))
    }

    /// Returns a user who reposts one of these posts, perhaps the one reposted last, and that post; `None` if no one
    /// does.
    fn repost(&mut self, said: &mut [Said], last: Option<usize>) -> Option<(u32, usize)> {
        let attempts = if self.reposting.random_bool(REPOSTS) { ATTEMPTS } else { 0 };
        (0..attempts).find_map(|_| {
            let rng = &mut self.reposting;
            let repeated = last.filter(|_| rng.random_bool(REPEATED));
            let original = repeated.or_else(|| self.society.notable(said, 0..said.len(), rng))?;
            let Said { author, topic, ref mut reposters, .. } = said[original];
            let reposter = self.society.follower(author, rng)?;
            if !topic.is_of_statement() || reposters.contains(&reposter) {
                return None;
            }
            reposters.push(reposter);
            Some((reposter, original))
        })
    }

    /// Returns a reply by `author` to a post by `other`. Some mention another follower of that user.
    fn reply(&mut self, other: u32, author: u32, topic: Topic) -> Option<(String, Topic)> {
        let friend = self.society.follower(other, &mut self.rng);
        let friend = friend.filter(|&friend| friend != author && self.rng.random_bool(0.25));
        let name = friend.map(|friend| self.society.names[friend as usize].as_str());
        posts::reply(&mut self.rng, topic, name)
    }
}

const RULE: &str = "posts of the demo world are valid";

fn index(user: usize) -> u32 {
    u32::try_from(user).expect("a demo world has at most a million users")
}

/// Returns a share of a number, from 0 to 1, rounded down.
fn part(of: usize, share: f64) -> usize {
    // The number of posts is much smaller than the integers that a float can represent.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "positive, and see above"
    )]
    let part = (of as f64 * share) as usize;
    part
}

/// Returns the ratio of two numbers of posts.
#[expect(clippy::cast_precision_loss, reason = "much smaller than the integers that a float can represent")]
fn ratio(number: usize, of: usize) -> f64 {
    number as f64 / of as f64
}
