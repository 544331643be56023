//! Publishing posts and deleting them.
//!
//! A post comes to be in steps, because its record, its author's lists and the jobs of delivery lie in
//! different slots:
//! 0. it is decided whether the post is pushed or pulled, once: an author with more followers than the
//!    push limit becomes a star first, and stays one;
//! 1. an id is issued, and noted as being published;
//! 2. the record is made;
//! 3. the post becomes visible: it enters its author's lists, in one step in the author's slot, unless
//!    it is void; the idempotency key is done;
//! 4. the job of delivery is added, unless the post is pulled; what the author's lists have no more room
//!    for is put on its way to the archive;
//! 5. the note is taken away. `publish` answers, and waits for no delivery.
//!
//! Whoever is cut off leaves the note. The repairer looks at those that are some seconds old: if the post is
//! visible it does 4 and 5 again. If not, and the note is a minute old, it makes the post void in the
//! author's slot, erases its record, and only then does 5. So whatever is not noted is visible or never will be, which is what readers
//! count on ([`crate::app::timeline`]).
//!
//! An *idempotency key* stands for an attempt: the draft of a post and the digest of what it says. It
//! is bound to the attempt before step 2. Whoever comes with the same key and text goes on with that
//! draft, from step 2 on, unless it is done; if it is void, a new draft takes its place by comparison.
//!
//! A post is deleted under an intent, as an edge is written: 1. the record becomes a tombstone, from
//! when on nobody sees the post; 2. it leaves its author's lists; 3. it is put on its way to the archive,
//! and, if it was pushed, a job is added to take it out of timelines. Nobody waits for that one.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::Ordering;

use crate::app::App;
use crate::app::deadline::{ABANDONED_AFTER, Deadline, REPAIRED_AFTER};
use crate::app::error::{Broken, Error, Faults, Field, Reason};
use crate::app::viewer::Viewer;
use crate::config::TimelineStrategy;
use crate::model::clock::Timestamp;
use crate::model::id::{PostId, UserId};
use crate::model::post::{Content, Delivery, Digest, IdempotencyKey, Platform};
use crate::model::relation::Side;
use crate::store::batch::Batch;
use crate::store::fanout::{self, Kind, Task};
use crate::store::intent::Operation;
use crate::store::post::{self, Attempt, Draft, Erased, MOST_QUEUED, Note, Settled, Sizes, Trace};
use crate::store::{relation, timeline};

/// How often an id may turn out not to be usable. With each attempt more of them are skipped, should the
/// counter have fallen back.
const ATTEMPTS: u32 = 24;

/// How many notes the repairer looks at together.
const NOTES: usize = 1_000;

/// A post as it is to be.
#[derive(Clone, Debug)]
pub struct NewPost {
    /// Who writes it.
    pub author: UserId,
    /// What it says.
    pub content: Content,
    /// The client it is written with.
    pub platform: Option<Platform>,
    /// When it is written.
    pub created_at: Timestamp,
}

/// A post on its way through steps 2 to 5.
#[derive(Clone, Copy)]
struct Publication<'a> {
    post: &'a NewPost,
    draft: Draft,
    delivery: Delivery,
    attempt: Option<(Digest, Attempt)>,
}

impl App {
    /// The user who asks publishes a post. Five round trips; two more with an idempotency key.
    pub async fn publish(
        &self,
        viewer: &Viewer,
        content: &str,
        platform: Option<&str>,
        idempotency_key: Option<&str>,
    ) -> Result<PostId, Error> {
        let author = viewer.signed_in()?.user;
        let mut faults = Faults::default();
        let content = faults.check(Field::Content, Content::parse(content));
        let platform = platform.map(|text| faults.check(Field::Platform, Platform::parse(text)));
        let key =
            idempotency_key.map(|text| faults.check(Field::IdempotencyKey, IdempotencyKey::parse(text)));
        let (Some(content), None | Some(Some(_)), None | Some(Some(_))) = (content, &platform, &key) else {
            return Err(faults.into_error());
        };
        let post = NewPost { author, content, platform: platform.flatten(), created_at: self.now() };
        if let Some(key) = key.flatten() {
            return self.publish_once(&post, key.digest()).await;
        }
        let published = self.publish_all(&[post]).await?;
        published.first().copied().ok_or_else(|| Broken::GaveUp("publishing").into())
    }

