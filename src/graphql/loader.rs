//! Batched loading: the questions of all resolvers on one level are sent together.
//!
//! There is one loader for all kinds of questions, so that everything a level of a query needs (users, relations and
//! lists) is **one** round trip. Its key is the question, which contains everything the answer depends on. It lives for
//! one scope and caches every answer.
//!
//! # Why the `dataloader` crate, and how it is contained
//! It batches by yielding to the other resolvers, without a timer. Its edge cases are handled here: `load` panics where
//! `try_load` returns an error, so only the latter is used; every question is answered; and a load whose leader was
//! cancelled (a sibling failed, its branch was dropped) receives *not found* and asks again, which is sufficient,
//! because questions change nothing. A page is one question, because the lock of the loader is held while a batch is in
//! flight, and every key is hashed often.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use dataloader::BatchFn;
use dataloader::cached;
use futures::FutureExt as _;
use futures::future::{join, join_all};
use metrics::histogram;

use crate::app::App;
use crate::app::archive::Listed;
use crate::app::audience::{Audience, Visitors};
use crate::app::error::Error;
use crate::app::question::{Answer, Answered, Delivered, Question, Shared, TooMany, mismatch};
use crate::app::timeline::{TimelinePage, TimelineQuery};
use crate::app::viewer::Viewer;
use crate::app::visit::history::{DailyVisits, History, Layout};
use crate::budget::{Budget, Resource};
use crate::model::clock::Day;
use crate::model::id::{PostId, UserId};
use crate::model::page::{Page, Position, Window};
use crate::model::post::Post;
use crate::model::region::Region;
use crate::model::relation::{Follow, Relation, Side};
use crate::model::session::Session;
use crate::model::user::{User, UserFields, Username};

/// Number of times a load yields to the other resolvers before it sends the questions collected so far. All resolvers
/// run in one task, and have been polled after one yield.
const YIELDS: usize = 1;

/// Maximum number of questions in a batch. Beyond it, a batch is sent before all resolvers of a level have asked.
const MOST_QUESTIONS: usize = 10_000;

/// Maximum number of day shards whose visitors are counted for one operation.
const MOST_SHARDS: u32 = 4_096;

/// Maximum number of followed users for mutuals to be read in one round trip: more than most users follow.
const FEW_FOLLOWED: usize = 200;

/// Users, in the order of their ids in the request.
pub(super) type Users = Arc<[Option<Arc<User>>]>;

/// Posts, in the order of their ids in the request.
pub(super) type Posts = Arc<[Option<Arc<Post>>]>;

/// Answers questions in batches and caches the answers.
pub(super) struct Loader {
    app: App,
    budget: Arc<Budget>,
    questions: cached::Loader<Question, Answered, Batches>,
    timelines: Memo<TimelineQuery, Arc<TimelinePage>>,
    /// Serializes reads of the timeline: if it has to be filled, the first read fills it for the others.
    timeline_turn: tokio::sync::Mutex<()>,
    audiences: Memo<(UserId, i64), Visitors>,
}

/// A cache of results that take several round trips to read.
struct Memo<K, V>(Mutex<HashMap<K, V>>);

impl<K: Eq + Hash, V: Clone> Memo<K, V> {
    fn new() -> Self {
        Self(Mutex::new(HashMap::new()))
    }

    fn get(&self, key: &K) -> Option<V> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// Caches a result, and returns the one that was cached first.
    fn keep(&self, key: K, value: V) -> V {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_insert(value).clone()
    }
}

/// Sends the batches, within a budget.
struct Batches {
    app: App,
    budget: Arc<Budget>,
}

impl BatchFn<Question, Answered> for Batches {
    async fn load(&mut self, questions: &[Question]) -> HashMap<Question, Answered> {
        #[expect(clippy::cast_precision_loss, reason = "a metric is a double")]
        histogram!("fanfold_loader_questions").record(questions.len() as f64);
        self.budget.limit(self.app.answer(questions)).boxed().await
    }
}

impl Loader {
    pub(super) fn new(app: App, budget: Arc<Budget>) -> Self {
        let batches = Batches { app: app.clone(), budget: Arc::clone(&budget) };
        let questions = cached::Loader::new(batches);
        let questions = questions.with_yield_count(YIELDS).with_max_batch_size(MOST_QUESTIONS);
        Self {
            app,
            budget,
            questions,
            timelines: Memo::new(),
            timeline_turn: tokio::sync::Mutex::default(),
            audiences: Memo::new(),
        }
    }

    async fn ask(&self, question: Question) -> Answered {
        loop {
            if let Ok(answered) = self.questions.try_load(question.clone()).await {
                return answered;
            }
        }
    }

