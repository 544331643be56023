//! User counts by region.
//!
//! Not here: a single user's region, which is read with the user (`app::user::read`).

pub mod read;

use std::collections::HashMap;

use crate::model::region::Region;
use crate::store::relation::PROBE;

/// Maximum number of followers sampled per user. Shorter lists are read completely.
const MOST_SAMPLED: usize = 10_000;
/// Minimum number of followers sampled per user.
const LEAST_SAMPLED: usize = 100;
/// Maximum number of followers sampled for all users together, unless the minimum per user requires more.
const MOST_TOGETHER: usize = 100_000;
/// Maximum number of spans per sample.
const SPANS: usize = 100;
/// Minimum number of entries per span.
const LEAST_SPAN: usize = 10;

/// The number of users in a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Region; `None` for users whose region is unknown.
    pub region: Option<Region>,
    /// Number of users in the region.
    pub count: u64,
}

/// Counts users by region. Returns the counts in descending order.
#[must_use]
pub fn shares(regions: impl IntoIterator<Item = Option<Region>>) -> Vec<Share> {
    let mut counts: HashMap<Option<Region>, u64> = HashMap::new();
    for region in regions {
        *counts.entry(region).or_default() += 1;
    }
    let mut shares: Vec<Share> = counts.into_iter().map(|(region, count)| Share { region, count }).collect();
    // Among equal counts, the unknown region comes last.
    shares.sort_by_key(|share| (std::cmp::Reverse(share.count), share.region.is_none(), share.region));
    shares
}

/// Returns the sample size per user if the followers of `users` users are requested and at most `most`
/// followers may be read in total.
pub(super) fn sample_size(users: usize, most: usize) -> usize {
    (most.min(MOST_TOGETHER) / users.max(1)).clamp(LEAST_SAMPLED, MOST_SAMPLED)
}

/// Returns the spans to read from a list of `count` entries, each as start and length. The spans cover the
/// whole list or, if the list is longer than `most`, evenly spaced parts at a random offset derived from
/// `random`. Every entry is equally likely to be read.
pub(super) fn sample_spans(count: u64, most: usize, random: u64) -> Vec<(usize, usize)> {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    if count <= most {
        return (0..count).step_by(PROBE).map(|start| (start, PROBE)).collect();
    }
    let spans = (most / LEAST_SPAN).clamp(1, SPANS);
    let size = most / spans;
    let offset = usize::try_from(random % count as u64).unwrap_or(0);
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
    fn a_sample_has_no_follower_twice_and_every_follower_equally_often() {
        for count in [10_001, 10_150, 123_457, 1_000_000_007] {
            for random in [0, 1, 50, 10_000, count - 1, count - 49, u64::MAX] {
                let mut spans = sample_spans(count, MOST_SAMPLED, random);
                spans.sort_unstable();
                assert_eq!(spans.iter().map(|(_, size)| size).sum::<usize>(), MOST_SAMPLED);
                assert!(spans.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0), "{count} {random}");
                assert!(spans.iter().all(|(start, size)| (start + size) as u64 <= count));
            }
        }
        let sampled = |rank: usize| {
            let hits = (0..10_010).filter(|&random| {
                sample_spans(10_010, MOST_SAMPLED, random)
                    .iter()
                    .any(|(start, size)| (*start..start + size).contains(&rank))
            });
            hits.count()
        };
        assert_eq!([0, 49, 5_000, 10_009].map(sampled), [MOST_SAMPLED; 4]);
    }

    #[test]
    fn a_list_that_is_not_too_long_is_read_completely() {
        assert_eq!(sample_spans(0, MOST_SAMPLED, 7), []);
        assert_eq!(sample_spans(1, MOST_SAMPLED, 7), [(0, 1_000)]);
        assert_eq!(sample_spans(2_500, MOST_SAMPLED, 7), [(0, 1_000), (1_000, 1_000), (2_000, 1_000)]);
        assert_eq!(sample_spans(10_000, MOST_SAMPLED, 7).len(), 10);
    }

    #[test]
    fn of_many_users_fewer_followers_are_sampled() {
        let size = |users| sample_size(users, usize::MAX);
        assert_eq!([0, 1, 10, 20, 100, 10_000].map(size), [10_000, 10_000, 10_000, 5_000, 1_000, 100]);
        assert_eq!([8_000, 500, 0].map(|most| sample_size(10, most)), [800, 100, 100]);
        let sampled =
            |count| sample_spans(count, size(10_000), 7).iter().map(|(_, size)| size).sum::<usize>();
        assert_eq!(sampled(101), 100);
        assert_eq!(sampled(1_000_000), 100);
    }

    #[test]
    fn shares_are_sorted_by_count() {
        let find = |country| Table::current().find(country, None).ok();
        let (germany, france) = (find("DE"), find("FR"));
        let counted = shares([None, france, germany, france, germany, None, find("AD")]);
        let counted: Vec<_> = counted.into_iter().map(|share| (share.region, share.count)).collect();
        assert_eq!(counted, [(germany, 2), (france, 2), (None, 2), (find("AD"), 1)]);
        assert_eq!(shares([]), []);
    }
}
