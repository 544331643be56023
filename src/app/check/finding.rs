//! The numbers of what a check counts. The table of findings is in [`check`](super).

use std::fmt;
use std::ops::{AddAssign, Index, IndexMut};

use crate::app::check::Finding;

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

            /// Returns the name for operators, and what kind of finding it is.
            const fn row(self) -> (&'static str, Kind) {
                match self {
                    $(Self::$name => ($text, Kind::$kind),)*
                }
            }
        }
    };
}
pub(super) use findings;

/// The kind of a finding.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Count,
    Fault,
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
