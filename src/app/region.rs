//! Where many users are: counts of users by region.
//!
//! Not here: where one user is, which is read with the rest of what is known of it (`app::question`).

use std::collections::HashMap;

use crate::model::region::Region;
use crate::store::relation::PROBE;

/// Of more followers than this, a sample is read.
pub const MOST_SAMPLED: usize = 10_000;

/// How many users are somewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Where; `None` for those of whom it is not known.
    pub region: Option<Region>,
    /// How many they are.
    pub count: u64,
}

/// Counts who is where, most first.
#[must_use]
pub fn shares(regions: impl IntoIterator<Item = Option<Region>>) -> Vec<Share> {
    let mut counts: HashMap<Option<Region>, u64> = HashMap::new();
    for region in regions {
        *counts.entry(region).or_default() += 1;
    }
    let mut shares: Vec<Share> = counts.into_iter().map(|(region, count)| Share { region, count }).collect();
    // Those of whom nothing is known go last among equals.
    shares.sort_by_key(|share| (std::cmp::Reverse(share.count), share.region.is_none(), share.region));
    shares
}

/// Where in a list of so many entries to look, and at how many in each place: at all of them or, if there are very
/// many, in places that lie evenly spread, from where chance says. Everybody is as likely as anybody else.
pub(super) fn sample_spans(count: u64, chance: u64) -> Vec<(usize, usize)> {
    const SPANS: usize = 200;
    const SIZE: usize = MOST_SAMPLED / SPANS;
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    if count <= MOST_SAMPLED {
        return (0..count).step_by(PROBE).map(|start| (start, PROBE)).collect();
    }
    let offset = usize::try_from(chance % count as u64).unwrap_or(0);
    let span = |number: usize| {
        let start = (count / SPANS * number + count % SPANS * number / SPANS + offset) % count;
        // What goes over the end goes on at the beginning.
        let beyond = (start + SIZE).saturating_sub(count);
        [(start, SIZE - beyond), (0, beyond)]
    };
    (0..SPANS).flat_map(span).filter(|(_, size)| *size > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::region::Table;

    #[test]
    fn a_sample_has_nobody_twice_and_may_have_anybody() {
        for count in [10_001, 10_150, 123_457, 1_000_000_007] {
            for chance in [0, 1, 50, 10_000, count - 1, count - 49, u64::MAX] {
                let mut spans = sample_spans(count, chance);
                spans.sort_unstable();
                assert_eq!(spans.iter().map(|(_, size)| size).sum::<usize>(), MOST_SAMPLED);
                assert!(spans.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0), "{count} {chance}");
                assert!(spans.iter().all(|(start, size)| (start + size) as u64 <= count));
            }
        }
        let looked_at = |rank: usize| {
            let hits = (0..10_010).filter(|&chance| {
                sample_spans(10_010, chance)
                    .iter()
                    .any(|(start, size)| (*start..start + size).contains(&rank))
            });
            hits.count()
        };
        assert_eq!([0, 49, 5_000, 10_009].map(looked_at), [MOST_SAMPLED; 4]);
    }

    #[test]
    fn a_list_that_is_not_too_long_is_looked_at_in_whole() {
        assert_eq!(sample_spans(0, 7), []);
        assert_eq!(sample_spans(1, 7), [(0, 1_000)]);
        assert_eq!(sample_spans(2_500, 7), [(0, 1_000), (1_000, 1_000), (2_000, 1_000)]);
        assert_eq!(sample_spans(10_000, 7).len(), 10);
    }

    #[test]
    fn shares_are_counted_most_first() {
        let find = |country| Table::current().find(country, None).ok();
        let (germany, france) = (find("DE"), find("FR"));
        let counted = shares([None, france, germany, france, germany, None, find("AD")]);
        let counted: Vec<_> = counted.into_iter().map(|share| (share.region, share.count)).collect();
        assert_eq!(counted, [(germany, 2), (france, 2), (None, 2), (find("AD"), 1)]);
        assert_eq!(shares([]), []);
    }
}
