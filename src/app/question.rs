//! Reading: many questions, one round trip.
//!
//! A question is what a loader of `graphql` is asked for, and its key. All questions of one level of
//! a query are answered together by [`App::answer`], in **one round trip**, whatever their kinds;
//! each kind is such that one round trip is enough. What concerns a whole page is one question, so
//! that a row costs a command and little else. Where posts are asked for that Redis does not have,
//! the archive is asked after that: one query for posts by id, one for pages of posts.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use crate::app::App;
use crate::app::archive::{Found, Joint, Listed, Wanted};
use crate::app::error::Error;
use crate::app::region::{sample_size, sample_spans};
use crate::config::RelationStrategy;
use crate::model::clock::{Day, Timestamp};
use crate::model::id::{PostId, UserId};
use crate::model::page::{Page, Place as _, Position, Window};
use crate::model::post::{Delivery, Post};
use crate::model::region::{Region, Residence};
use crate::model::relation::{Follow, Relation, Side};
use crate::model::session::Session;
use crate::model::user::{User, UserFields, Username};
use crate::store;
use crate::store::audience::{self, Shard};
use crate::store::batch::{Batch, Replies, Ticket};
use crate::store::fanout::{self, Kind, Progress, Task};
use crate::store::key::Layout;
use crate::store::name::{self, Holder};
use crate::store::post::{self, PostPage, Record, Trace};
use crate::store::region::{self, Places};
use crate::store::relation::{self, PROBE};
use crate::store::session;
use crate::store::user;
use crate::store::visit::{self, Days};

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
    /// Whom does this user follow who follows back? Answered by [`Answer::Follows`], newest first.
    Mutuals(UserId),
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
/// same list, not an equal one.
#[derive(Clone, Debug)]
pub struct Shared<T>(pub Arc<[T]>);

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

/// The claim on what answers one question.
enum Claim {
    Named(Ticket<Option<Holder>>),
    User(UserFields, Ticket<Option<User>>),
    Users(UserFields, Vec<Ticket<Option<User>>>),
    Regions(Shared<UserId>),
    Relation(Pairs),
    Relations(Pairs),
    Page(Ticket<Page<Follow>>),
    PostPage(UserId, Window<PostId>, Ticket<PostPage>),
    Posts(Vec<Read>),
    Delivery(Ticket<Option<Progress>>, Ticket<Option<Trace>>),
    Count(Ticket<u64>),
    Follows(Ticket<Vec<Follow>>),
    Times(Shared<Follow>, Vec<Ticket<Vec<Option<Timestamp>>>>),
    Sessions(Ticket<Vec<(Vec<u8>, Session)>>),
    Sample(Vec<Ticket<Vec<Follow>>>),
    VisitDays(Ticket<Days>),
    Sum(Vec<Ticket<u64>>),
    ArchivedVisits(Day, usize),
    Audience(Ticket<Vec<u64>>),
}

/// A viewer, and where those lie whose relations are asked for among all that are asked for of it.
struct Pairs {
    viewer: UserId,
    others: Range<usize>,
}

/// A post that is being read.
enum Read {
    /// Its record was asked for.
    Record(PostId, Ticket<Record>),
    /// It was read before.
    Before(Arc<Post>),
}

/// A post as far as it is known when Redis has answered.
enum Known {
    /// What it says, or that it is not there.
    Post(Option<Arc<Post>>),
    /// That Redis does not have it.
    Missing(PostId),
}

/// What Redis has answered to a question.
enum Half {
    /// All there is to answer.
    Whole(Answer),
    /// Posts, some of which the archive may have.
    Posts(Vec<Known>),
    /// A page which the archive may have something of.
    PostPage(Joint),
    /// What the archive alone knows.
    ArchivedVisits(Day, usize),
}

/// What several questions ask for together.
#[derive(Default)]
struct Together {
    /// Everybody whose relation to a viewer is asked for, by viewer.
    others: HashMap<UserId, Vec<UserId>>,
    /// Everybody of whom it is asked where they are.
    residents: Vec<UserId>,
    /// How many followers of a user are looked at where not all are.
    sample_size: usize,
}

/// Where everybody is who was asked for.
#[derive(Default)]
struct Regions {
    /// Those of whom it could be read.
    known: HashMap<UserId, Option<Region>>,
    /// Why it could not be read of others.
    failure: Option<Error>,
}

