//! Steps 0 to 5 of publishing, for one or many posts, and the attempts identified by idempotency keys.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::app::App;
use crate::app::archive::Listed;
use crate::app::deadline::Deadline;
use crate::app::error::{Broken, Error, Faults, Field, Reason, RuleViolation};
use crate::app::post::referral::Referring;
use crate::app::post::{NewPost, Queue, key_mismatch, too_many};
use crate::app::viewer::Viewer;
use crate::app::visibility::{UserSelection, Visible, VisiblePost};
use crate::config::TimelineStrategy;
use crate::model::account::Standing;
use crate::model::clock::Timestamp;
use crate::model::details::{References, Reply};
use crate::model::digest::Digest;
use crate::model::id::{PostId, UserId};
use crate::model::post::{Content, Delivery, IdempotencyKey, Platform, Visibility};
use crate::model::relation::Side;
use crate::model::user::UserFields;
use crate::store::batch::Batch;
use crate::store::bucket;
use crate::store::draft::{self, Attempt, Bound, Claimed, Draft, Note};
use crate::store::post::{self, Once, Settled};
use crate::store::{Feature, relation, timeline};

/// Maximum number of attempts to publish a post, each with a new id. Later attempts skip more and more ids,
/// in case the counter has fallen back.
const ATTEMPTS: u32 = 24;

/// A post as its author requests it, not yet validated.
#[derive(Clone, Copy, Debug, Default)]
pub struct PublishRequest<'a> {
    /// Text of the post.
    pub content: &'a str,
    /// Name of the client that the post was written with.
    pub platform: Option<&'a str>,
    /// Users who can see the post.
    pub visibility: Visibility,
    /// The post to which this one replies.
    pub in_reply_to: Option<PostId>,
    /// The post that this one quotes.
    pub quote_of: Option<PostId>,
    /// Key that identifies the attempt.
    pub idempotency_key: Option<&'a str>,
}

/// Returns the place of a reply to a post, which is `None` if the author of the reply may not see it.
fn reply_to(parent: Option<VisiblePost>, visibility: Visibility) -> Result<Reply, RuleViolation> {
    let Some(VisiblePost { post, .. }) = parent else { return Err(unknown(Field::InReplyTo)) };
    if visibility.is_public() && !post.visibility.is_public() {
        let message = "A reply to a post that only followers can see is for followers only as well.";
        return Err(RuleViolation::new(Reason::Visibility, Field::Visibility, message));
    }
    Ok(Reply::to(post.id, post.details.references.reply.as_ref()))
}

/// Returns the reference to a quoted post, which is `None` if the quoting author may not see it.
fn quote(quoted: Option<VisiblePost>) -> Result<PostId, RuleViolation> {
    let Some(VisiblePost { post, author, .. }) = quoted else { return Err(unknown(Field::QuoteOf)) };
    if !post.visibility.is_public() || author.record.is_private == Some(true) {
        let message = "Only posts that everyone can see can be quoted.";
        return Err(RuleViolation::new(Reason::Visibility, Field::QuoteOf, message));
    }
    Ok(post.id)
}

fn unknown(field: Field) -> RuleViolation {
    RuleViolation::new(Reason::NotFound, field, "This post does not exist.")
}

/// Returns the attempt that an idempotency key is bound to. Fails if the key was used for an edit.
fn attempt_of(bound: Bound) -> Result<Attempt, Error> {
    match bound {
        Bound::Attempt(attempt) => Ok(attempt),
        Bound::Edit(_) => Err(key_mismatch()),
    }
}

/// A post on its way through steps 2 to 5.
#[derive(Clone, Copy)]
struct Publication<'a> {
    post: &'a NewPost,
    draft: Draft,
    delivery: Delivery,
    attempt: Option<(Digest, Attempt)>,
}

impl Publication<'_> {
    fn refers_to_posts(&self) -> bool {
        self.post.references.refers_to_posts()
    }

    fn once(&self) -> Once<'_> {
        match (&self.attempt, self.post.references.original) {
            (Some((key, attempt)), _) => Once::Attempt(*key, attempt),
            (None, Some(original)) => Once::Repost(original),
            (None, None) => Once::Never,
        }
    }
}

/// The result of step 1, and the input of step 0, which the same round trip reads.
struct Issued {
    drafts: Vec<Draft>,
    /// Authors, each with the number of followers.
    audiences: Vec<(UserId, u64)>,
    /// Time until the author's bucket has a token; `None` if a token was taken or none was needed.
    wait: Option<Duration>,
}