    /// Returns the user with this name.
    pub(super) async fn named(&self, username: Username) -> Result<Option<UserId>, Error> {
        match self.ask(Question::Named(username)).await? {
            Answer::UserId(user) => Ok(user),
            _ => mismatch(),
        }
    }

    /// Returns the record of a user; `None` if they do not exist.
    pub(super) async fn user(&self, user: UserId, fields: UserFields) -> Result<Option<Arc<User>>, Error> {
        match self.ask(Question::User(user, fields)).await? {
            Answer::User(user) => Ok(user),
            _ => mismatch(),
        }
    }

    /// Returns the records of these users; `None` for users who do not exist.
    pub(super) async fn users(&self, users: Shared<UserId>, fields: UserFields) -> Result<Users, Error> {
        match self.ask(Question::Users(users, fields)).await? {
            Answer::Users(users) => Ok(users),
            _ => mismatch(),
        }
    }

    /// Returns the region of each of these users; `None` if unknown.
    pub(super) async fn regions(&self, users: Arc<[UserId]>) -> Result<Arc<[Option<Region>]>, Error> {
        match self.ask(Question::Regions(Shared(users))).await? {
            Answer::Regions(regions) => Ok(regions),
            _ => mismatch(),
        }
    }

    /// Returns the followers of a user who has `count` of them; of very many, an even sample.
    pub(super) async fn followers(&self, user: UserId, count: u64) -> Result<Arc<[UserId]>, Error> {
        match self.ask(Question::Followers(user, count)).await? {
            Answer::Sample(users) => Ok(users),
            _ => mismatch(),
        }
    }

    /// Returns the users who viewed a user's profile within `days` days up to `today`. One round trip, or several if
    /// there are very many.
    pub(super) async fn audience(&self, user: UserId, today: Day, days: i64) -> Result<Visitors, Error> {
        let key = (user, days);
        if let Some(visitors) = self.audiences.get(&key) {
            return Ok(visitors);
        }
        // Boxed: resolvers nest, and would hold the stack for a path that few of them take.
        let visitors = self.read_audience(user, today, days).boxed().await?;
        Ok(self.audiences.keep(key, visitors))
    }

    async fn read_audience(&self, user: UserId, today: Day, days: i64) -> Result<Visitors, Error> {
        let mut audience = Audience::new(today, days);
        loop {
            let open = audience.take_open();
            if open.is_empty() {
                let visitors = audience.finish();
                // Sorting them takes the server as long as walking them takes Redis.
                self.budget.spend(Resource::Commands, visitors.some.len() as u64 / 8)?;
                return Ok(visitors);
            }
            let found = open.iter().map(|(day, shard)| self.ask(Question::Audience(user, *day, *shard)));
            for ((day, shard), found) in open.iter().zip(join_all(found).await) {
                match found? {
                    Answer::Visitors(found) => audience.add(*day, *shard, &found),
                    _ => mismatch(),
                }
            }
        }
    }

    /// Returns the number of visitors on each of the `first` days before a day, or up to today. Two round trips, and a
    /// query if the archive is needed.
    pub(super) async fn visits(
        &self,
        today: Day,
        first: usize,
        before: Option<Day>,
    ) -> Result<Vec<DailyVisits>, Error> {
        let Answer::VisitDays(days) = self.ask(Question::VisitDays).await? else { mismatch() };
        let history = History::new(&days, today, first, before);
        let shards: u32 = history.open().iter().map(|layout| layout.shards).sum();
        let counted = history.open().iter().map(|layout| self.visitors(*layout, shards > MOST_SHARDS));
        let archived = async {
            match history.archived() {
                None => Ok(Vec::new()),
                Some((newest, count)) => match self.ask(Question::ArchivedVisits(newest, count)).await? {
                    Answer::ArchivedVisits(visits) => Ok(visits.to_vec()),
                    _ => mismatch(),
                },
            }
        };
        let (counted, archived) = join(join_all(counted), archived).await;
        let counted: Vec<u64> = counted.into_iter().collect::<Result<_, Error>>()?;
        history.tell(&counted, archived)
    }

    /// Returns the number of visitors on a day that is not archived: the current number or, if counting takes very many
    /// commands, one some seconds old.
    async fn visitors(&self, layout: Layout, is_large: bool) -> Result<u64, Error> {
        if is_large {
            return self.app.recent_visitors(layout).boxed().await;
        }
        match self.ask(Question::Visitors(layout)).await? {
            Answer::Count(count) => Ok(count),
            _ => mismatch(),
        }
    }

