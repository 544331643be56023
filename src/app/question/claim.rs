//! Commands sent for each question, and decoding of the replies.

use std::sync::Arc;

use super::together::{Pairs, Regions, Relations, Together};
use super::{Answer, Answered, Delivered, Question, Shared};
use crate::app::App;
use crate::app::archive::{Found, Joint, Listed, Wanted};
use crate::app::error::Error;
use crate::app::region::sample_spans;
use crate::config::AccountConfig;
use crate::model::clock::{Day, Timestamp};
use crate::model::id::{PostId, UserId};
use crate::model::page::{Page, Place as _, Position, Window};
use crate::model::post::{Delivery, Post};
use crate::model::region::Residence;
use crate::model::relation::{Follow, Side};
use crate::model::session::Session;
use crate::model::user::{User, UserFields};
use crate::store::audience;
use crate::store::batch::{Batch, Replies, Ticket};
use crate::store::fanout::{self, Kind, Progress, Task};
use crate::store::name::{self, Holder};
use crate::store::post::{self, PostPage, Record, Trace};
use crate::store::relation::{self, Mutuals, PROBE};
use crate::store::session;
use crate::store::user;
use crate::store::visit::{self, Days};

/// The pending replies for one question.
pub(super) enum Claim {
    Named(Ticket<Option<Holder>>),
    User(UserFields, Ticket<Option<User>>),
    Users(UserFields, Vec<(UserId, Ticket<Option<User>>)>),
    Regions(Shared<UserId>),
    Relation(Pairs),
    Relations(Pairs),
    Page(Ticket<Page<Follow>>),
    PostPage(UserId, Window<PostId>, Ticket<PostPage>),
    Posts(Vec<Read>),
    Delivery(Ticket<Option<Progress>>, Ticket<Option<Trace>>),
    Count(Ticket<u64>),
    Follows(Ticket<Vec<Follow>>),
    Mutuals(Ticket<Mutuals>),
    Times(Shared<Follow>, Vec<Ticket<Vec<Option<Timestamp>>>>),
    Sessions(Ticket<Vec<(Vec<u8>, Session)>>),
    Sample(Vec<Ticket<Vec<Follow>>>),
    VisitDays(Ticket<Days>),
    Sum(Vec<Ticket<u64>>),
    ArchivedVisits(Day, usize),
    Audience(Ticket<Vec<u64>>),
}

/// A post being read.
pub(super) enum Read {
    /// The record was requested.
    Record(PostId, Ticket<Record>),
    /// Already read with its list.
    Before(Arc<Post>),
}

/// The state of a post after Redis has replied.
pub(super) enum Known {
    /// The post, or `None` if it does not exist.
    Post(Option<Arc<Post>>),
    /// Missing from Redis.
    Missing(PostId),
}

/// The answer of Redis to a question.
pub(super) enum Half {
    /// A complete answer.
    Whole(Answer),
    /// Posts, some of which may be in the archive.
    Posts(Vec<Known>),
    /// A page that may continue in the archive.
    PostPage(Joint),
    /// Data stored only in the archive.
    ArchivedVisits(Day, usize),
}