impl App {
    /// Publishes a post by the viewer and takes one token from the viewer's bucket. Makes five round trips,
    /// plus two with an idempotency key, plus one for this process's first post that only followers can see or
    /// that has references; plus four for a post that refers to others, to read these and their authors, and to enter
    /// the post in their lists.
    pub async fn publish(&self, viewer: &Viewer, request: PublishRequest<'_>) -> Result<PostId, Error> {
        let author = viewer.signed_in()?.user;
        let PublishRequest { content, platform, visibility, idempotency_key, .. } = request;
        let mut faults = Faults::default();
        let content = faults.check(Field::Content, Content::parse(content));
        let platform = platform.map(|text| faults.check(Field::Platform, Platform::parse(text)));
        let key =
            idempotency_key.map(|text| faults.check(Field::IdempotencyKey, IdempotencyKey::parse(text)));
        let (Some(content), None | Some(Some(_)), None | Some(Some(_))) = (content, &platform, &key) else {
            return Err(faults.into_error());
        };
        let (platform, created_at) = (platform.flatten(), self.now());
        let references = References::default();
        let mut post = NewPost { author, content, platform, visibility, references, created_at };
        let digest = post.digest(&request);
        let references = self.references(viewer, &request).await;
        if let Some(key) = key.flatten() {
            let key = key.digest();
            if let Err(error) = references {
                // A post that was published under this key may refer to a post that has been deleted since.
                return self.published_under((author, key), digest).await?.ok_or(error);
            }
            post.references = references?;
            return self.publish_once(&post, key, digest).await;
        }
        post.references = references?;
        let published = self.publish_each(&[post], Some(author)).await?;
        published.first().copied().ok_or_else(|| Broken::GaveUp("publishing").into())
    }

    /// Publishes posts, running each step for all posts together. Makes five round trips for any number of
    /// posts. Takes no token.
    pub(in crate::app) async fn publish_all(&self, posts: &[NewPost]) -> Result<Vec<PostId>, Error> {
        self.publish_each(posts, None).await
    }

    /// Publishes posts like [`Self::publish_all`], and takes one token from the bucket of the `charged` user,
    /// if any.
    pub(super) async fn publish_each(
        &self,
        posts: &[NewPost],
        mut charged: Option<UserId>,
    ) -> Result<Vec<PostId>, Error> {
        let mut published: Vec<Option<PostId>> = vec![None; posts.len()];
        for attempt in 0..ATTEMPTS {
            let open: Vec<usize> = (0..posts.len()).filter(|&index| published[index].is_none()).collect();
            if open.is_empty() {
                break;
            }
            let deadline = self.deadline();
            let open_posts: Vec<&NewPost> = open.iter().map(|&index| &posts[index]).collect();
            let publications = self.draft(&open_posts, attempt, &deadline, charged.take()).await?;
            for (index, outcome) in open.into_iter().zip(self.write(&publications, &deadline).await?) {
                published[index] = outcome;
            }
        }
        let published: Option<Vec<PostId>> = published.into_iter().collect();
        published.ok_or_else(|| Broken::GaveUp("publishing: no id could be used").into())
    }

    /// Returns the post that was published under this author's idempotency key; `None` if none was.
    async fn published_under(
        &self,
        (author, key): (UserId, Digest),
        digest: Digest,
    ) -> Result<Option<PostId>, Error> {
        let bound = draft::bound(self.keys(), author, key).send("publish: attempt", self.store()).await?;
        Ok(match bound {
            Some(Bound::Attempt(attempt)) if attempt.is_done && attempt.digest == digest => {
                Some(attempt.draft.id)
            }
            _ => None,
        })
    }

    /// Returns the references of a requested post. Makes no round trip if it refers to nothing; otherwise two. Fails if
    /// the viewer may not see a post that it refers to, or may not refer to it in this way.
    async fn references(&self, viewer: &Viewer, request: &PublishRequest<'_>) -> Result<References, Error> {
        let PublishRequest { content, in_reply_to, quote_of, visibility, .. } = *request;
        let ids: Arc<[Listed]> = in_reply_to.into_iter().chain(quote_of).map(Listed::Id).collect();
        let visible = Visible { app: self, load: self, viewer };
        let author = UserSelection { fields: UserFields::PRIVATE, ..UserSelection::NONE };
        let mut found = visible.posts(ids, author).await?.into_iter();
        let mut faults = Faults::default();
        let parent = in_reply_to.map(|_| found.next().flatten());
        let quoted = quote_of.map(|_| found.next().flatten());
        let reply = parent.map(|parent| faults.check_rule(reply_to(parent, visibility)));
        let quoted = quoted.map(|quoted| faults.check_rule(quote(quoted)));
        let (None | Some(Some(_)), None | Some(Some(_))) = (&reply, &quoted) else {
            return Err(faults.into_error());
        };
        let of_text = References::of_text(content);
        Ok(References { reply: reply.flatten(), quoted: quoted.flatten(), ..of_text })
    }

