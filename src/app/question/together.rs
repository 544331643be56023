//! Data that several questions of a batch share: relations of one viewer, and regions.

use std::collections::HashMap;
use std::ops::Range;

use super::mismatch;
use crate::app::App;
use crate::app::error::Error;
use crate::config::RelationStrategy;
use crate::model::id::UserId;
use crate::model::region::Region;
use crate::model::relation::Relation;
use crate::model::user::UserFields;
use crate::store;
use crate::store::batch::{Batch, Replies, Ticket};
use crate::store::region::Places;
use crate::store::relation::{self, PROBE};

/// Requests shared by several questions.
#[derive(Default)]
pub(super) struct Together {
    /// All users whose relation to a viewer is requested, by viewer.
    pub(super) others: HashMap<UserId, Vec<UserId>>,
    /// All users whose region is requested.
    pub(super) residents: Vec<UserId>,
    /// Maximum number of followers sampled per user.
    pub(super) sample_size: usize,
}

impl Together {
    /// Adds the requested relations of a viewer.
    pub(super) fn pair(&mut self, viewer: UserId, asked: &[UserId]) -> Pairs {
        let others = self.others.entry(viewer).or_default();
        let start = others.len();
        others.extend(asked);
        Pairs { viewer, others: start..others.len() }
    }

    /// Adds these users if their region is requested.
    pub(super) fn note_residents(&mut self, users: &[UserId], fields: UserFields) {
        if fields.contains(UserFields::RESIDENCE) {
            self.residents.extend(users);
        }
    }
}

/// A viewer, and the range of the requested users among all requested for that viewer.
pub(super) struct Pairs {
    viewer: UserId,
    others: Range<usize>,
}

impl Pairs {
    pub(super) fn redeem(self, relations: &Relations) -> Result<&[Relation], Error> {
        match &relations[&self.viewer] {
            Ok(relations) => Ok(&relations[self.others]),
            Err(error) => Err(error.clone()),
        }
    }
}

/// The regions of all requested users.
#[derive(Default)]
pub(super) struct Regions {
    /// The regions that could be read.
    known: HashMap<UserId, Option<Region>>,
    /// The error for the others.
    failure: Option<Error>,
}

impl Regions {
    pub(super) fn redeem(tickets: Vec<Ticket<Places>>, replies: &mut Replies) -> Self {
        let mut regions = Self::default();
        for ticket in tickets {
            match replies.take(ticket) {
                Ok(found) => regions.known.extend(found),
                Err(error) => regions.failure = Some(error.into()),
            }
        }
        regions
    }

    pub(super) fn of(&self, user: UserId) -> Result<Option<Region>, Error> {
        match (self.known.get(&user), &self.failure) {
            (Some(region), _) => Ok(*region),
            (None, Some(failure)) => Err(failure.clone()),
            (None, None) => mismatch(),
        }
    }
}

/// The requested relations, in order, by viewer.
pub(super) type Relations = HashMap<UserId, Result<Vec<Relation>, Error>>;

impl App {
    /// Adds one command for every [`PROBE`] users whose relation to a viewer is requested.
    pub(super) fn claim_relations(
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

    /// Decodes the relations. A Redis that cannot write, because it is full or a replica, is probed read-only
    /// instead, at the cost of one more round trip.
    pub(super) async fn redeem_relations(
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
