//! User counts by region.
//!
//! Not here: the region of a single user, which is read with the user (`app::user::read`).

pub mod read;

use std::collections::HashMap;

use crate::model::region::Region;
use crate::store::relation::PROBE;

/// Maximum sample of a user's followers; shorter lists are read completely.
const MOST_SAMPLED: usize = 10_000;
/// Minimum sample of a user's followers.
const LEAST_SAMPLED: usize = 100;
/// Maximum number of followers read for all users together, apart from the minimum for each.
const MOST_TOGETHER: usize = 100_000;
/// Number of spans that a sample is read in.
const SPANS: usize = 100;
/// Minimum length of a span.
const LEAST_SPAN: usize = 10;

/// The number of users in a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The region; `None` for users whose region is not known.
    pub region: Option<Region>,
    /// The number of users.
    pub count: u64,
}

/// Counts users by region, most first.
#[must_use]
pub fn shares(regions: impl IntoIterator<Item = Option<Region>>) -> Vec<Share> {
    let mut counts: HashMap<Option<Region>, u64> = HashMap::new();
    for region in regions {
        *counts.entry(region).or_default() += 1;
    }
    let mut shares: Vec<Share> = counts.into_iter().map(|(region, count)| Share { region, count }).collect();
    // Among equal counts, the unknown region goes last.
    shares.sort_by_key(|share| (std::cmp::Reverse(share.count), share.region.is_none(), share.region));
    shares
}

/// Returns the sample size per user, given that the followers of `users` users are requested and at most
/// `most` may be read in total.
pub(super) fn sample_size(users: usize, most: usize) -> usize {
    (most.min(MOST_TOGETHER) / users.max(1)).clamp(LEAST_SAMPLED, MOST_SAMPLED)
}

/// Returns the spans to read, as start and length, of a list of `count` entries: the whole list or, if it is
/// longer than `most`, evenly spaced spans at a random offset. Every entry is equally likely to be read.
pub(super) fn sample_spans(count: u64, most: usize, chance: u64) -> Vec<(usize, usize)> {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    if count <= most {
        return (0..count).step_by(PROBE).map(|start| (start, PROBE)).collect();
    }
    let spans = (most / LEAST_SPAN).clamp(1, SPANS);
    let size = most / spans;
    let offset = usize::try_from(chance % count as u64).unwrap_or(0);
    let span = |number: usize| {
        let start = (count / spans * number + count % spans * number / spans + offset) % count;
        // A span that passes the end wraps around.
        let beyond = (start + size).saturating_sub(count);
        [(start, size - beyond), (0, beyond)]
    };
    (0..spans).flat_map(span).filter(|(_, size)| *size > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::region::Table;

    #[test]
    fn a_sample_has_nobody_twice_and_may_have_anybody() {
        for count in [10_001, 10_150, 123_457, 1_000_000_007] {
            for chance in [0, 1, 50, 10_000, count - 1, count - 49, u64::MAX] {
                let mut spans = sample_spans(count, MOST_SAMPLED, chance);
                spans.sort_unstable();
                assert_eq!(spans.iter().map(|(_, size)| size).sum::<usize>(), MOST_SAMPLED);
                assert!(spans.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0), "{count} {chance}");
                assert!(spans.iter().all(|(start, size)| (start + size) as u64 <= count));
            }
        }
        let looked_at = |rank: usize| {
            let hits = (0..10_010).filter(|&chance| {
                sample_spans(10_010, MOST_SAMPLED, chance)
                    .iter()
                    .any(|(start, size)| (*start..start + size).contains(&rank))
            });
            hits.count()
        };
        assert_eq!([0, 49, 5_000, 10_009].map(looked_at), [MOST_SAMPLED; 4]);
    }

    #[test]
    fn a_list_that_is_not_too_long_is_looked_at_in_whole() {
        assert_eq!(sample_spans(0, MOST_SAMPLED, 7), []);
        assert_eq!(sample_spans(1, MOST_SAMPLED, 7), [(0, 1_000)]);
        assert_eq!(sample_spans(2_500, MOST_SAMPLED, 7), [(0, 1_000), (1_000, 1_000), (2_000, 1_000)]);
        assert_eq!(sample_spans(10_000, MOST_SAMPLED, 7).len(), 10);
    }

    #[test]
    fn of_many_users_fewer_followers_are_looked_at() {
        let size = |users| sample_size(users, usize::MAX);
        assert_eq!([0, 1, 10, 20, 100, 10_000].map(size), [10_000, 10_000, 10_000, 5_000, 1_000, 100]);
        assert_eq!([8_000, 500, 0].map(|most| sample_size(10, most)), [800, 100, 100]);
        let looked_at =
            |count| sample_spans(count, size(10_000), 7).iter().map(|(_, size)| size).sum::<usize>();
        assert_eq!(looked_at(101), 100);
        assert_eq!(looked_at(1_000_000), 100);
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