    /// Publishes a post exactly once per idempotency key.
    async fn publish_once(&self, post: &NewPost, key: Digest, digest: Digest) -> Result<PostId, Error> {
        let read = draft::bound(self.keys(), post.author, key);
        let mut known = read.send("publish: attempt", self.store()).await?.map(attempt_of).transpose()?;
        for number in 0..ATTEMPTS {
            let deadline = self.deadline();
            // Resume the known attempt, but only in the first iteration. After that, its draft is known to be
            // revoked.
            let (attempt, delivery) = match known {
                Some(attempt) if number == 0 => (attempt, None),
                _ => self.claim_attempt(post, (key, digest), known, number, &deadline).await?,
            };
            if attempt.digest != digest {
                return Err(key_mismatch());
            }
            if attempt.is_done {
                return Ok(attempt.draft.id);
            }
            let delivery = match delivery {
                Some(delivery) => delivery,
                None => self.decide_delivery(post.author).await?,
            };
            let publication =
                Publication { post, draft: attempt.draft, delivery, attempt: Some((key, attempt)) };
            if let Some(Some(id)) = self.write(&[publication], &deadline).await?.pop() {
                return Ok(id);
            }
            known = Some(attempt);
        }
        Err(Broken::GaveUp("publishing under an idempotency key").into())
    }

    /// Binds an idempotency key to a new draft, if the key is still bound to `known`. Returns the attempt to
    /// which the key is bound afterwards, and the post's delivery mode if this call decided it.
    async fn claim_attempt(
        &self,
        post: &NewPost,
        (key, digest): (Digest, Digest),
        known: Option<Attempt>,
        number: u32,
        deadline: &Deadline<'_>,
    ) -> Result<(Attempt, Option<Delivery>), Error> {
        let drafted = self.draft(&[post], number, deadline, None).await?;
        let Publication { draft, delivery, .. } = drafted[0];
        let mine = Attempt { draft, digest, is_done: false };
        let limit = (self.publish_limit(), self.now());
        let (known, bound) = (known.map(Bound::Attempt), Bound::Attempt(mine));
        let claim = draft::claim(self.keys(), post.author, key, known, bound, limit);
        let claimed = claim.send("publish: claim", self.store()).await?;
        if claimed == Claimed::Held(bound) {
            return Ok((mine, Some(delivery)));
        }
        // No process will write this draft.
        draft::settle(self.keys(), &[draft]).send("publish: settle", self.store()).await?;
        match claimed {
            Claimed::Held(held) => Ok((attempt_of(held)?, None)),
            Claimed::Throttled(wait) => Err(too_many(wait)),
        }
    }

    /// Runs steps 0 and 1. Rejects the posts if the charged user's bucket is empty.
    async fn draft<'a>(
        &self,
        posts: &[&'a NewPost],
        attempt: u32,
        deadline: &Deadline<'_>,
        charged: Option<UserId>,
    ) -> Result<Vec<Publication<'a>>, Error> {
        // Put the configured strategy into force first. Otherwise, readers would miss a post that is not
        // pushed.
        self.generation().await?;
        let began = deadline.began();
        let mut issued = self.issue(posts, attempt, began, charged).await?;
        if let Some(wait) = issued.wait {
            draft::settle(self.keys(), &issued.drafts).send("publish: settle", self.store()).await?;
            return Err(too_many(wait));
        }
        while !self.are_counters_raised() {
            // Redis has restarted since the counters were raised and may have issued duplicate ids.
            draft::settle(self.keys(), &issued.drafts).send("publish: settle", self.store()).await?;
            deadline.check()?;
            issued = self.issue(posts, attempt, began, None).await?;
        }
        let mut deliveries = HashMap::new();
        let mut new_stars = Vec::new();
        for (author, followers) in issued.audiences {
            let is_star = self.is_known_star(author);
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
        Ok(posts.iter().zip(issued.drafts).map(publication).collect())
    }

