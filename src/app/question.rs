//! Reading: many questions, one round trip.
//!
//! A question is what a loader of `graphql` is asked for, and its key. All questions of one level of
//! a query are answered together by [`App::answer`], in **one round trip**, whatever their kinds;
//! each kind is such that one round trip is enough.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::app::App;
use crate::app::error::Error;
use crate::model::clock::Timestamp;
use crate::model::id::UserId;
use crate::model::page::{Page, Position, Window};
use crate::model::relation::{Follow, Relation, Side};
use crate::model::user::{User, UserFields, Username};
use crate::store::batch::{Batch, Replies, Ticket};
use crate::store::name::{self, Holder};
use crate::store::relation::{self, PROBE};
use crate::store::user;

/// Something to be read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Question {
    /// Who has this name? Answered by [`Answer::UserId`].
    Named(Username),
    /// What is known of this user? Answered by [`Answer::User`].
    User(UserId, UserFields),
    /// How do the viewer (first) and this user stand? Answered by [`Answer::Relation`].
    Relation(UserId, UserId),
    /// What is on this page of this list? Answered by [`Answer::Page`].
    Page(UserId, Side, Window),
    /// How many are in this list? Answered by [`Answer::Count`].
    Count(UserId, Side),
    /// Whom does this user follow? Answered by [`Answer::Follows`], newest first.
    Following(UserId),
    /// Whom does this user follow who follows back? Answered by [`Answer::Follows`], newest first.
    Mutuals(UserId),
    /// Which of these follow this user, and since when? Answered by [`Answer::Follows`], newest first.
    FollowersAmong(UserId, Among),
}

/// Users to be looked for in a list. Compared by identity: the same answer, not an equal one.
#[derive(Clone, Debug)]
pub struct Among(pub Arc<[Follow]>);

impl PartialEq for Among {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Among {}

impl Hash for Among {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.as_ptr().hash(state);
    }
}

/// What is the answer to a [`Question`]. Cheap to clone.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "each is described at the question it answers")]
pub enum Answer {
    UserId(Option<UserId>),
    User(Option<Arc<User>>),
    Relation(Relation),
    Page(Arc<Page>),
    Count(u64),
    Follows(Arc<[Follow]>),
}

/// An answer, or why there is none.
pub type Answered = Result<Answer, Error>;

/// The claim on what answers one question.
enum Claim {
    Named(Ticket<Option<Holder>>),
    User(Ticket<Option<User>>),
    Page(Ticket<Page>),
    Count(Ticket<u64>),
    Follows(Ticket<Vec<Follow>>),
    Times(Among, Vec<Ticket<Vec<Option<Timestamp>>>>),
}

impl App {
    /// Answers each of the questions. One round trip for all of them.
    pub async fn answer(&self, questions: &[Question]) -> HashMap<Question, Answered> {
        let mut batch = Batch::new("answer");
        let mut claims = Vec::new();
        let mut pairs: HashMap<UserId, Vec<UserId>> = HashMap::new();
        for question in questions {
            match question {
                Question::Relation(viewer, other) => pairs.entry(*viewer).or_default().push(*other),
                single => claims.push((single, self.claim(&mut batch, single))),
            }
        }
        let relations = self.claim_relations(&mut batch, pairs);
        match batch.send(self.store()).await {
            Ok(mut replies) => {
                let single = claims
                    .into_iter()
                    .map(|(question, claim)| (question.clone(), claim.redeem(&mut replies)));
                let mut answers: HashMap<_, _> = single.collect();
                answers.extend(redeem_relations(relations, &mut replies));
                answers
            }
            Err(error) => {
                let error = Error::from(error);
                questions.iter().map(|question| (question.clone(), Err(error.clone()))).collect()
            }
        }
    }

    fn claim(&self, batch: &mut Batch, question: &Question) -> Claim {
        let keys = self.keys();
        match question {
            Question::Named(username) => Claim::Named(batch.push(name::holder(self.keys(), username))),
            Question::User(user, fields) => Claim::User(batch.push(user::read(keys, *user, *fields))),
            Question::Page(user, side, window) => {
                Claim::Page(batch.push(relation::page(keys, *user, *side, window)))
            }
            Question::Count(user, side) => Claim::Count(batch.push(relation::count(keys, *user, *side))),
            Question::Following(user) => {
                Claim::Follows(batch.push(relation::all(keys, *user, Side::Following)))
            }
            Question::Mutuals(user) => Claim::Follows(batch.push(relation::mutuals(keys, *user))),
            Question::FollowersAmong(user, among) => {
                let times = among.0.chunks(PROBE).map(|chunk| {
                    let chunk: Vec<UserId> = chunk.iter().map(|follow| follow.user).collect();
                    batch.push(relation::times(keys, *user, Side::Followers, &chunk))
                });
                Claim::Times(among.clone(), times.collect())
            }
            Question::Relation(..) => unreachable!("relations are claimed together"),
        }
    }

    /// One command for up to [`PROBE`] users whose relation to one viewer is asked for.
    fn claim_relations(&self, batch: &mut Batch, pairs: HashMap<UserId, Vec<UserId>>) -> Vec<RelationClaim> {
        let mut claims = Vec::new();
        for (viewer, others) in pairs {
            for others in others.chunks(PROBE) {
                let strategy = self.0.relation.relation_strategy;
                let nonce = self.chance().nonce();
                let relations = relation::relations(self.keys(), viewer, others, strategy, nonce);
                claims.push((viewer, others.to_vec(), batch.push(relations)));
            }
        }
        claims
    }
}

type RelationClaim = (UserId, Vec<UserId>, Ticket<Vec<Relation>>);

fn redeem_relations(claims: Vec<RelationClaim>, replies: &mut Replies) -> Vec<(Question, Answered)> {
    let mut answers = Vec::new();
    for (viewer, others, ticket) in claims {
        match replies.take(ticket) {
            Ok(relations) => answers.extend(others.into_iter().zip(relations).map(|(other, relation)| {
                (Question::Relation(viewer, other), Ok(Answer::Relation(relation)))
            })),
            Err(error) => answers.extend(
                others
                    .into_iter()
                    .map(|other| (Question::Relation(viewer, other), Err(error.clone().into()))),
            ),
        }
    }
    answers
}

impl Claim {
    fn redeem(self, replies: &mut Replies) -> Answered {
        Ok(match self {
            Self::Named(ticket) => Answer::UserId(match replies.take(ticket)? {
                Some(Holder::Settled(user)) => Some(user),
                Some(Holder::Reserved(_)) | None => None,
            }),
            Self::User(ticket) => Answer::User(replies.take(ticket)?.map(Arc::new)),
            Self::Page(ticket) => Answer::Page(Arc::new(replies.take(ticket)?)),
            Self::Count(ticket) => Answer::Count(replies.take(ticket)?),
            Self::Follows(ticket) => Answer::Follows(replies.take(ticket)?.into()),
            Self::Times(Among(among), tickets) => {
                let times = replies.take_all(tickets)?.concat();
                let present = among
                    .iter()
                    .zip(times)
                    .filter_map(|(follow, at)| at.map(|at| Follow { user: follow.user, at }));
                let mut present: Vec<Follow> = present.collect();
                present.sort_by(|one, other| Position::from(*one).in_list_order(&Position::from(*other)));
                Answer::Follows(present.into())
            }
        })
    }
}