    /// Returns the relation between the viewer and another user.
    pub(super) async fn relation(&self, viewer: UserId, other: UserId) -> Result<Relation, Error> {
        match self.ask(Question::Relation(viewer, other)).await? {
            Answer::Relation(relation) => Ok(relation),
            _ => mismatch(),
        }
    }

    /// Returns the relations between the viewer and these users.
    pub(super) async fn relations(
        &self,
        viewer: UserId,
        others: Shared<UserId>,
    ) -> Result<Arc<[Relation]>, Error> {
        match self.ask(Question::Relations(viewer, others)).await? {
            Answer::Relations(relations) => Ok(relations),
            _ => mismatch(),
        }
    }

    /// Returns the active sessions of a user.
    pub(super) async fn sessions(&self, user: UserId) -> Result<Arc<[Session]>, Error> {
        match self.ask(Question::Sessions(user)).await? {
            Answer::Sessions(sessions) => Ok(sessions),
            _ => mismatch(),
        }
    }

    /// Returns a page of one of the stored lists.
    pub(super) async fn page(
        &self,
        user: UserId,
        side: Side,
        window: Window<Position>,
    ) -> Result<Arc<Page<Follow>>, Error> {
        match self.ask(Question::Page(user, side, window)).await? {
            Answer::Page(page) => Ok(page),
            _ => mismatch(),
        }
    }

    /// Returns the length of one of the stored lists.
    pub(super) async fn count(&self, user: UserId, side: Side) -> Result<u64, Error> {
        match self.ask(Question::Count(user, side)).await? {
            Answer::Count(count) => Ok(count),
            _ => mismatch(),
        }
    }

    /// Returns these posts; `None` for posts that do not exist.
    pub(super) async fn posts(&self, posts: Shared<Listed>) -> Result<Posts, Error> {
        match self.ask(Question::Posts(posts)).await? {
            Answer::Posts(posts) => Ok(posts),
            _ => mismatch(),
        }
    }

    /// Returns a page of a user's posts.
    pub(super) async fn post_page(
        &self,
        author: UserId,
        window: Window<PostId>,
    ) -> Result<Arc<Page<Listed>>, Error> {
        match self.ask(Question::PostPage(author, window)).await? {
            Answer::PostPage(page) => Ok(page),
            _ => mismatch(),
        }
    }

    /// Returns the number of a user's posts.
    pub(super) async fn post_count(&self, author: UserId) -> Result<u64, Error> {
        match self.ask(Question::PostCount(author)).await? {
            Answer::Count(count) => Ok(count),
            _ => mismatch(),
        }
    }

    /// Returns the progress of a delivery that was not complete when its post was read.
    pub(super) async fn delivery(&self, author: UserId, post: PostId) -> Result<Delivered, Error> {
        match self.ask(Question::Delivery(author, post)).await? {
            Answer::Delivery(delivered) => Ok(delivered),
            _ => mismatch(),
        }
    }

    /// Returns all users whom a user follows and who follow back. One more round trip for a user who follows many: the
    /// cost grows with their number, which the budget must know first.
    pub(super) async fn mutuals(&self, user: UserId) -> Result<Arc<[Follow]>, Error> {
        let mut most = FEW_FOLLOWED;
        loop {
            match self.ask(Question::Mutuals(user, most)).await? {
                Answer::Mutuals(Ok(mutuals)) => return Ok(mutuals),
                // More may be followed in the meantime.
                Answer::Mutuals(Err(TooMany(following))) => most = following + FEW_FOLLOWED,
                _ => mismatch(),
            }
        }
    }

    /// Returns a page of the viewer's home timeline.
    pub(super) async fn timeline(
        &self,
        viewer: &Viewer,
        query: TimelineQuery,
    ) -> Result<Arc<TimelinePage>, Error> {
        let _turn = self.timeline_turn.lock().await;
        if let Some(page) = self.timelines.get(&query) {
            return Ok(page);
        }
        // Boxed, as above.
        let page = self.budget.limit(self.app.timeline(viewer, query)).boxed().await?;
        Ok(self.timelines.keep(query, Arc::new(page)))
    }

    /// Returns all followers of a user whom the viewer follows. One round trip more than the others, once per scope:
    /// the users the viewer follows must be known first.
    pub(super) async fn known_followers(&self, user: UserId, viewer: UserId) -> Result<Arc<[Follow]>, Error> {
        let among = Shared(self.follows(Question::Following(viewer)).await?);
        self.follows(Question::FollowersAmong(user, among)).await
    }

    async fn follows(&self, question: Question) -> Result<Arc<[Follow]>, Error> {
        match self.ask(question).await? {
            Answer::Follows(follows) => Ok(follows),
            _ => mismatch(),
        }
    }
}