    /// Runs step 1, reads the input of step 0 and takes the charged user's token, all in one round trip. If
    /// no token is left, the caller must not use the ids.
    async fn issue(
        &self,
        posts: &[&NewPost],
        attempt: u32,
        began: Timestamp,
        charged: Option<UserId>,
    ) -> Result<Issued, Error> {
        self.check_counters().await?;
        let note = |post: &&NewPost| Note {
            author: post.author,
            created_at: post.created_at,
            began,
            nonce: self.rng().nonce(),
        };
        let mut batch = Batch::new("publish: issue");
        // One or two revoked ids are normal. After further failures, skip ids, about twice as many each time.
        let skipped = (1 << attempt.saturating_sub(1)) - 1;
        let least = self.0.process.last_issued.load(Ordering::Relaxed).saturating_add(1 + skipped);
        let drafts = batch.push(draft::issue(self.keys(), least, posts.iter().map(note).collect()));
        let mut authors: Vec<UserId> = posts.iter().map(|post| post.author).collect();
        authors.sort_unstable();
        authors.dedup();
        let audience =
            |&author: &UserId| (author, batch.push(relation::count(self.keys(), author, Side::Followers)));
        let audiences: Vec<_> = authors.iter().map(audience).collect();
        let token = |author| {
            let bucket = self.keys().publishes_of(author);
            batch.push(bucket::take(&bucket, self.publish_limit(), 1, self.now()))
        };
        let token = charged.map(token);
        let mut replies = batch.send(self.store()).await?;

        let drafts = replies.take(drafts)?;
        if let Some(last) = drafts.last() {
            self.0.process.last_issued.fetch_max(last.id.get(), Ordering::Relaxed);
        }
        let mut read = |(author, followers)| Ok((author, replies.take(followers)?));
        let audiences = audiences.into_iter().map(&mut read).collect::<Result<_, Error>>()?;
        let drawn = token.map(|token| replies.take(token)).transpose()?;
        Ok(Issued { drafts, audiences, wait: drawn.and_then(|drawn| drawn.wait) })
    }

    /// Runs step 0 alone, for a draft that another request created.
    async fn decide_delivery(&self, author: UserId) -> Result<Delivery, Error> {
        let followers = relation::count(self.keys(), author, Side::Followers);
        let followers = followers.send("publish: audience", self.store()).await?;
        let is_star = self.is_known_star(author);
        let delivery = self.delivery(followers, is_star);
        if delivery == Delivery::Pulled && !is_star {
            self.make_stars(&[author]).await?;
        }
        Ok(delivery)
    }

    /// Decides the delivery mode for posts of an author with `followers` followers.
    fn delivery(&self, followers: u64, is_star: bool) -> Delivery {
        let is_pulled = match self.0.rules.timeline.timeline_strategy {
            TimelineStrategy::Hybrid => is_star || followers > self.0.rules.timeline.timeline_push_limit,
            TimelineStrategy::Push => false,
            TimelineStrategy::Pull => true,
        };
        if is_pulled { Delivery::Pulled } else { Delivery::Pushed { followers } }
    }

    /// Marks authors as stars before their first pulled post is published. A reader that misses the new star
    /// does not advance past that post either, because its note is still present.
    async fn make_stars(&self, authors: &[UserId]) -> Result<(), Error> {
        // Under the pull strategy, every post is pulled, whether or not its author is a star.
        if authors.is_empty() || self.0.rules.timeline.timeline_strategy != TimelineStrategy::Hybrid {
            return Ok(());
        }
        let make = |&author: &UserId| timeline::make_star(self.keys(), author);
        let changes = self.store().changes();
        self.send_all("publish: star", authors.iter().map(make)).await?;
        self.0.process.strategy.add_stars(authors, changes);
        Ok(())
    }