    /// Publishes posts, all steps for all of them together: five round trips, however many they are.
    pub(super) async fn publish_all(&self, posts: &[NewPost]) -> Result<Vec<PostId>, Error> {
        let mut published: Vec<Option<PostId>> = vec![None; posts.len()];
        for attempt in 0..ATTEMPTS {
            let open: Vec<usize> = (0..posts.len()).filter(|&index| published[index].is_none()).collect();
            if open.is_empty() {
                break;
            }
            let deadline = Deadline::start(&*self.0.clock);
            let open_posts: Vec<&NewPost> = open.iter().map(|&index| &posts[index]).collect();
            let publications = self.draft(&open_posts, attempt, &deadline).await?;
            for (index, outcome) in open.into_iter().zip(self.write(&publications, &deadline).await?) {
                published[index] = outcome;
            }
        }
        let published: Option<Vec<PostId>> = published.into_iter().collect();
        published.ok_or_else(|| Broken::GaveUp("publishing: no id could be used").into())
    }

    /// Publishes a post once, however often it is sent under this idempotency key.
    async fn publish_once(&self, post: &NewPost, key: Digest) -> Result<PostId, Error> {
        let digest = Digest::of_post(&post.content, post.platform.as_ref());
        let read = post::attempt(self.keys(), post.author, key);
        let mut known = read.send("publish: attempt", self.store()).await?;
        for number in 0..ATTEMPTS {
            let deadline = Deadline::start(&*self.0.clock);
            // What the key stands for is gone on with, once; the next time round it is known to be void.
            let (attempt, delivery) = match known {
                Some(attempt) if number == 0 => (attempt, None),
                _ => self.claim_attempt(post, (key, digest), known.as_ref(), number, &deadline).await?,
            };
            if attempt.digest != digest {
                let message = "This idempotency key was used for another post.";
                return Err(Error::rule(Reason::IdempotencyMismatch, Field::IdempotencyKey, message));
            }
            if attempt.is_done {
                return Ok(attempt.draft.id);
            }
            let delivery = match delivery {
                Some(delivery) => delivery,
                None => self.decide_delivery(post.author).await?,
            };
            let written = NewPost { created_at: attempt.draft.note.created_at, ..post.clone() };
            let publication =
                Publication { post: &written, draft: attempt.draft, delivery, attempt: Some((key, attempt)) };
            if let Some(Some(id)) = self.write(&[publication], &deadline).await?.pop() {
                return Ok(id);
            }
            known = Some(attempt);
        }
        Err(Broken::GaveUp("publishing under an idempotency key").into())
    }

    /// Binds an idempotency key to a new draft, if it still stands for what is known. Answers what it
    /// stands for then; and how the post is delivered, if that was decided here.
    async fn claim_attempt(
        &self,
        post: &NewPost,
        (key, digest): (Digest, Digest),
        known: Option<&Attempt>,
        number: u32,
        deadline: &Deadline<'_>,
    ) -> Result<(Attempt, Option<Delivery>), Error> {
        let drafted = self.draft(&[post], number, deadline).await?;
        let Publication { draft, delivery, .. } = drafted[0];
        let mine = Attempt { draft, digest, is_done: false };
        let claim = post::claim_attempt(self.keys(), post.author, key, known, &mine);
        let held = claim.send("publish: claim", self.store()).await?;
        if held == mine {
            return Ok((mine, Some(delivery)));
        }
        // Nobody will write this draft.
        post::settle(self.keys(), &[draft]).send("publish: settle", self.store()).await?;
        Ok((held, None))
    }

    /// Steps 0 and 1.
    async fn draft<'a>(
        &self,
        posts: &[&'a NewPost],
        attempt: u32,
        deadline: &Deadline<'_>,
    ) -> Result<Vec<Publication<'a>>, Error> {
        // A post that is not pushed is found by those only who know that the strategy has changed.
        self.generation().await?;
        let began = deadline.began();
        let note = |post: &&NewPost| Note {
            author: post.author,
            created_at: post.created_at,
            began,
            nonce: self.chance().nonce(),
        };
        let mut batch = Batch::new("publish: issue");
        // An id or two may be void. After more failures ids are skipped, twice as many each time.
        let skipped = (1 << attempt.saturating_sub(1)) - 1;
        let least = self.0.last_issued.load(Ordering::Relaxed).saturating_add(1 + skipped);
        let drafts = batch.push(post::issue(self.keys(), least, posts.iter().map(note).collect()));
        let mut authors: Vec<UserId> = posts.iter().map(|post| post.author).collect();
        authors.sort_unstable();
        authors.dedup();
        let audience = |&author: &UserId| {
            let followers = batch.push(relation::count(self.keys(), author, Side::Followers));
            (author, followers, batch.push(timeline::is_star(self.keys(), author)))
        };
        let audiences: Vec<_> = authors.iter().map(audience).collect();
        let mut replies = batch.send(self.store()).await?;