impl App {
    /// Adds the commands for a question to the batch.
    pub(super) fn claim(&self, batch: &mut Batch, together: &mut Together, question: &Question) -> Claim {
        let keys = self.keys();
        match question {
            Question::Named(username) => Claim::Named(batch.push(name::holder(keys, username))),
            Question::User(user, fields) => {
                together.note_residents(&[*user], *fields);
                Claim::User(*fields, batch.push(user::read(keys, *user, *fields)))
            }
            Question::Users(users, fields) => {
                together.note_residents(&users.0, *fields);
                let read = |user: &UserId| (*user, batch.push(user::read(keys, *user, *fields)));
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
            Question::Mutuals(user, most) => {
                Claim::Mutuals(batch.push(relation::mutuals(keys, *user, *most)))
            }
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
}

/// The context for redeeming claims.
pub(super) struct Answering<'a> {
    pub(super) replies: Replies,
    pub(super) relations: Relations,
    pub(super) regions: Regions,
    pub(super) now: Timestamp,
    /// The limits that decide whether a session is live.
    pub(super) account: &'a AccountConfig,
    /// Collects the data to fetch from the archive.
    pub(super) wanted: Wanted,
}

impl Answering<'_> {
    /// Returns a user, with their region if requested. If only the region is unreadable, returns the rest.
    fn user(&mut self, fields: UserFields, ticket: Ticket<Option<User>>) -> Result<Option<Arc<User>>, Error> {
        let user = self.replies.take(ticket)?;
        Ok(user.map(|user| self.with_residence(fields, user)))
    }

    /// Does the same for one of several users; `None` if the record is unreadable.
    fn user_among(
        &mut self,
        fields: UserFields,
        (id, ticket): (UserId, Ticket<Option<User>>),
    ) -> Result<Option<Arc<User>>, Error> {
        let user = self.replies.take_readable(ticket, "user", id.get())?.flatten();
        Ok(user.map(|user| self.with_residence(fields, user)))
    }

    fn with_residence(&self, fields: UserFields, mut user: User) -> Arc<User> {
        if fields.contains(UserFields::RESIDENCE) {
            user.residence = self.regions.of(user.id).ok().map(Residence);
        }
        Arc::new(user)
    }
}

impl Claim {
    /// Decodes the reply of Redis, and adds the data to fetch from the archive to `wanted`.
    pub(super) fn redeem(self, answering: &mut Answering<'_>) -> Result<Half, Error> {
        let Answering { replies, relations, regions, now, account, wanted } = answering;
        Ok(Half::Whole(match self {
            Self::Named(ticket) => Answer::UserId(match replies.take(ticket)? {
                Some(Holder::Settled(user)) => Some(user),
                Some(Holder::Reserved(_)) | None => None,
            }),
            Self::User(fields, ticket) => Answer::User(answering.user(fields, ticket)?),
            Self::Users(fields, tickets) => {
                let users = tickets.into_iter().map(|claimed| answering.user_among(fields, claimed));
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
            Self::Mutuals(ticket) => Answer::Mutuals(replies.take(ticket)?.map(Into::into)),
            Self::Times(among, tickets) => {
                Answer::Follows(present(&among.0, replies.take_all(tickets)?.concat()))
            }
            Self::Posts(posts) => {
                let mut known = |read| match read {
                    Read::Before(post) => Ok(Known::Post(Some(post))),
                    Read::Record(id, ticket) => {
                        Ok(match replies.take_readable(ticket, "post", id.get())? {
                            Some(Record::Live(post)) => Known::Post(Some(Arc::new(post))),
                            None | Some(Record::Tombstone { .. } | Record::Void { .. }) => Known::Post(None),
                            Some(Record::Missing) => {
                                wanted.ids.push(id);
                                Known::Missing(id)
                            }
                        })
                    }
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
            Self::Sessions(ticket) => Answer::Sessions(live(replies.take(ticket)?, account, *now)),
        }))
    }
}

impl Half {
    /// Completes the answer with data from the archive.
    pub(super) fn complete(self, found: &Found) -> Answered {
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

/// Returns the users who have a time, in list order.
fn present(among: &[Follow], times: Vec<Option<Timestamp>>) -> Arc<[Follow]> {
    let follow = |(follow, at): (&Follow, Option<Timestamp>)| Some(Follow { user: follow.user, at: at? });
    let mut present: Vec<Follow> = among.iter().zip(times).filter_map(follow).collect();
    present.sort_by(|one, other| Position::from(*one).in_list_order(&Position::from(*other)));
    present.into()
}

/// Returns the sessions that have not expired, last seen first.
fn live(sessions: Vec<(Vec<u8>, Session)>, account: &AccountConfig, now: Timestamp) -> Arc<[Session]> {
    let sessions = sessions.into_iter().map(|(_, session)| session);
    let mut live: Vec<Session> = sessions.filter(|session| account.is_live(session, now)).collect();
    live.sort_by_key(|session| std::cmp::Reverse((session.last_seen_at, session.created_at)));
    live.into()
}