    /// Runs steps 2 to 5. Returns `None` for each post whose id could not be used.
    async fn write(
        &self,
        publications: &[Publication<'_>],
        deadline: &Deadline<'_>,
    ) -> Result<Vec<Option<PostId>>, Error> {
        if publications.iter().any(|publication| !publication.post.visibility.is_public()) {
            self.enter(Feature::Boundaries).await?;
        }
        if publications.iter().any(|publication| !publication.post.references.is_empty()) {
            self.enter(Feature::Conversations).await?;
        }
        if publications.iter().any(Publication::refers_to_posts) {
            self.enter(Feature::EntryKinds).await?;
        }
        deadline.check()?;
        let (deliveries, standings) = self.create_posts(publications).await?;
        deadline.check()?;
        let settled = self.make_visible(publications, &deliveries).await?;
        let archived = self.those_archived(publications, &settled).await?;

        let mut queue = Queue::default();
        let mut done = Vec::new();
        let mut published = Vec::with_capacity(publications.len());
        let (mut referring, mut superfluous) = (Vec::new(), Vec::new());
        for ((publication, delivery), settled) in publications.iter().zip(deliveries).zip(settled) {
            let Draft { id, note } = publication.draft;
            match (delivery, settled) {
                (Some(_), Some(Settled::Visible(cold))) => {
                    queue.add(note.author, id, delivery, cold);
                    done.push(publication.draft);
                    let NewPost { references, visibility, .. } = publication.post;
                    let standing = Some(standings.get(&note.author).copied().unwrap_or(Standing::Inactive));
                    let post = (id, note.author);
                    referring.extend(Referring::known(post, references, *visibility, standing));
                    published.push(Some(id));
                }
                (Some(_), Some(Settled::Reposted(earlier))) => {
                    superfluous.push(publication.draft);
                    published.push(Some(earlier));
                }
                // The post became visible earlier. Its later steps have run or will run.
                (Some(_), Some(Settled::Cold)) if archived.contains(&id) => published.push(Some(id)),
                // The repairer must erase the record before it removes the note.
                (Some(_), _) => published.push(None),
                (None, _) => {
                    done.push(publication.draft);
                    published.push(None);
                }
            }
        }
        if !superfluous.is_empty() {
            deadline.check()?;
            self.revoke(&superfluous).await?;
            done.extend(superfluous);
        }
        if !done.is_empty() {
            deadline.check()?;
            self.settle_or_leave_referrals(referring, deadline).await?;
            self.finish(queue, &done, "publish: settle").await?;
        }
        Ok(published)
    }

    /// Revokes reposts that are not visible, since their authors have reposted the same posts before. Makes two round
    /// trips.
    async fn revoke(&self, drafts: &[Draft]) -> Result<(), Error> {
        let (now, sizes) = (self.now(), self.sizes());
        let revoke = |draft: &Draft| post::settle_if_possible(self.keys(), draft, true, now, sizes);
        self.send_all("publish: revoke", drafts.iter().map(revoke)).await?;
        self.send_all("publish: bury", drafts.iter().map(|draft| post::bury(self.keys(), draft))).await?;
        Ok(())
    }

    /// Runs step 2. Returns `None` for each post whose id cannot be used; and the standings of the accounts whose posts
    /// refer to others. Makes one round trip.
    async fn create_posts(
        &self,
        publications: &[Publication<'_>],
    ) -> Result<(Vec<Option<Delivery>>, HashMap<UserId, Standing>), Error> {
        let mut batch = Batch::new("publish: record");
        let create = |Publication { post, draft, delivery, .. }: &Publication<'_>| {
            let NewPost { content, platform, visibility, references, .. } = post;
            let platform = platform.as_ref();
            let create =
                post::create(self.keys(), draft, content, platform, *visibility, references, *delivery);
            batch.push(create)
        };
        let tickets = publications.iter().map(create).collect();
        let referring = publications.iter().filter(|publication| publication.refers_to_posts());
        let authors: Vec<UserId> = referring.map(|publication| publication.post.author).collect();
        let accounts = (!authors.is_empty()).then(|| batch.push(self.read_standings(authors.into_iter())));
        let mut replies = batch.send(self.store()).await?;
        let deliveries = replies.take_all(tickets)?;
        let accounts = accounts.map(|accounts| replies.take(accounts)).transpose()?.unwrap_or_default();
        Ok((deliveries, Self::standings(accounts)?))
    }

    /// Runs step 3 for posts that have a record. Makes one round trip.
    async fn make_visible(
        &self,
        publications: &[Publication<'_>],
        deliveries: &[Option<Delivery>],
    ) -> Result<Vec<Option<Settled>>, Error> {
        let mut batch = Batch::new("publish: visible");
        let publish = |(publication, delivery): (&Publication<'_>, &Option<Delivery>)| {
            let kind = (publication.post.visibility, (*delivery)?);
            let once = publication.once();
            Some(batch.push(post::publish(self.keys(), &publication.draft, kind, self.sizes(), once)))
        };
        let tickets: Vec<_> = publications.iter().zip(deliveries).map(publish).collect();
        let mut replies = batch.send(self.store()).await?;
        tickets.into_iter().map(|ticket| Ok(ticket.map(|ticket| replies.take(ticket)).transpose()?)).collect()
    }

    /// Returns the posts that are already archived. Redis may have received the command of step 3 twice, and
    /// the post may have been archived in between.
    async fn those_archived(
        &self,
        publications: &[Publication<'_>],
        settled: &[Option<Settled>],
    ) -> Result<HashSet<PostId>, Error> {
        let settled = publications.iter().zip(settled);
        let cold = settled.filter(|(_, settled)| **settled == Some(Settled::Cold));
        let drafts: Vec<Draft> = cold.map(|(publication, _)| publication.draft).collect();
        let rows = self.rows_of(&drafts).await?;
        Ok(rows.into_keys().collect())
    }
}
