//! What a check counts. A new finding is a row of [`Finding`].

use std::fmt;
use std::ops::{AddAssign, Index, IndexMut};

/// Declares what a check counts: a name, the line of `fanfold check`, and whether it is a fault.
macro_rules! findings {
    ($($(#[$doc:meta])* $name:ident: $text:literal, $kind:ident;)*) => {
        /// Something that a check counts, in the order in which `fanfold check` prints it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Finding {
            $($(#[$doc])* $name,)*
        }

        impl Finding {
            /// All that a check counts.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            const fn row(self) -> (&'static str, Kind) {
                match self {
                    $(Self::$name => ($text, Kind::$kind),)*
                }
            }
        }
    };
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Count,
    Fault,
}

findings! {
    /// Users with a record.
    Users: "users", Count;
    /// Follows and requests to follow, counted on the authoritative side.
    Edges: "follows and requests", Count;
    /// Edges that lack the authoritative entry or the mirror, or have different times in the two.
    TornEdges: "one-sided follows", Fault;
    /// Edges to or from nonexistent users, or from a user to themselves.
    DanglingEdges: "follows without a user", Fault;
    /// Blocks whose mirror differs from their truth.
    TornBlocks: "one-sided blocks", Fault;
    /// Blocks between users of whom one follows the other, or has requested to.
    CrossedBlocks: "blocks across a follow", Fault;
    /// Pending requests to follow users whose accounts are public.
    StrayRequests: "requests to public accounts", Fault;
    /// Mutes that an erasure of one of the two users does not find, or has not found.
    UntiedMutes: "mutes without a tie", Fault;
    /// Names that resolve to no user or to a user with another name, and users whose name does not resolve to
    /// them.
    WrongNames: "usernames without a user", Fault;
    /// Accounts with names or follows that do not agree with the account being active or not.
    WrongActivities: "accounts partly inactive", Fault;
    /// Subjects of another application that resolve to no user or to a user of another subject, and users whose
    /// subject does not resolve to them.
    WrongSubjects: "subjects without a user", Fault;
    /// Abandoned jobs that were to push a post to timelines or to remove a post from them.
    GivenUp: "deliveries given up", Fault;
    /// Posts that the archive rejected.
    Unmovable: "posts not archived", Fault;
    /// Users whose recorded number of archived posts differs from the number in the archive.
    Miscounted: "archived posts miscounted", Fault;
    /// Users whose hot posts have wrong creation times.
    Mistimed: "users with wrong post times", Fault;
    /// Users whose set of hot posts that only followers can see is wrong.
    WrongVisibilities: "users with wrong visibilities", Fault;
    /// Replies and quotes that are missing from the list of the post that they refer to, and entries that no post
    /// accounts for.
    WrongReferrals: "wrong replies and quotes", Fault;
    /// Posts with a wrong number of replies or quotes.
    MiscountedReferrals: "replies and quotes miscounted", Fault;
    /// Unfinished operations, which are not faults.
    Unfinished: "operations in progress", Count;
}

impl Finding {
    /// Returns the name for operators.
    #[must_use]
    pub const fn text(self) -> &'static str {
        self.row().0
    }

    /// Returns true if the finding is a fault.
    #[must_use]
    pub fn is_fault(self) -> bool {
        self.row().1 == Kind::Fault
    }
}

/// The number of each finding.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Findings([u64; Finding::ALL.len()]);

impl Findings {
    /// Returns the number of each finding.
    pub fn iter(&self) -> impl Iterator<Item = (Finding, u64)> {
        Finding::ALL.iter().copied().zip(self.0)
    }

    /// Returns the total number of faults.
    #[must_use]
    pub fn faults(&self) -> u64 {
        self.iter().filter(|(finding, _)| finding.is_fault()).map(|(_, count)| count).sum()
    }
}

impl<const N: usize> From<[(Finding, u64); N]> for Findings {
    fn from(counts: [(Finding, u64); N]) -> Self {
        let mut findings = Self::default();
        for (finding, count) in counts {
            findings[finding] += count;
        }
        findings
    }
}

impl Index<Finding> for Findings {
    type Output = u64;

    fn index(&self, finding: Finding) -> &u64 {
        &self.0[finding as usize]
    }
}

impl IndexMut<Finding> for Findings {
    fn index_mut(&mut self, finding: Finding) -> &mut u64 {
        &mut self.0[finding as usize]
    }
}

impl AddAssign for Findings {
    fn add_assign(&mut self, other: Self) {
        for (finding, count) in other.iter() {
            self[finding] += count;
        }
    }
}

impl fmt::Debug for Findings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_map().entries(self.iter()).finish()
    }
}
