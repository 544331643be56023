//! Reads: many questions, one round trip.
//!
//! A question is the key of a `graphql` loader. [`App::answer`] answers all questions of one level of a query
//! together, in **one round trip**, whatever their kinds; each kind needs only one. Data for a whole page is
//! one question, so that a row costs little more than a command. Posts missing from Redis are fetched from
//! the archive afterwards: one query for posts by id, one for pages of posts.

mod claim;
mod together;

use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::app::App;
use crate::app::archive::{Listed, Wanted};
use crate::app::error::Error;
use crate::app::region::sample_size;
use crate::budget::{self, Resource};
use crate::model::clock::Day;
use crate::model::id::{PostId, UserId};
use crate::model::page::{Page, Position, Window};
use crate::model::post::Post;
use crate::model::region::Region;
use crate::model::relation::{Follow, Relation, Side};
use crate::model::session::Session;
use crate::model::user::{User, UserFields, Username};
use crate::store::audience::Shard;
use crate::store::batch::Batch;
use crate::store::key::Layout;
use crate::store::region;
pub use crate::store::relation::TooMany;
use crate::store::visit::Days;

use self::claim::{Answering, Claim, Half};
use self::together::{Regions, Together};

/// A read request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Question {
    /// The user with this name. Answered by [`Answer::UserId`].
    Named(Username),
    /// The fields of this user. Answered by [`Answer::User`].
    User(UserId, UserFields),
    /// The fields of these users. Answered by [`Answer::Users`].
    Users(Shared<UserId>, UserFields),
    /// The regions of these users. Answered by [`Answer::Regions`].
    Regions(Shared<UserId>),
    /// The followers of this user, given their known number. Answered by [`Answer::Sample`]: all of them or,
    /// if there are too many, an even sample. The sample shrinks as the number of users in the batch grows.
    Followers(UserId, u64),
    /// The days with visits. Answered by [`Answer::VisitDays`].
    VisitDays,
    /// The number of visitors on this day, which is not archived. Answered by [`Answer::Count`].
    Visitors(Layout),
    /// The archived visitor counts of this many days, up to this day. Answered by [`Answer::ArchivedVisits`],
    /// newest first.
    ArchivedVisits(Day, usize),
    /// The visitors of this user's profile on this day, in this shard. Answered by [`Answer::Visitors`].
    Audience(UserId, Day, Shard),
    /// The relation of the viewer (first) to this user. Answered by [`Answer::Relation`].
    Relation(UserId, UserId),
    /// The relation of the viewer to each of these users. Answered by [`Answer::Relations`].
    Relations(UserId, Shared<UserId>),
    /// This page of this list. Answered by [`Answer::Page`].
    Page(UserId, Side, Window<Position>),
    /// The length of this list. Answered by [`Answer::Count`].
    Count(UserId, Side),
    /// The users this user follows. Answered by [`Answer::Follows`], newest first.
    Following(UserId),
    /// The users this user follows who follow back, provided they follow at most this many. Answered by
    /// [`Answer::Mutuals`], newest first.
    Mutuals(UserId, usize),
    /// Those of these users who follow this user, and since when. Answered by [`Answer::Follows`], newest
    /// first.
    FollowersAmong(UserId, Shared<Follow>),
    /// The content of these posts. Answered by [`Answer::Posts`]. Posts that were read with their list are
    /// not read again.
    Posts(Shared<Listed>),
    /// This page of this user's posts. Answered by [`Answer::PostPage`].
    PostPage(UserId, Window<PostId>),
    /// The number of this user's posts. Answered by [`Answer::Count`].
    PostCount(UserId),
    /// The delivery progress of this pushed post of this user. Answered by [`Answer::Delivery`].
    Delivery(UserId, PostId),
    /// The live sessions of this user. Answered by [`Answer::Sessions`], last used first.
    Sessions(UserId),
}

/// A shared list. Compared by identity, at constant cost: equal only to the same list. Formatted as its
/// length, because the loader formats a question of each batch.
#[derive(Clone)]
pub struct Shared<T>(pub Arc<[T]>);

impl<T> fmt::Debug for Shared<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Shared({} entries)", self.0.len())
    }
}

impl<T> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<T> Eq for Shared<T> {}

impl<T> Hash for Shared<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.as_ptr().hash(state);
    }
}

