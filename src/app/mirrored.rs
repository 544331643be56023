//! Writes what is stored twice, in two slots, and keeps both copies consistent.
//!
//! One copy is the *truth*: it is in the slot of the user who acts, or of the post that the user writes. The other, in
//! the slot of the user or post that is acted on, is its *mirror*. If they differ, the item is *torn*. No transaction
//! spans two slots, so each write of such an item runs these steps:
//! 1. Record an intent specific to this call ([`App::under_intents`]).
//! 2. Write the truth, atomically in its slot, or read it.
//! 3. Make the mirror equal to the truth, times included ([`Mirrored::mirror`]). If the slot of the mirror shows that
//!    the truth must not stay as it is, change the truth, and repeat this step ([`Mirrored::correct`]).
//! 4. Read the truth again ([`Mirrored::read_again`]). While it differs from the mirrored value, repeat steps 3 and 4.
//! 5. Do what depends on a mirror that agrees ([`Mirrored::follow_up`]). If this changes the truth, repeat steps 3 to
//!    5.
//! 6. Drop this call's intent, but no other call's intent.
//!
//! [`App::mirror_until_equal`] runs steps 3 to 5 for many items together: each step is one batch for all of them, and
//! only the items that have changed are repeated. Nothing but the deadline bounds the repetitions: each has been caused
//! by another call, which has made progress. The repairer runs the same steps for an intent that was left behind,
//! except that it reads the truth in step 2.
//!
//! # Why
//! - Without step 1, a call interrupted between steps 2 and 3 would leave a torn item that no process would repair.
//! - If calls for the same item shared an intent, one call could drop it while another was between steps 2 and 3.
//! - Without the times in step 3, two racing calls could leave a mirror whose time differs from the truth.
//! - Without step 4, a slow call could overwrite the mirror of a later call, which would not be repaired either: the
//!   later call has dropped its intent. If the truth were read before the mirror is written, it could change in
//!   between.
//! - If step 5 ran before step 3, what happens in between would be missed, since others act on the mirror; if it ran
//!   before step 4, it could act on a truth that has been replaced.
//! - If the intent were dropped before step 5, an interruption would leave its effects undone.
//! - The repairer also writes mirrors under an intent. Without that intent, a repairer that is interrupted after
//!   writing a stale mirror, with no other call under way, would leave a torn item that no process would repair.
//! - Each step checks the deadline, since the repairer drops an intent once its caller can no longer write
//!   ([`crate::app::deadline`]).

use crate::app::App;
use crate::app::deadline::Deadline;
use crate::app::error::Error;
use crate::store::intent::Intent;

/// An item, and the last known value of its truth.
pub(super) type Known<M> = (M, <M as Mirrored>::Truth);

/// An item whose mirror was made equal to this truth, and what the mirror's slot said at that time.
pub(super) type Written<M> = (Known<M>, <M as Mirrored>::Seen);

/// An item whose truth has a mirror in another slot, whether or not it exists.
pub(super) trait Mirrored: Sized {
    /// What the truth says, as far as the mirror repeats it.
    type Truth: PartialEq;
    /// What the mirror's slot says when the mirror is written.
    type Seen;
    /// What is to be done once the mirror agrees.
    type Due;

    /// Reads the truths of these items. Makes one round trip.
    async fn read(app: &App, items: Vec<Self>) -> Result<Vec<Known<Self>>, Error>;

    /// Writes the mirrors of these items, and returns what their slots say, in this order. Makes one round trip. Writes
    /// that follow it check the deadline.
    async fn mirror(
        app: &App,
        known: &[Known<Self>],
        deadline: &Deadline<'_>,
    ) -> Result<Vec<Self::Seen>, Error>;

    /// Changes the truths that must not stay as they are, because of what the mirrors' slots say. Returns the items
    /// that are known to have changed, whose mirrors must be written again; and all others, whose truths are read
    /// again, but for those that have ended for good.
    async fn correct(
        app: &App,
        written: Vec<Written<Self>>,
        deadline: &Deadline<'_>,
    ) -> Result<(Vec<Known<Self>>, Vec<Written<Self>>), Error>;

    /// Reads the truths again, and what is to be done if they are the mirrored ones, in this order. Makes one round
    /// trip.
    async fn read_again(app: &App, written: &[Written<Self>])
    -> Result<Vec<(Self::Truth, Self::Due)>, Error>;

    /// Does what depends on mirrors that agree with the truths: here belong the effects of an item on others. They must
    /// be idempotent. Returns the items whose truths it has changed, whose mirrors must be written again.
    async fn follow_up(
        _app: &App,
        _settled: Vec<(Self, Self::Due)>,
        _deadline: &Deadline<'_>,
    ) -> Result<Vec<Known<Self>>, Error> {
        Ok(Vec::new())
    }
}

impl App {
    /// Makes the mirrors of these items equal to their truths, of which these are the last known values. Makes two
    /// round trips, plus those of [`Mirrored::correct`] and [`Mirrored::follow_up`], plus two whenever another call
    /// changes one of the items concurrently; none if there are no items. Returns the number of items that have ended
    /// for good.
    pub(super) async fn mirror_until_equal<M: Mirrored>(
        &self,
        mut open: Vec<Known<M>>,
        deadline: &Deadline<'_>,
    ) -> Result<usize, Error> {
        let mut ended = 0;
        while !open.is_empty() {
            deadline.check()?;
            let seen = M::mirror(self, &open, deadline).await?;
            let written: Vec<_> = open.into_iter().zip(seen).collect();
            let count = written.len();
            let (mut changed, written) = M::correct(self, written, deadline).await?;
            ended += count - changed.len() - written.len();
            let again = M::read_again(self, &written).await?;
            let mut settled = Vec::new();
            for (((item, mirrored), _), (truth, due)) in written.into_iter().zip(again) {
                if truth == mirrored {
                    settled.push((item, due));
                } else {
                    changed.push((item, truth));
                }
            }
            changed.extend(M::follow_up(self, settled, deadline).await?);
            open = changed;
        }
        Ok(ended)
    }

    /// Makes the mirrors of these items equal to their truths, under these intents: a caller may be interrupted. Makes
    /// three round trips more than [`App::mirror_until_equal`]; none if there are no items.
    pub(super) async fn repair_mirrors<M: Mirrored>(
        &self,
        items: Vec<M>,
        intents: &[Intent],
        deadline: &Deadline<'_>,
    ) -> Result<(), Error> {
        if items.is_empty() {
            return Ok(());
        }
        let repair = async || self.mirror_until_equal(M::read(self, items).await?, deadline).await.map(drop);
        self.under_intents(intents, deadline, repair).await
    }
}
