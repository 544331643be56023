//! Reading: many questions, one round trip.
//!
//! A question is what a loader of `graphql` is asked for, and its key. All questions of one level of
//! a query are answered together by [`App::answer`], in **one round trip**, whatever their kinds;
//! each kind is such that one round trip is enough. What concerns a whole page is one question, so
//! that a row costs a command and little else. Where posts are asked for that Redis does not have,
//! the archive is asked after that: one query for posts by id, one for pages of posts.

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

/// Something to be read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Question {
    /// Who has this name? Answered by [`Answer::UserId`].
    Named(Username),
    /// What is known of this user? Answered by [`Answer::User`].
    User(UserId, UserFields),
    /// What is known of these users? Answered by [`Answer::Users`].
    Users(Shared<UserId>, UserFields),
    /// Where are these users? Answered by [`Answer::Regions`].
    Regions(Shared<UserId>),
    /// Who follows this user, of whom so many are known to do so? Answered by [`Answer::Sample`]: all of them or,
    /// of very many, an even sample, which is the smaller the more users this is asked of.
    Followers(UserId, u64),
    /// Of which days are there visits? Answered by [`Answer::VisitDays`].
    VisitDays,
    /// How many users came on this day, which is not archived? Answered by [`Answer::Count`].
    Visitors(Layout),
    /// How many users came on each of so many days up to this one, of those that are archived? Answered by
    /// [`Answer::ArchivedVisits`], newest first.
    ArchivedVisits(Day, usize),
    /// Who looked at this user's profile on this day, of those who are in this shard? Answered by
    /// [`Answer::Visitors`].
    Audience(UserId, Day, Shard),
    /// How do the viewer (first) and this user stand? Answered by [`Answer::Relation`].
    Relation(UserId, UserId),
    /// How do the viewer and each of these users stand? Answered by [`Answer::Relations`].
    Relations(UserId, Shared<UserId>),
    /// What is on this page of this list? Answered by [`Answer::Page`].
    Page(UserId, Side, Window<Position>),
    /// How many are in this list? Answered by [`Answer::Count`].
    Count(UserId, Side),
    /// Whom does this user follow? Answered by [`Answer::Follows`], newest first.
    Following(UserId),
    /// Whom does this user follow who follows back, if it follows at most this many? Answered by [`Answer::Mutuals`],
    /// newest first.
    Mutuals(UserId, usize),
    /// Which of these follow this user, and since when? Answered by [`Answer::Follows`], newest first.
    FollowersAmong(UserId, Shared<Follow>),
    /// What do these posts say? Answered by [`Answer::Posts`]. Those that were read with their list are not
    /// read again.
    Posts(Shared<Listed>),
    /// What is on this page of this user's posts? Answered by [`Answer::PostPage`].
    PostPage(UserId, Window<PostId>),
    /// How many posts has this user? Answered by [`Answer::Count`].
    PostCount(UserId),
    /// How far is the delivery of this post of this user, which is pushed? Answered by
    /// [`Answer::Delivery`].
    Delivery(UserId, PostId),
    /// Which sign-ins of this user have not ended? Answered by [`Answer::Sessions`], the one used last
    /// first.
    Sessions(UserId),
}

/// A list that several may hold. Compared by identity, which costs the same whatever its length: the
/// same list, not an equal one. Printed by its length: the loader formats a question of each batch.
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

/// What is the answer to a [`Question`]. Cheap to clone. Lists are in the order of the question.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "each is described at the question it answers")]
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

/// How far a delivery is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivered {
    /// So many followers have been served.
    Some(u64),
    /// All have been served, who are so many.
    All(u64),
    /// All have been served who were counted on.
    Over,
}

/// An answer, or why there is none.
pub type Answered = Result<Answer, Error>;

impl App {
    /// Answers each of the questions. One round trip for all of them.
    pub async fn answer(&self, questions: &[Question]) -> HashMap<Question, Answered> {
        let mut batch = Batch::new("answer");
        let samples = questions.iter().filter(|question| matches!(question, Question::Followers(..))).count();
        // The rest is for reading where they are, and for other lists of this level.
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

    /// Answers one question by itself.
    pub(super) async fn answer_one(&self, question: Question) -> Answered {
        let mut answers = self.answer(std::slice::from_ref(&question)).await;
        answers.remove(&question).unwrap_or_else(|| mismatch())
    }
}

/// A question was not answered, or by an answer of another kind; [`App::answer`] does neither.
pub fn mismatch() -> ! {
    unreachable!("every question is answered by an answer of its kind")
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