/// The answer to a [`Question`]. Cheap to clone. Lists are in the order of the question.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "each is described at its question")]
pub enum Answer {
    UserId(Option<UserId>),
    User(Option<Arc<User>>),
    Users(Arc<[Option<Arc<User>>]>),
    Regions(Arc<[Option<Region>]>),
    Sample(Arc<[UserId]>),
    VisitDays(Arc<Days>),
    ArchivedVisits(Arc<[(Day, u64)]>),
    Visitors(Arc<[UserId]>),
    Relation(Relation),
    Relations(Arc<[Relation]>),
    Page(Arc<Page<Follow>>),
    PostPage(Arc<Page<Listed>>),
    Posts(Arc<[Option<Arc<Post>>]>),
    Delivery(Delivered),
    Count(u64),
    Follows(Arc<[Follow]>),
    Mutuals(Result<Arc<[Follow]>, TooMany>),
    Sessions(Arc<[Session]>),
}

/// The progress of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivered {
    /// The number of followers pushed to so far.
    Some(u64),
    /// Delivered to all followers; the number of them.
    All(u64),
    /// Delivered to all followers counted at the start.
    Over,
}

/// An answer, or the reason for its absence.
pub type Answered = Result<Answer, Error>;

impl App {
    /// Answers each of the questions. One round trip for all of them.
    pub async fn answer(&self, questions: &[Question]) -> HashMap<Question, Answered> {
        let mut batch = Batch::new("answer");
        let samples = questions.iter().filter(|question| matches!(question, Question::Followers(..))).count();
        // Reserve the rest for reading the sampled users' regions, and for other lists of this level.
        let share = |left: u64| usize::try_from(left * 3 / 5).unwrap_or(usize::MAX);
        let together = budget::left(Resource::Commands).map_or(usize::MAX, share);
        let mut together = Together { sample_size: sample_size(samples, together), ..Together::default() };
        let claim = |question: &Question| (question.clone(), self.claim(&mut batch, &mut together, question));
        let claims: Vec<(Question, Claim)> = questions.iter().map(claim).collect();
        let Together { others, residents, .. } = together;
        let tickets = self.claim_relations(&mut batch, &others, self.0.rules.relation.relation_strategy);
        let places: Vec<_> =
            region::read(self.keys(), residents).into_iter().map(|read| batch.push(read)).collect();
        let mut replies = match batch.send(self.store()).await {
            Ok(replies) => replies,
            Err(error) => {
                let error = Error::from(error);
                return questions.iter().map(|question| (question.clone(), Err(error.clone()))).collect();
            }
        };
        let mut answering = Answering {
            relations: self.redeem_relations(tickets, &mut replies, &others).await,
            regions: Regions::redeem(places, &mut replies),
            now: self.now(),
            account: &self.0.rules.account,
            replies,
            wanted: Wanted::default(),
        };
        let redeem = |(question, claim): (Question, Claim)| (question, claim.redeem(&mut answering));
        let halves: Vec<(Question, Result<Half, Error>)> = claims.into_iter().map(redeem).collect();
        let wanted = answering.wanted;
        let found = self.ask_archive(wanted).await;
        let complete = |(question, half): (_, Result<Half, Error>)| {
            (question, half.and_then(|half| half.complete(&found)))
        };
        halves.into_iter().map(complete).collect()
    }

    /// Answers a single question.
    pub(super) async fn answer_one(&self, question: Question) -> Answered {
        let mut answers = self.answer(std::slice::from_ref(&question)).await;
        answers.remove(&question).unwrap_or_else(|| mismatch())
    }
}

/// Panics because a question has no answer, or one of the wrong kind; [`App::answer`] produces neither.
pub fn mismatch() -> ! {
    unreachable!("every question has an answer of its kind")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::clock::Timestamp;

    #[test]
    fn a_question_prints_as_shortly_however_many_it_is_about() {
        fn shared<T: Clone>(entry: &T, count: usize) -> Shared<T> {
            Shared(vec![entry.clone(); count].into())
        }
        let user = UserId::MAX;
        let follow = Follow { user, at: Timestamp::from_millis(i64::MAX) };
        let post = Listed::Hot(PostId::new(u64::MAX >> 1).unwrap());
        let questions = |count| {
            let users = || shared(&user, count);
            [
                Question::Users(users(), UserFields::RESIDENCE),
                Question::Regions(users()),
                Question::Relations(user, users()),
                Question::FollowersAmong(user, shared(&follow, count)),
                Question::Posts(shared(&post, count)),
            ]
        };
        for question in questions(5_000) {
            let printed = format!("{question:?}");
            assert!(printed.len() < 200, "{} bytes", printed.len());
            assert!(printed.contains("5000 entries"), "{printed}");
        }
    }
}
