//! Recovery of an account: a code with which a user who has lost the password sets a new one.
//!
//! Not here: storage (`store::recovery`), and the rules (`app::recovery`).

use std::fmt;

use crate::model::clock::Timestamp;
use crate::model::code::Code;
use crate::model::moderator::Moderator;
use crate::model::rng::Rng;
use crate::model::secret::TokenHash;

/// A recovery code: 26 characters, which contain 130 random bits. A client that has the code can set the password.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RecoveryCode(Code<26>);

impl RecoveryCode {
    /// Issues a new random code.
    #[must_use]
    pub fn issue(rng: &Rng) -> Self {
        Self(Code::issue(rng))
    }

    /// Parses a code, as typed; `None` if no account has such a code. Ignores case and surrounding white space.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Code::parse(text).map(Self)
    }

    /// Returns the code as text.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.0.as_str()
    }

    /// Returns the hash that the server stores in place of the code.
    #[must_use]
    pub fn hash(&self) -> TokenHash {
        TokenHash::of(self.expose())
    }
}

impl fmt::Debug for RecoveryCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("RecoveryCode(***)")
    }
}

/// A recovery code that was issued for an account, expired or not, without the code itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// The moderator who issued the code.
    pub issuer: Moderator,
    /// Time of issue.
    pub issued_at: Timestamp,
    /// Time from which the code is valid.
    pub valid_from: Timestamp,
    /// Time from which the code is no longer valid.
    pub expires_at: Timestamp,
}

impl Recovery {
    /// Returns true if the code is valid now or will be.
    #[must_use]
    pub fn is_pending(&self, now: Timestamp) -> bool {
        now < self.expires_at
    }

    /// Returns true if the code is valid now.
    #[must_use]
    pub fn is_valid(&self, now: Timestamp) -> bool {
        self.valid_from <= now && self.is_pending(now)
    }

    /// Returns true if the user cannot revoke the code, because the operator has issued it.
    #[must_use]
    pub fn is_by_operator(&self) -> bool {
        self.issuer == Moderator::Operator
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_has_128_random_bits_or_more_and_is_not_printed() {
        let rng = Rng::from_seed(1);
        let code = RecoveryCode::issue(&rng);
        assert!(code.expose().len() * 5 >= 128);
        assert_ne!(code, RecoveryCode::issue(&rng));
        assert_eq!(RecoveryCode::parse(&format!(" {}\n", code.expose().to_uppercase())), Some(code));
        assert_eq!(RecoveryCode::parse(&code.expose()[1..]), None);
        assert_eq!(format!("{code:?}"), "RecoveryCode(***)");
    }

    #[test]
    fn a_code_is_valid_from_one_time_to_the_other() {
        let [early, from, late, end] = [1, 2, 3, 4].map(Timestamp::from_millis);
        let recovery =
            Recovery { issuer: Moderator::Operator, issued_at: early, valid_from: from, expires_at: end };
        assert_eq!([early, from, late, end].map(|now| recovery.is_valid(now)), [false, true, true, false]);
        assert_eq!([early, from, late, end].map(|now| recovery.is_pending(now)), [true, true, true, false]);
    }
}
