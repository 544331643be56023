//! Numeric ids.
//!
//! Not here: the format of ids in the API (`graphql::id`) and in keys (`store::key`).

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

/// The error for a string that is not a decimal id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an id: expected a positive decimal number")]
pub struct ParseIdError;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(NonZeroU64);

        impl $name {
            /// The least id.
            pub const LEAST: Self = Self(NonZeroU64::MIN);

            /// The greatest id, which is never issued.
            pub const MAX: Self = Self(NonZeroU64::MAX);

            /// Creates an id from an integer; `None` for zero, which is not a valid id.
            #[must_use]
            pub fn new(number: u64) -> Option<Self> {
                NonZeroU64::new(number).map(Self)
            }

            /// Returns the id as an integer.
            #[must_use]
            pub fn get(self) -> u64 {
                self.0.get()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(formatter)
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;

            /// Parses exactly the format that `Display` produces: decimal digits without a sign or leading
            /// zeros.
            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                let canonical = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
                if !canonical {
                    return Err(ParseIdError);
                }
                text.parse().map(Self).map_err(|_| ParseIdError)
            }
        }
    )* };
}

ids! {
    /// The id of a user. Issued by a counter, never reused, never zero.
    ///
    /// # Why a counter
    /// A small integer is compact: six bytes in a sorted set, four in an intset, an offset in a packed
    /// string. A random id would make each of these structures several times larger.
    UserId;
    /// The id of a post. Issued by a counter, so a newer post has a greater id.
    PostId;
    /// The id of a report. Issued by a counter, so a newer report has a greater id.
    ReportId;
}

impl PostId {
    /// The greatest supported post id. Redis orders posts by id, stored as a double, and doubles represent
    /// all integers exactly only up to this bound.
    pub const GREATEST: Self = Self(NonZeroU64::new(1 << 53).expect("is not zero"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_printed_form_is_read_back() {
        let id = UserId::new(1412).unwrap();
        assert_eq!(id.to_string().parse(), Ok(id));
        for text in ["", "0", "01", "+1", "-1", " 1", "1 ", "1e3", "١", "18446744073709551616"] {
            assert_eq!(text.parse::<UserId>(), Err(ParseIdError), "{text:?}");
        }
    }
}
