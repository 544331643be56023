//! The authors of moderation.

use std::fmt;
use std::str::FromStr;

use crate::model::id::{ParseIdError, UserId};

/// The author of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Moderator {
    /// The operator, who runs the command line.
    Operator,
    /// A user to whom the operator has granted the rights of a moderator.
    User(UserId),
}

impl Moderator {
    /// Returns the user; `None` for the operator.
    #[must_use]
    pub fn user(self) -> Option<UserId> {
        match self {
            Self::Operator => None,
            Self::User(user) => Some(user),
        }
    }
}

/// The form in which a moderator is stored: `operator`, or the user's id.
impl fmt::Display for Moderator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operator => formatter.write_str("operator"),
            Self::User(user) => user.fmt(formatter),
        }
    }
}

impl FromStr for Moderator {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        if text == "operator" { Ok(Self::Operator) } else { text.parse().map(Self::User) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moderator_is_read_as_it_was_printed() {
        for moderator in [Moderator::Operator, Moderator::User(UserId::new(7).unwrap())] {
            assert_eq!(moderator.to_string().parse(), Ok(moderator));
        }
        assert_eq!("ada".parse::<Moderator>(), Err(ParseIdError));
    }
}
