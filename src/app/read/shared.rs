//! Combines requests for data that several reads of a batch share: a viewer's relations, regions, and samples
//! of followers.

use std::collections::HashMap;
use std::ops::Range;

use super::Responses;
use crate::app::App;
use crate::app::error::Error;
use crate::app::region::{sample_size, sample_spans};
use crate::budget::{self, Resource};
use crate::config::RelationStrategy;
use crate::model::id::UserId;
use crate::model::region::Region;
use crate::model::relation::{Follow, Relation, Side};
use crate::store::batch::{Batch, Replies, Ticket};
use crate::store::region::{self, UserRegions};
use crate::store::relation::{self, PROBE};

/// Requests shared by several reads. Their commands follow the reads' own commands in the batch.
#[derive(Default)]
pub(super) struct SharedRequests {
    /// Users whose relation to a viewer is requested, by viewer.
    others: HashMap<UserId, Vec<UserId>>,
    /// Users whose region is requested.
    pub(super) residents: Vec<UserId>,
    /// Users whose followers are sampled, each with the number of their followers.
    sampled: Vec<(UserId, u64)>,
}

/// A viewer, and the range of a read's users among all users requested for that viewer.
#[derive(Clone, Debug)]
pub struct Pairs {
    viewer: UserId,
    others: Range<usize>,
}

/// The index of a sample among all requested samples.
#[derive(Clone, Copy, Debug)]
pub struct Sample(usize);

/// Tickets of the commands for each viewer's relations.
type RelationTickets = Vec<(UserId, Vec<Ticket<Vec<Relation>>>)>;

/// Tickets of the commands for shared requests.
pub(super) struct SharedTickets {
    others: HashMap<UserId, Vec<UserId>>,
    relations: RelationTickets,
    regions: Vec<Ticket<UserRegions>>,
    samples: Vec<Vec<Ticket<Vec<Follow>>>>,
}

/// The decoded replies to shared requests.
pub(super) struct SharedReplies {
    relations: Relations,
    regions: Regions,
    samples: Vec<Result<Vec<Follow>, Error>>,
}

/// The requested relations by viewer, in the order of the requests.
type Relations = HashMap<UserId, Result<Vec<Relation>, Error>>;

impl SharedRequests {
    /// Requests the viewer's relations to the `requested` users.
    pub(super) fn relations(&mut self, viewer: UserId, requested: &[UserId]) -> Pairs {
        let others = self.others.entry(viewer).or_default();
        let start = others.len();
        others.extend(requested);
        Pairs { viewer, others: start..others.len() }
    }

    /// Requests a sample of the followers of a user who has `count` followers.
    pub(super) fn sample(&mut self, user: UserId, count: u64) -> Sample {
        self.sampled.push((user, count));
        Sample(self.sampled.len() - 1)
    }

    /// Adds the commands for all shared requests to the batch.
    pub(super) fn push(self, app: &App, batch: &mut Batch) -> SharedTickets {
        let Self { others, residents, sampled } = self;
        let relations = app.request_relations(batch, &others, app.0.rules.relation.relation_strategy);
        let regions = region::read(app.keys(), residents).into_iter().map(|read| batch.push(read)).collect();
        // Reserve the rest for reading the sampled users' regions, and for other lists at this query level.
        let share = |left: u64| usize::try_from(left * 3 / 5).unwrap_or(usize::MAX);
        let together = budget::left(Resource::Commands).map_or(usize::MAX, share);
        let size = sample_size(sampled.len(), together);
        let sample = |(user, count): (UserId, u64)| {
            let read = |(start, count)| relation::range(app.keys(), user, Side::Followers, start, count);
            let spans = sample_spans(count, size, app.rng().nonce());
            spans.into_iter().map(|span| batch.push(read(span))).collect()
        };
        let samples = sampled.into_iter().map(sample).collect();
        SharedTickets { others, relations, regions, samples }
    }
}

impl SharedTickets {
    /// Decodes the replies. If Redis cannot write, because it is full or a replica, or if a viewer's slot is moving
    /// to another master of a cluster, reads the relations with read-only probes instead. This makes one additional
    /// round trip.
    pub(super) async fn take(self, app: &App, replies: &mut Replies) -> SharedReplies {
        let Self { others, relations, regions, samples } = self;
        let mut sample = |tickets| Ok(replies.take_all(tickets)?.concat());
        let samples = samples.into_iter().map(&mut sample).collect();
        let regions = Regions::take(regions, replies);
        SharedReplies { relations: app.take_relations(relations, replies, &others).await, regions, samples }
    }
}

impl Responses {
    /// Returns relations requested by [`super::Requests::relations`].
    pub(in crate::app) fn relations(&self, Pairs { viewer, others }: Pairs) -> Result<&[Relation], Error> {
        match &self.shared.relations[&viewer] {
            Ok(relations) => Ok(&relations[others]),
            Err(error) => Err(error.clone()),
        }
    }

    /// Returns a user's region, requested by [`super::Requests::regions`].
    pub(in crate::app) fn region(&self, user: UserId) -> Result<Option<Region>, Error> {
        self.shared.regions.of(user)
    }

    /// Returns a sample requested by [`super::Requests::sample`].
    pub(in crate::app) fn sample(&mut self, Sample(index): Sample) -> Result<Vec<Follow>, Error> {
        self.shared.samples[index].clone()
    }
}

/// The regions of all requested users.
#[derive(Default)]
struct Regions {
    /// The regions that were read; `None` for users without a known region.
    known: HashMap<UserId, Option<Region>>,
    /// The error for users missing from `known`.
    failure: Option<Error>,
}

impl Regions {
    fn take(tickets: Vec<Ticket<UserRegions>>, replies: &mut Replies) -> Self {
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
            (None, None) => unreachable!("the region of a user that was not requested"),
        }
    }
}

impl App {
    /// Adds, for each viewer, one command per [`PROBE`] requested users.
    fn request_relations(
        &self,
        batch: &mut Batch,
        others: &HashMap<UserId, Vec<UserId>>,
        strategy: RelationStrategy,
    ) -> RelationTickets {
        let mut request = |viewer: UserId, others: &[UserId]| {
            let nonce = self.rng().nonce();
            batch.push(relation::relations(self.keys(), viewer, others, strategy, nonce))
        };
        let requests = others.iter().map(|(&viewer, others)| {
            (viewer, others.chunks(PROBE).map(|others| request(viewer, others)).collect())
        });
        requests.collect()
    }

    async fn take_relations(
        &self,
        tickets: RelationTickets,
        replies: &mut Replies,
        others: &HashMap<UserId, Vec<UserId>>,
    ) -> Relations {
        let mut needs_probes = false;
        let mut take = |replies: &mut Replies, tickets| {
            let relations = replies.take_all(tickets);
            needs_probes |= relations.as_ref().is_err_and(|error| error.is_read_only() || error.is_divided());
            relations.map(|relations| relations.concat()).map_err(Error::from)
        };
        let relations: Relations =
            tickets.into_iter().map(|(viewer, tickets)| (viewer, take(replies, tickets))).collect();
        if !needs_probes {
            return relations;
        }
        let mut batch = Batch::new("read: relations by probes");
        let tickets = self.request_relations(&mut batch, others, RelationStrategy::Zmscore);
        match batch.send(self.store()).await {
            Ok(mut replies) => {
                let mut take = |tickets| Ok(replies.take_all(tickets)?.concat());
                tickets.into_iter().map(|(viewer, tickets)| (viewer, take(tickets))).collect()
            }
            Err(_) => relations,
        }
    }
}
