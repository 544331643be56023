//! Lengths of lists of follows: a power law, as in a social network.

/// Exponent of the power law. Kwak et al. (What is Twitter, a Social Network or a News Media?, 2010) found it for the
/// numbers of followers on Twitter, up to 100,000.
pub(crate) const EXPONENT: f64 = 2.276;

/// Lengths of the lists of one side, each list with at least one entry.
pub(crate) struct Lengths {
    pub(crate) least: f64,
    pub(crate) most: f64,
}

/// Numbers of users that a user follows, up to the limit.
pub(crate) const FOLLOWING: Lengths = Lengths { least: 61.0, most: 5_000.0 };
/// Numbers of a user's followers.
pub(crate) const FOLLOWERS: Lengths = Lengths { least: 49.0, most: 100_000.0 };

impl Lengths {
    /// Returns the share of entries that are in lists of at most this length.
    pub(crate) fn share(&self, length: f64) -> f64 {
        let [first, last] = self.ends(2.0);
        (first - length.powf(2.0 - EXPONENT)) / (first - last)
    }

    /// Returns the average length.
    pub(crate) fn mean(&self) -> f64 {
        let integral = |power: f64| {
            let [first, last] = self.ends(power);
            (last - first) / (power - EXPONENT)
        };
        integral(2.0) / integral(1.0)
    }

    /// Returns the antiderivative of the density, times a power of the length, at both ends, up to a factor.
    pub(crate) fn ends(&self, power: f64) -> [f64; 2] {
        [self.least, self.most].map(|length| length.powf(power - EXPONENT))
    }
}