impl Regions {
    fn redeem(tickets: Vec<Ticket<Places>>, replies: &mut Replies) -> Self {
        let mut regions = Self::default();
        for ticket in tickets {
            match replies.take(ticket) {
                Ok(found) => regions.known.extend(found),
                Err(error) => regions.failure = Some(error.into()),
            }
        }
        regions
    }

    fn of(&self, user: UserId) -> Result<Option<Region>, Error> {
        match (self.known.get(&user), &self.failure) {
            (Some(region), _) => Ok(*region),
            (None, Some(failure)) => Err(failure.clone()),
            (None, None) => mismatch(),
        }
    }
}
/// The relations of everybody asked for, in order, by viewer.
type Relations = HashMap<UserId, Result<Vec<Relation>, Error>>;

impl App {
    /// Answers each of the questions. One round trip for all of them.
    pub async fn answer(&self, questions: &[Question]) -> HashMap<Question, Answered> {
        let mut batch = Batch::new("answer");
        let samples = questions.iter().filter(|question| matches!(question, Question::Followers(..))).count();
        let mut together = Together { sample_size: sample_size(samples), ..Together::default() };
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

    fn claim(&self, batch: &mut Batch, together: &mut Together, question: &Question) -> Claim {
        let keys = self.keys();
        match question {
            Question::Named(username) => Claim::Named(batch.push(name::holder(keys, username))),
            Question::User(user, fields) => {
                together.note_residents(&[*user], *fields);
                Claim::User(*fields, batch.push(user::read(keys, *user, *fields)))
            }
            Question::Users(users, fields) => {
                together.note_residents(&users.0, *fields);
                let read = |user: &UserId| batch.push(user::read(keys, *user, *fields));
                Claim::Users(*fields, users.0.iter().map(read).collect())
            }
            Question::Regions(users) => {
                together.note_residents(&users.0, UserFields::RESIDENCE);
                Claim::Regions(users.clone())
            }
            Question::Relation(viewer, other) => Claim::Relation(together.pair(*viewer, &[*other])),
            Question::Relations(viewer, users) => Claim::Relations(together.pair(*viewer, &users.0)),
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
            Question::Posts(posts) => {
                let read = |listed: &Listed| match listed {
                    Listed::Hot(id) => Read::Record(*id, batch.push(post::read(keys, *id))),
                    Listed::Archived(post) => Read::Before(Arc::clone(post)),
                };
                Claim::Posts(posts.0.iter().map(read).collect())
            }
            Question::PostPage(user, window) => {
                Claim::PostPage(*user, *window, batch.push(post::page(keys, *user, window)))
            }
            Question::PostCount(user) => Claim::Count(batch.push(post::count(keys, *user))),
            Question::Delivery(author, post) => {
                let task = Task { kind: Kind::Deliver, post: *post, author: *author };
                let progress = batch.push(fanout::progress(keys, &task));
                Claim::Delivery(progress, batch.push(post::trace(keys, *post)))
            }
            Question::Followers(user, count) => {
                let read = |(start, count)| relation::range(keys, *user, Side::Followers, start, count);
                let spans = sample_spans(*count, together.sample_size, self.chance().nonce());
                Claim::Sample(spans.into_iter().map(|span| batch.push(read(span))).collect())
            }
            Question::VisitDays => Claim::VisitDays(batch.push(visit::days(keys))),
            Question::Visitors(layout) => {
                let count = |shard| batch.push(visit::count(keys, *layout, shard));
                Claim::Sum((0..layout.shards).map(count).collect())
            }
            Question::ArchivedVisits(newest, count) => Claim::ArchivedVisits(*newest, *count),
            Question::Audience(user, day, shard) => {
                Claim::Audience(batch.push(audience::read(keys, *user, *day, *shard)))
            }
            Question::Sessions(user) => Claim::Sessions(batch.push(session::read_all(keys, *user))),
        }
    }

    /// One command for up to [`PROBE`] users whose relation to one viewer is asked for.
    fn claim_relations(
        &self,
        batch: &mut Batch,
        others: &HashMap<UserId, Vec<UserId>>,
        strategy: RelationStrategy,
    ) -> Vec<(UserId, Vec<Ticket<Vec<Relation>>>)> {
        let mut claim = |viewer: UserId, others: &[UserId]| {
            let nonce = self.chance().nonce();
            batch.push(relation::relations(self.keys(), viewer, others, strategy, nonce))
        };
        let claims = others.iter().map(|(&viewer, others)| {
            (viewer, others.chunks(PROBE).map(|others| claim(viewer, others)).collect())
        });
        claims.collect()
    }

    /// A Redis that cannot write now, because it is full or a replica, is probed instead: one round
    /// trip more, and what is asked for is told all the same.
    async fn redeem_relations(
        &self,
        tickets: Vec<(UserId, Vec<Ticket<Vec<Relation>>>)>,
        replies: &mut Replies,
        others: &HashMap<UserId, Vec<UserId>>,
    ) -> Relations {
        let mut is_read_only = false;
        let mut redeem = |replies: &mut Replies, tickets| {
            let relations = replies.take_all(tickets);
            is_read_only |= relations.as_ref().is_err_and(store::error::Error::is_read_only);
            relations.map(|relations| relations.concat()).map_err(Error::from)
        };
        let relations: Relations =
            tickets.into_iter().map(|(viewer, tickets)| (viewer, redeem(replies, tickets))).collect();
        if !is_read_only {
            return relations;
        }
        let mut batch = Batch::new("answer: read only");
        let tickets = self.claim_relations(&mut batch, others, RelationStrategy::Zmscore);
        match batch.send(self.store()).await {
            Ok(mut replies) => {
                let mut redeem = |tickets| Ok(replies.take_all(tickets)?.concat());
                tickets.into_iter().map(|(viewer, tickets)| (viewer, redeem(tickets))).collect()
            }
            Err(_) => relations,
        }
    }
}

/// A question was not answered, or by an answer of another kind; [`App::answer`] does neither.
pub fn mismatch() -> ! {
    unreachable!("every question is answered by an answer of its kind")
}

impl Together {
    /// Notes whose relations are asked for.
    fn pair(&mut self, viewer: UserId, asked: &[UserId]) -> Pairs {
        let others = self.others.entry(viewer).or_default();
        let start = others.len();
        others.extend(asked);
        Pairs { viewer, others: start..others.len() }
    }

