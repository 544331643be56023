//! Users, and the rules for usernames and profile fields.
//!
//! Not here: passwords and tokens (`secret`), sessions (`session`), and relations between users (`relation`).

use std::fmt;
use std::ops::BitOr;

use crate::model::clock::Timestamp;
use crate::model::id::UserId;
use crate::model::region::Residence;
use crate::model::text::{Rule, Violation, texts};

/// A user's unique name, used for signing in and in links: 2 to 30 of the characters `a–z`, `0–9` and `_`.
///
/// Users may type letters in any case. The server stores the name in lower case, so `Ada` and `ada` are
/// equal.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Username(Box<str>);

impl Username {
    /// Parses a username and converts it to lower case.
    pub fn parse(text: &str) -> Result<Self, Violation> {
        const SHORTEST: usize = 2;
        const LONGEST: usize = 30;
        const LENGTH: &str = "A username has 2 to 30 characters.";
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        match text.len() {
            0..SHORTEST => Err(Violation::too_short(SHORTEST, LENGTH)),
            _ if !text.bytes().all(allowed) => {
                let rule = "A username consists of the letters a to z, digits and underscores.";
                Err(Violation::invalid(rule))
            }
            SHORTEST..=LONGEST => Ok(Self(text.to_ascii_lowercase().into())),
            _ => Err(Violation::too_long(LONGEST, LENGTH)),
        }
    }

    /// Returns the name, in lower case.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Username {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

texts! {
    /// A user's display name: 1 to 50 characters of any script, one line.
    DisplayName: Rule { subject: "A display name", least: 1, most: 50, lines: false };
    /// A user's bio, or self-description: up to 500 characters, possibly empty, line breaks allowed.
    #[derive(Default)]
    Bio: Rule { subject: "A bio", least: 0, most: 500, lines: true };
}

impl From<&Username> for DisplayName {
    /// Returns the default display name, used until the user chooses another.
    fn from(username: &Username) -> Self {
        Self(username.0.clone())
    }
}

/// A user as read: the id, the username, and the requested optional fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Id of the user.
    pub id: UserId,
    /// Username. Always read, because its absence indicates a missing record.
    pub username: String,
    /// Display name; `None` if not requested.
    pub display_name: Option<String>,
    /// Bio; `None` if not requested.
    pub bio: Option<String>,
    /// Creation time of the account; `None` if not requested.
    pub created_at: Option<Timestamp>,
    /// Region that the user has stated; `None` if not requested.
    pub residence: Option<Residence>,
}

impl User {
    /// Returns the optional fields that are present.
    #[must_use]
    pub fn fields(&self) -> UserFields {
        let mut fields = UserFields::NONE;
        for (present, field) in [
            (self.display_name.is_some(), UserFields::DISPLAY_NAME),
            (self.bio.is_some(), UserFields::BIO),
            (self.created_at.is_some(), UserFields::CREATED_AT),
            (self.residence.is_some(), UserFields::RESIDENCE),
        ] {
            if present {
                fields = fields | field;
            }
        }
        fields
    }
}

/// A set of the optional fields of a [`User`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UserFields(u8);

impl UserFields {
    /// No optional fields: only the id and the username.
    pub const NONE: Self = Self(0);
    /// The field [`User::display_name`].
    pub const DISPLAY_NAME: Self = Self(1);
    /// The field [`User::bio`].
    pub const BIO: Self = Self(2);
    /// The field [`User::created_at`].
    pub const CREATED_AT: Self = Self(4);
    /// The field [`User::residence`].
    pub const RESIDENCE: Self = Self(8);
    /// All optional fields, each with its name in the API.
    pub const ALL: [(&'static str, Self); 4] = [
        ("displayName", Self::DISPLAY_NAME),
        ("bio", Self::BIO),
        ("createdAt", Self::CREATED_AT),
        ("region", Self::RESIDENCE),
    ];

    /// Returns true if this set contains all fields of `other`.
    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for UserFields {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A validated profile update. Fields that are `None` stay unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProfileChange {
    /// New display name, never empty.
    pub display_name: Option<DisplayName>,
    /// New bio, possibly empty.
    pub bio: Option<Bio>,
    /// New residence; `Residence(None)` removes the region.
    pub residence: Option<Residence>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::text::ViolationKind;

    #[test]
    fn a_username_is_one_identity_in_any_case() {
        assert_eq!(Username::parse("Ada_99").unwrap(), Username::parse("aDA_99").unwrap());
        assert_eq!(Username::parse("Ada_99").unwrap().as_str(), "ada_99");
    }

    #[test]
    fn an_invalid_username_reports_the_rule_that_it_breaks() {
        let kind = |text: &str| Username::parse(text).unwrap_err().kind;
        assert_eq!(kind(""), ViolationKind::TooShort);
        assert_eq!(kind("a"), ViolationKind::TooShort);
        assert_eq!(kind(&"a".repeat(31)), ViolationKind::TooLong);
        for text in ["a b", "a-b", "ädä", "a\0b", "𝒶𝒹𝒶", "K\u{212A}", "ada "] {
            assert_eq!(kind(text), ViolationKind::Invalid, "{text:?}");
        }
        assert!(Username::parse(&"a".repeat(30)).is_ok());
    }

    #[test]
    fn the_fields_of_a_user_are_those_that_were_read() {
        let user = User {
            id: UserId::new(1).unwrap(),
            username: "ada".into(),
            display_name: None,
            bio: Some(String::new()),
            created_at: None,
            residence: None,
        };
        assert!(user.fields().contains(UserFields::BIO));
        assert!(!user.fields().contains(UserFields::BIO | UserFields::DISPLAY_NAME));
    }
}