        let drafts = replies.take(drafts)?;
        if let Some(last) = drafts.last() {
            self.0.last_issued.fetch_max(last.id.get(), Ordering::Relaxed);
        }
        let mut deliveries = HashMap::new();
        let mut new_stars = Vec::new();
        for (author, followers, is_star) in audiences {
            let (followers, is_star) = (replies.take(followers)?, replies.take(is_star)?);
            let delivery = self.delivery(followers, is_star);
            if delivery == Delivery::Pulled && !is_star {
                new_stars.push(author);
            }
            deliveries.insert(author, delivery);
        }
        self.make_stars(&new_stars).await?;
        let publication = |(post, draft): (&&'a NewPost, Draft)| {
            let delivery = deliveries[&post.author];
            Publication { post, draft, delivery, attempt: None }
        };
        Ok(posts.iter().zip(drafts).map(publication).collect())
    }

    /// Step 0 by itself, for a draft that somebody else began.
    async fn decide_delivery(&self, author: UserId) -> Result<Delivery, Error> {
        let mut batch = Batch::new("publish: audience");
        let followers = batch.push(relation::count(self.keys(), author, Side::Followers));
        let is_star = batch.push(timeline::is_star(self.keys(), author));
        let mut replies = batch.send(self.store()).await?;
        let (followers, is_star) = (replies.take(followers)?, replies.take(is_star)?);
        let delivery = self.delivery(followers, is_star);
        if delivery == Delivery::Pulled && !is_star {
            self.make_stars(&[author]).await?;
        }
        Ok(delivery)
    }

    /// How the posts of an author with so many followers are delivered.
    fn delivery(&self, followers: u64, is_star: bool) -> Delivery {
        let is_pulled = match self.0.timeline.timeline_strategy {
            TimelineStrategy::Hybrid => is_star || followers > self.0.timeline.timeline_push_limit,
            TimelineStrategy::Push => false,
            TimelineStrategy::Pull => true,
        };
        if is_pulled { Delivery::Pulled } else { Delivery::Pushed { followers } }
    }

    /// Before the first post that is not pushed any more: a reader who does not see the star does not
    /// pass the post either, for it is noted as being published.
    async fn make_stars(&self, authors: &[UserId]) -> Result<(), Error> {
        // Under the strategy pull everybody is pulled, star or not.
        if self.0.timeline.timeline_strategy != TimelineStrategy::Hybrid {
            return Ok(());
        }
        let mut batch = Batch::new("publish: star");
        let make =
            |&author: &UserId| batch.push(timeline::make_star(self.keys(), author, self.chance().nonce()));
        let tickets = authors.iter().map(make).collect();
        batch.send(self.store()).await?.take_all(tickets)?;
        Ok(())
    }

    /// Steps 2 to 5. `None` for those whose id could not be used.
    async fn write(
        &self,
        publications: &[Publication<'_>],
        deadline: &Deadline<'_>,
    ) -> Result<Vec<Option<PostId>>, Error> {
        deadline.check()?;
        let deliveries = self.create_posts(publications).await?;
        deadline.check()?;
        let settled = self.make_visible(publications, &deliveries).await?;

        let mut queue = Queue::default();
        let mut done = Vec::new();
        let mut published = Vec::with_capacity(publications.len());
        for ((publication, delivery), settled) in publications.iter().zip(deliveries).zip(settled) {
            let Draft { id, note } = publication.draft;
            match (delivery, settled) {
                (Some(_), Some(Settled::Visible(cold))) => {
                    queue.add(note.author, id, delivery, cold);
                    done.push(publication.draft);
                    published.push(Some(id));
                }
                // Whoever made it void erases its record, and takes the note away after that.
                (Some(_), _) => published.push(None),
                (None, _) => {
                    done.push(publication.draft);
                    published.push(None);
                }
            }
        }
        if !done.is_empty() {
            deadline.check()?;
            self.send_queue(queue).await?;
            post::settle(self.keys(), &done).send("publish: settle", self.store()).await?;
        }
        Ok(published)
    }

    /// Step 2.
    async fn create_posts(&self, publications: &[Publication<'_>]) -> Result<Vec<Option<Delivery>>, Error> {
        let mut batch = Batch::new("publish: record");
        let create = |Publication { post, draft, delivery, .. }: &Publication<'_>| {
            batch.push(post::create(self.keys(), draft, &post.content, post.platform.as_ref(), *delivery))
        };
        let tickets = publications.iter().map(create).collect();
        Ok(batch.send(self.store()).await?.take_all(tickets)?)
    }

    /// Step 3, for those that have a record.
    async fn make_visible(
        &self,
        publications: &[Publication<'_>],
        deliveries: &[Option<Delivery>],
    ) -> Result<Vec<Option<Settled>>, Error> {
        let mut batch = Batch::new("publish: visible");
        let publish = |(publication, delivery): (&Publication<'_>, &Option<Delivery>)| {
            delivery.as_ref()?;
            let attempt = publication.attempt.as_ref().map(|(key, attempt)| (*key, attempt));
            let now = self.now();
            Some(batch.push(post::publish(self.keys(), &publication.draft, now, self.sizes(), attempt)))
        };
        let tickets: Vec<_> = publications.iter().zip(deliveries).map(publish).collect();
        let mut replies = batch.send(self.store()).await?;
        tickets.into_iter().map(|ticket| Ok(ticket.map(|ticket| replies.take(ticket)).transpose()?)).collect()
    }

    fn sizes(&self) -> Sizes {
        Sizes { timeline: self.0.timeline.timeline_capacity, hot: self.0.timeline.post_hot_limit }
    }

    /// Step 4. One round trip, or none.
    async fn send_queue(&self, queue: Queue) -> Result<(), Error> {
        let mut batch = Batch::new("publish: queue");
        let jobs: Vec<_> =
            queue.tasks.iter().map(|task| batch.push(fanout::add(self.keys(), task))).collect();
        let cold: Vec<PostId> = queue.cold.into_iter().collect();
        let cold =
            cold.chunks(MOST_QUEUED).map(|posts| batch.push(post::queue_for_archive(self.keys(), posts)));
        let cold: Vec<_> = cold.collect();
        let mut replies = batch.send(self.store()).await?;
        replies.take_all(jobs)?;
        replies.take_all(cold)?;
        Ok(())
    }

    /// Finishes posts whose publishers seem to have been cut off after they became visible, and makes those
    /// void that are not visible and at which nobody can be any more. Returns how many it looked at. What
    /// cannot be settled now is left for the next round.
    pub(super) async fn repair_publishing(&self) -> Result<usize, Error> {
        let latest = self.now().minus(REPAIRED_AFTER);
        let (mut seen, mut start) = (0, 0);
        loop {
            let notes = post::publishing(self.keys(), start, NOTES);
            let notes = notes.send("repair: publishing", self.store()).await?;
            let count = notes.len();
            let known = notes.into_iter().flatten();
            let old: Vec<Draft> = known.filter(|draft| draft.note.began <= latest).collect();
            seen += old.len();
            let settled = self.settle_all(&old).await?;
            if count < NOTES {
                return Ok(seen);
            }
            start += count - settled;
        }
    }

    /// Settles what can be settled of these drafts, all together or, if that fails, one by one. Returns how
    /// many it settled.
    async fn settle_all(&self, drafts: &[Draft]) -> Result<usize, Error> {
        match self.settle_some(drafts).await {
            Err(error) if !error.is_unreachable() => {}
            settled => return settled,
        }
        let mut settled = 0;
        for draft in drafts {
            match self.settle_some(&[*draft]).await {
                Ok(count) => settled += count,
                Err(error) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::error!(error, post = %draft.id, "a post that was being published cannot be settled");
                }
            }
        }
        Ok(settled)
    }

    async fn settle_some(&self, drafts: &[Draft]) -> Result<usize, Error> {
        let (now, abandoned) = (self.now(), self.now().minus(ABANDONED_AFTER));
        let mut batch = Batch::new("repair: void post");
        let settle = |draft: &Draft| {
            let is_abandoned = draft.note.began <= abandoned;
            batch.push(post::settle_if_possible(self.keys(), draft, is_abandoned, now, self.sizes()))
        };
        let tickets = drafts.iter().map(settle).collect();
        let outcomes = batch.send(self.store()).await?.take_all(tickets)?;

        let mut batch = Batch::new("repair: post");
        let mut settled = Vec::new();
        let mut buried = Vec::new();
        let mut visible = Vec::new();
        for (draft, outcome) in drafts.iter().zip(outcomes) {
            match outcome {
                Settled::Void => buried.push(batch.push(post::bury(self.keys(), draft))),
                Settled::Visible(cold) => {
                    visible.push((draft, cold, batch.push(post::trace(self.keys(), draft.id))));
                }
                Settled::Open => continue,
            }
            settled.push(*draft);
        }
        let mut replies = batch.send(self.store()).await?;
        replies.take_all(buried)?;
        let mut queue = Queue::default();
        for (draft, cold, trace) in visible {
            let there = replies.take(trace)?.filter(|trace| !trace.is_deleted);
            queue.add(draft.note.author, draft.id, there.and_then(|trace| trace.delivery), cold);
        }
        self.send_queue(queue).await?;
        if !settled.is_empty() {
            post::settle(self.keys(), &settled).send("repair: settle", self.store()).await?;
        }
        Ok(settled.len())
    }

    /// The user who asks deletes a post of its own. Doing it again changes nothing. Six round trips.
    pub async fn delete_post(&self, viewer: &Viewer, id: PostId) -> Result<(), Error> {
        let author = viewer.signed_in()?.user;
        let missing = || Error::rule(Reason::NotFound, Field::PostId, "There is no such post.");
        let foreign = || Error::rule(Reason::NotYours, Field::PostId, "This post is somebody else's.");
        let trace = post::trace(self.keys(), id).send("delete: post", self.store()).await?;
        let trace = trace.ok_or_else(missing)?;
        if trace.author != author {
            return Err(if trace.is_deleted { missing() } else { foreign() });
        }
        if trace.is_deleted {
            // Whoever deleted it has left an intent, or is done.
            return Ok(());
        }
        let deadline = Deadline::start(&*self.0.clock);
        let intents = self.intents(std::iter::once(Operation::Delete { author, post: id }));
        self.record(&intents, &deadline).await?;
        deadline.check()?;
        match post::erase(self.keys(), author, id).send("delete: erase", self.store()).await? {
            Erased::Erased => {
                deadline.check()?;
                self.unlist(author, id, trace.delivery, true).await?;
                self.forget(&intents).await
            }
            Erased::Missing => Err(missing()),
            Erased::Foreign => Err(foreign()),
        }
    }

    /// Steps 2 and 3 of a deletion that was cut off, if the post has been erased. If it is abandoned, step
    /// 3 is done again whether or not it seems to be needed.
    pub(super) async fn finish_deletion(
        &self,
        author: UserId,
        id: PostId,
        is_abandoned: bool,
    ) -> Result<(), Error> {
        let trace = post::trace(self.keys(), id).send("delete: trace", self.store()).await?;
        match trace {
            Some(Trace { delivery, is_deleted: true, .. }) => {
                self.unlist(author, id, delivery, is_abandoned).await
            }
            _ => Ok(()),
        }
    }

    async fn unlist(
        &self,
        author: UserId,
        id: PostId,
        delivery: Option<Delivery>,
        queues_anyway: bool,
    ) -> Result<(), Error> {
        let delete = post::delete(self.keys(), author, id, self.now());
        let was_listed = delete.send("delete: lists", self.store()).await?;
        if !was_listed && !queues_anyway {
            return Ok(());
        }
        let mut batch = Batch::new("delete: queue");
        let archive = batch.push(post::queue_for_archive(self.keys(), &[id]));
        let was_pushed = matches!(delivery, Some(Delivery::Pushed { .. } | Delivery::Delivered { .. }));
        let task = Task { kind: Kind::Remove, post: id, author };
        let sweep = was_pushed.then(|| batch.push(fanout::add(self.keys(), &task)));
        let mut replies = batch.send(self.store()).await?;
        replies.take(archive)?;
        sweep.map(|sweep| replies.take(sweep)).transpose()?;
        Ok(())
    }
}

/// What is to be added to queues.
#[derive(Default)]
struct Queue {
    tasks: Vec<Task>,
    cold: BTreeSet<PostId>,
}

impl Queue {
    /// A post that is visible now, and what its author's lists have no more room for.
    fn add(&mut self, author: UserId, post: PostId, delivery: Option<Delivery>, cold: Vec<PostId>) {
        if matches!(delivery, Some(Delivery::Pushed { .. })) {
            self.tasks.push(Task { kind: Kind::Deliver, post, author });
        }
        self.cold.extend(cold);
    }
}