    /// Notes these users if it is asked where they are.
    fn note_residents(&mut self, users: &[UserId], fields: UserFields) {
        if fields.contains(UserFields::RESIDENCE) {
            self.residents.extend(users);
        }
    }
}

/// What claims are redeemed with.
struct Answering {
    replies: Replies,
    relations: Relations,
    regions: Regions,
    now: Timestamp,
    /// What is to be asked of the archive.
    wanted: Wanted,
}

impl Answering {
    /// A user with where it is, if that was asked. If only that cannot be read, the rest is told all the same.
    fn user(&mut self, fields: UserFields, ticket: Ticket<Option<User>>) -> Result<Option<Arc<User>>, Error> {
        let Some(mut user) = self.replies.take(ticket)? else {
            return Ok(None);
        };
        if fields.contains(UserFields::RESIDENCE) {
            user.residence = self.regions.of(user.id).ok().map(Residence);
        }
        Ok(Some(Arc::new(user)))
    }
}

impl Pairs {
    fn redeem(self, relations: &Relations) -> Result<&[Relation], Error> {
        match &relations[&self.viewer] {
            Ok(relations) => Ok(&relations[self.others]),
            Err(error) => Err(error.clone()),
        }
    }
}

impl Claim {
    /// What Redis has answered; what is to be asked of the archive is added to what is wanted.
    fn redeem(self, answering: &mut Answering) -> Result<Half, Error> {
        let Answering { replies, relations, regions, now, wanted } = answering;
        Ok(Half::Whole(match self {
            Self::Named(ticket) => Answer::UserId(match replies.take(ticket)? {
                Some(Holder::Settled(user)) => Some(user),
                Some(Holder::Reserved(_)) | None => None,
            }),
            Self::User(fields, ticket) => Answer::User(answering.user(fields, ticket)?),
            Self::Users(fields, tickets) => {
                let users = tickets.into_iter().map(|ticket| answering.user(fields, ticket));
                Answer::Users(users.collect::<Result<_, Error>>()?)
            }
            Self::Regions(users) => {
                let regions = users.0.iter().map(|user| regions.of(*user));
                Answer::Regions(regions.collect::<Result<_, Error>>()?)
            }
            Self::Relation(pairs) => Answer::Relation(pairs.redeem(relations)?[0]),
            Self::Relations(pairs) => Answer::Relations(pairs.redeem(relations)?.into()),
            Self::Page(ticket) => Answer::Page(Arc::new(replies.take(ticket)?)),
            Self::Count(ticket) => Answer::Count(replies.take(ticket)?),
            Self::Follows(ticket) => Answer::Follows(replies.take(ticket)?.into()),
            Self::Times(among, tickets) => {
                Answer::Follows(present(&among.0, replies.take_all(tickets)?.concat()))
            }
            Self::Posts(posts) => {
                let mut known = |read| match read {
                    Read::Before(post) => Ok(Known::Post(Some(post))),
                    Read::Record(id, ticket) => Ok(match replies.take(ticket)? {
                        Record::Live(post) => Known::Post(Some(Arc::new(post))),
                        Record::Tombstone { .. } => Known::Post(None),
                        Record::Missing => {
                            wanted.ids.push(id);
                            Known::Missing(id)
                        }
                    }),
                };
                return Ok(Half::Posts(posts.into_iter().map(&mut known).collect::<Result<_, Error>>()?));
            }
            Self::PostPage(author, window, ticket) => {
                let page = replies.take(ticket)?;
                return Ok(Half::PostPage(Joint::new(author, window, page, &mut wanted.ranges)));
            }
            Self::Delivery(progress, trace) => {
                let served = replies.take(progress)?.map(|progress| progress.served);
                let trace = replies.take(trace)?;
                let is_archived = trace.is_none();
                Answer::Delivery(match (served, trace.and_then(|trace| trace.delivery)) {
                    (_, Some(Delivery::Delivered { followers })) => Delivered::All(followers),
                    (None, _) if is_archived => Delivered::Over,
                    (served, _) => Delivered::Some(served.unwrap_or(0)),
                })
            }
            Self::Sample(tickets) => {
                let follows = replies.take_all(tickets)?.into_iter().flatten();
                Answer::Sample(follows.map(|follow| follow.user).collect())
            }
            Self::VisitDays(ticket) => Answer::VisitDays(Arc::new(replies.take(ticket)?)),
            Self::Sum(tickets) => Answer::Count(replies.take_all(tickets)?.into_iter().sum()),
            Self::ArchivedVisits(newest, count) => {
                wanted.visits.push((newest, count));
                return Ok(Half::ArchivedVisits(newest, count));
            }
            Self::Audience(ticket) => {
                Answer::Visitors(replies.take(ticket)?.into_iter().filter_map(UserId::new).collect())
            }
            Self::Sessions(ticket) => Answer::Sessions(live(replies.take(ticket)?, *now)),
        }))
    }
}

impl Half {
    /// The whole answer, with what the archive has.
    fn complete(self, found: &Found) -> Answered {
        Ok(match self {
            Self::Whole(answer) => answer,
            Self::Posts(posts) => {
                let post = |known: Known| match (known, &found.posts) {
                    (Known::Post(post), _) => Ok(post),
                    (Known::Missing(id), Ok(posts)) => Ok(posts.get(&id).map(Arc::clone)),
                    (Known::Missing(_), Err(error)) => Err(error.clone()),
                };
                Answer::Posts(posts.into_iter().map(post).collect::<Result<_, Error>>()?)
            }
            Self::PostPage(joint) => Answer::PostPage(Arc::new(joint.join(&found.ranges)?)),
            Self::ArchivedVisits(newest, count) => match &found.visits[&(newest, count)] {
                Ok(visits) => Answer::ArchivedVisits(Arc::clone(visits)),
                Err(error) => return Err(error.clone()),
            },
        })
    }
}

/// Those who have a time, in list order.
fn present(among: &[Follow], times: Vec<Option<Timestamp>>) -> Arc<[Follow]> {
    let follow = |(follow, at): (&Follow, Option<Timestamp>)| Some(Follow { user: follow.user, at: at? });
    let mut present: Vec<Follow> = among.iter().zip(times).filter_map(follow).collect();
    present.sort_by(|one, other| Position::from(*one).in_list_order(&Position::from(*other)));
    present.into()
}

/// Those sessions that have not expired, the one seen last first.
fn live(sessions: Vec<(Vec<u8>, Session)>, now: Timestamp) -> Arc<[Session]> {
    let sessions = sessions.into_iter().map(|(_, session)| session);
    let mut live: Vec<Session> = sessions.filter(|session| session.expires_at > now).collect();
    live.sort_by_key(|session| std::cmp::Reverse((session.last_seen_at, session.created_at)));
    live.into()
}
