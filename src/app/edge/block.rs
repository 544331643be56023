//! Blocks: two users who do not see each other, and do not follow each other.
//!
//! 1. Record an intent specific to this call.
//! 2. Write the truth in the slot of the user who blocks. The same script raises the version of that user's exclusions,
//!    which it returns, and ends that user's follow of the other, or the request to follow them.
//! 3. Write the mirror, the other user's `blockers`, with this version: a *fence* in its slot rejects earlier versions.
//!    The same script raises the version of the other user's exclusions, and ends that user's follow or request.
//! 4. Make the mirrors of both follows equal to their truths.
//! 5. Drop this call's intent.
//!
//! Lifting a block runs steps 1, 2, 3 and 5. The repairer reads the truth, the version and the follow, and runs steps 3
//! and 4 even if the block has been lifted: the interrupted block may have left a follow torn.
//!
//! From the moment a block is acknowledged until it is lifted, both sides' exclusions contain the other, and there is
//! no follow or request between them: the scripts that write follows look at both of the follower's sets. If a block is
//! lifted while it is being written, or after it was interrupted before step 3, perhaps only one of the two follows has
//! ended.
//!
//! # Why
//! If follows ended in a step of their own, it would also end a follow made after the block was lifted. Without the
//! fence, a slow call that lifts an earlier block would remove a later one from the mirror, and the other user would
//! see the blocking user again; a slow block or repairer would restore one that was lifted.

use crate::app::App;
use crate::app::deadline::Deadline;
use crate::app::edge::Edge;
use crate::app::error::Error;
use crate::model::clock::Timestamp;
use crate::model::exclusion::Version;
use crate::model::id::UserId;
use crate::model::relation::FollowState;
use crate::store::block::{self, Block};
use crate::store::bucket::{Limit, Throttled};
use crate::store::intent::{Intent, Operation};

impl App {
    /// Writes a block since `at`. Returns the version of the user's exclusions after it; `None` if the user has reached
    /// the limit. Makes six round trips, plus two whenever another call changes one of the follows concurrently.
    pub(in crate::app) async fn write_block(
        &self,
        user: UserId,
        other: UserId,
        at: Timestamp,
    ) -> Result<Option<Version>, Error> {
        self.block_within(user, other, at, self.0.rules.relation.relation_block_limit).await
    }

    /// Repeats a block, unless it has been lifted. This ends follows across the block, which only a fault can leave.
    pub(in crate::app) async fn repeat_block(&self, user: UserId, other: UserId) -> Result<(), Error> {
        // With this limit, no block is added.
        self.block_within(user, other, self.now(), 0).await.map(drop)
    }

    async fn block_within(
        &self,
        user: UserId,
        other: UserId,
        at: Timestamp,
        limit: u32,
    ) -> Result<Option<Version>, Error> {
        let deadline = self.deadline();
        let write = async || {
            let write = block::block(self.keys(), user, other, at, limit);
            let block = self.write_sessions(user, "block: truth", write).await?;
            if let Some(block) = block {
                self.mirror_block(user, other, block, FollowState::None, &deadline).await?;
            }
            Ok(block.and_then(|block| block.version))
        };
        self.under_intents(&self.intents([Operation::Block { user, other }]), &deadline, write).await
    }

    /// Lifts a block, which takes a token if `throttle` is given. Returns the version of the user's exclusions after
    /// it; `None` if the user has never had any. Makes four round trips, or three if there is no token.
    pub(in crate::app) async fn lift_block(
        &self,
        user: UserId,
        other: UserId,
        throttle: Option<(Limit, Timestamp)>,
    ) -> Result<Result<Option<Version>, Throttled>, Error> {
        let deadline = self.deadline();
        let lift = async || {
            let lift = block::unblock(self.keys(), user, other, throttle);
            let lifted = self.write_sessions(user, "block: truth", lift).await?;
            if let Ok(block) = lifted {
                deadline.check()?;
                let mirror = block::mirror(self.keys(), user, other, block);
                self.write_sessions(other, "block: mirror", mirror).await?;
            }
            Ok(lifted.map(|block| block.version))
        };
        self.under_intents(&self.intents([Operation::Block { user, other }]), &deadline, lift).await
    }

    /// Makes the mirror of a block equal to its truth, and those of the follows between the two users. Records its own
    /// intent, like [`App::repair_edges`].
    pub(in crate::app) async fn repair_block(&self, user: UserId, other: UserId) -> Result<(), Error> {
        let deadline = self.deadline();
        let operation = Operation::Block { user, other };
        let intents = [Intent { operation, token: self.0.repairer_token }];
        let repair = async || {
            let read = block::read(self.keys(), user, other);
            let (block, follow) = read.send("block: read truth", self.store()).await?;
            self.mirror_block(user, other, block, follow, &deadline).await
        };
        self.under_intents(&intents, &deadline, repair).await
    }

    /// Runs steps 3 and 4, given the truth of the block, and that of the user's follow of the other.
    async fn mirror_block(
        &self,
        user: UserId,
        other: UserId,
        block: Block,
        follow: FollowState,
        deadline: &Deadline<'_>,
    ) -> Result<(), Error> {
        deadline.check()?;
        let mirror = block::mirror(self.keys(), user, other, block);
        let back = self.write_sessions(other, "block: mirror", mirror).await?;
        let one = (Edge { follower: user, followee: other }, follow);
        let other = (Edge { follower: other, followee: user }, back);
        self.mirror_until_equal(vec![one, other], deadline).await.map(drop)
    }
}
