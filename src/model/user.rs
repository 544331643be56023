//! Users, and the rules for usernames and profile fields.
//!
//! Not here: passwords and tokens (`secret`), sessions (`session`), and relations between users (`relation`).

use std::fmt;
use std::ops::BitOr;

use url::Url;

use crate::model::clock::Timestamp;
use crate::model::id::UserId;
use crate::model::region::{Region, Residence};
use crate::model::text::{Form, Rule, Violation, texts};

/// A user's unique name, used for signing in and in links: 2 to 30 of the characters `a–z`, `0–9` and `_`.
///
/// Users may type letters in any case. The server stores the name in lower case, so `Ada` and `ada` are
/// equal.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Username(Box<str>);

impl Username {
    /// Maximum length, in characters.
    pub const LONGEST: usize = 30;

    /// Parses a username and converts it to lower case.
    pub fn parse(text: &str) -> Result<Self, Violation> {
        const SHORTEST: usize = 2;
        const LENGTH: &str = "A username has 2 to 30 characters.";
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        match text.len() {
            0..SHORTEST => Err(Violation::too_short(SHORTEST, LENGTH)),
            _ if !text.bytes().all(allowed) => {
                let rule = "A username consists of the letters a to z, digits and underscores.";
                Err(Violation::invalid(rule))
            }
            SHORTEST..=Self::LONGEST => Ok(Self(text.to_ascii_lowercase().into())),
            _ => Err(Violation::too_long(Self::LONGEST, LENGTH)),
        }
    }

    /// Returns a username that resembles a name from another application, such as `ada_lovelace` for
    /// `Ada.Lovelace@example.org`; `None` if too few characters of the name are allowed.
    #[must_use]
    pub fn resembling(name: &str) -> Option<Self> {
        let local = name.split('@').next().unwrap_or_default();
        let allowed = |character: char| match character {
            'a'..='z' | '0'..='9' | '_' => Some(character),
            'A'..='Z' => Some(character.to_ascii_lowercase()),
            '.' | '-' | '+' | ' ' => Some('_'),
            _ => None,
        };
        let resembling: String = local.chars().filter_map(allowed).take(Self::LONGEST).collect();
        Self::parse(&resembling).ok().filter(|name| name.0.contains(|character| character != '_'))
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
    /// A user's display name: 1 to 50 characters of any script, one line, without invisible characters that emoji and
    /// scripts do not need.
    DisplayName: Rule { subject: "A display name", least: 1, most: 50, form: Form::Name };
    /// A user's bio, or self-description: up to 500 characters, possibly empty, line breaks allowed.
    #[derive(Default)]
    Bio: Rule { subject: "A bio", least: 0, most: 500, form: Form::Paragraphs };
}

impl From<&Username> for DisplayName {
    /// Returns the default display name, used until the user chooses another.
    fn from(username: &Username) -> Self {
        Self(username.0.clone())
    }
}

/// The address of a user's picture: an https URL of at most 500 characters on a host that the operator allowed when it
/// was set; empty if there is no picture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AvatarUrl(Box<str>);

impl AvatarUrl {
    /// Wraps a URL that is stored; `None` if none is.
    #[must_use]
    pub fn stored(url: Option<&str>) -> Self {
        Self(url.unwrap_or_default().into())
    }

    /// Parses and normalizes a URL. Fails unless it is on one of these hosts.
    pub fn parse(text: &str, hosts: &[String]) -> Result<Self, Violation> {
        const LONGEST: usize = 500;
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let is_plain = |url: &Url| url.username().is_empty() && url.password().is_none();
        let url = Url::parse(text).ok().filter(|url| url.scheme() == "https" && is_plain(url));
        let url = url.ok_or_else(|| Violation::invalid("A picture has an https URL without credentials."))?;
        if url.as_str().len() > LONGEST {
            return Err(Violation::too_long(LONGEST, "The URL of a picture has at most 500 characters."));
        }
        if hosts.is_empty() {
            return Err(Violation::invalid("This server does not allow pictures."));
        }
        if !Self::is_on(url.as_str(), hosts) {
            let rule = format!("A picture is on one of these hosts: {}.", hosts.join(", "));
            return Err(Violation::invalid(rule));
        }
        Ok(Self(String::from(url).into()))
    }

    /// Returns true if a normalized URL is on one of these hosts.
    #[must_use]
    pub fn is_on(url: &str, hosts: &[String]) -> bool {
        let host = url.strip_prefix("https://").and_then(|rest| rest.split('/').next());
        host.is_some_and(|host| hosts.iter().any(|allowed| allowed == host))
    }

    /// Returns the URL; empty if there is no picture.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Declares a user as read, with the optional fields. A row has the field, its member of [`UserFields`] and its type.
macro_rules! optional_fields {
    ($($(#[$doc:meta])* $field:ident $member:ident: $value:ty;)*) => {
        /// A user as read: the id, the username, and the requested optional fields. A field is `None` if it was not
        /// requested.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct User {
            /// Id of the user.
            pub id: UserId,
            /// Username. Always read, because its absence indicates a missing record.
            pub username: String,
            $($(#[$doc])* pub $field: Option<$value>,)*
        }

        impl User {
            /// Creates a user without optional fields.
            #[must_use]
            pub fn new(id: UserId, username: String) -> Self {
                Self { id, username, $($field: None,)* }
            }

            /// Returns the optional fields that are present, with their values.
            pub fn values(&self) -> impl Iterator<Item = (UserFields, FieldValue<'_>)> {
                let values = [$((UserFields::$member, self.$field.as_ref().map(FieldValue::from))),*];
                values.into_iter().filter_map(|(field, value)| Some((field, value?)))
            }
        }

        /// The number of each field's bit.
        #[expect(non_camel_case_types, clippy::upper_case_acronyms, reason = "the members are named like this")]
        enum Bit {
            $($member,)*
        }

        impl UserFields {
            $(
                #[doc = concat!("The field [`User::", stringify!($field), "`].")]
                pub const $member: Self = Self(1 << Bit::$member as u8);
            )*
            /// All optional fields.
            pub const ALL: Self = Self(0 $(| Self::$member.0)*);
        }
    };
}

optional_fields! {
    /// Display name.
    display_name DISPLAY_NAME: String;
    /// Bio.
    bio BIO: String;
    /// The picture. Its host may not be allowed any more.
    avatar_url AVATAR_URL: AvatarUrl;
    /// Creation time of the account.
    created_at CREATED_AT: Timestamp;
    /// True if the user approves followers, and only these see the user's posts.
    is_private PRIVATE: bool;
    /// Region that the user has stated. It is not in the user's record, but is read with it.
    residence RESIDENCE: Residence;
}

impl User {
    /// Returns the optional fields that are present.
    #[must_use]
    pub fn fields(&self) -> UserFields {
        self.values().fold(UserFields::NONE, |fields, (field, _)| fields | field)
    }

    /// Returns the value of an optional field; `None` if it is not present.
    #[must_use]
    pub fn value(&self, field: UserFields) -> Option<FieldValue<'_>> {
        self.values().find(|(present, _)| *present == field).map(|(_, value)| value)
    }
}

/// The value of an optional field of a [`User`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldValue<'a> {
    /// A text; `None` if it is not set.
    Text(Option<&'a str>),
    /// True or false.
    Flag(bool),
    /// A time.
    Time(Timestamp),
    /// A region; `None` if it is not set.
    Region(Option<Region>),
}

impl<'a> From<&'a String> for FieldValue<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(Some(text))
    }
}

impl<'a> From<&'a AvatarUrl> for FieldValue<'a> {
    fn from(url: &'a AvatarUrl) -> Self {
        Self::Text(Some(url.as_str()).filter(|url| !url.is_empty()))
    }
}

impl From<&bool> for FieldValue<'_> {
    fn from(flag: &bool) -> Self {
        Self::Flag(*flag)
    }
}

impl From<&Timestamp> for FieldValue<'_> {
    fn from(time: &Timestamp) -> Self {
        Self::Time(*time)
    }
}

impl From<&Residence> for FieldValue<'_> {
    fn from(Residence(region): &Residence) -> Self {
        Self::Region(*region)
    }
}

/// A set of the optional fields of a [`User`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UserFields(u8);

impl UserFields {
    /// No optional fields: only the id and the username.
    pub const NONE: Self = Self(0);
    /// The fields of a user's record: all but the residence.
    pub const RECORD: Self = Self(Self::ALL.0 & !Self::RESIDENCE.0);

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
    /// New picture; an empty URL removes it.
    pub avatar_url: Option<AvatarUrl>,
    /// True to make the account private, false to make it public.
    pub is_private: Option<bool>,
    /// New residence; `Residence(None)` removes the region.
    pub residence: Option<Residence>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::text::ViolationKind;

    #[test]
    fn a_username_resembles_a_name_from_another_application() {
        let resembling = |name| Username::resembling(name).map(|name| name.as_str().to_owned());
        for (name, expected) in [
            ("ada", "ada"),
            ("Ada.Lovelace@example.org", "ada_lovelace"),
            ("ada-lovelace 1", "ada_lovelace_1"),
            ("Zoë", "zo"),
            ("a234567890123456789012345678901", "a23456789012345678901234567890"),
        ] {
            assert_eq!(resembling(name).as_deref(), Some(expected));
        }
        for name in ["", "a", "@example.org", "李", "..", "a@b.example"] {
            assert_eq!(resembling(name), None, "{name:?}");
        }
    }

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
    fn a_picture_is_on_an_allowed_host_and_its_url_is_normalized() {
        let hosts = ["pictures.example".to_owned(), "xn--bcher-kva.example:8443".to_owned()];
        let parse = |text: &str| AvatarUrl::parse(text, &hosts).map(|url| url.as_str().to_owned());
        for (text, url) in [
            (" https://PICTURES.example:443/ä b.png?x=1 ", "https://pictures.example/%C3%A4%20b.png?x=1"),
            ("https://bücher.example:8443", "https://xn--bcher-kva.example:8443/"),
            ("https://pictures.example/a/../b.png", "https://pictures.example/b.png"),
            ("  ", ""),
        ] {
            assert_eq!(parse(text).as_deref(), Ok(url));
        }
        for text in [
            "http://pictures.example/a.png",
            "//pictures.example/a.png",
            "javascript:alert(1)",
            "data:image/png;base64,AA==",
            "https://ada@pictures.example/a.png",
            "https://:secret@pictures.example/a.png",
            "https://pictures.example.evil.example/a.png",
            "https://evil.example/?pictures.example/",
            "https://evil.example\\@pictures.example/a.png",
            "https://pictures.example:444/a.png",
            "https://",
        ] {
            assert_eq!(parse(text).map_err(|violation| violation.limit), Err(None), "{text:?}");
        }
        let long = format!("https://pictures.example/{}", "a".repeat(500));
        assert_eq!(parse(&long).unwrap_err().kind, ViolationKind::TooLong);
        let of_none = AvatarUrl::parse("https://pictures.example/a.png", &[]).unwrap_err();
        assert_eq!(of_none.rule, "This server does not allow pictures.");
    }

    #[test]
    fn the_fields_of_a_user_are_those_that_were_read() {
        let user = User { bio: Some(String::new()), ..User::new(UserId::new(1).unwrap(), "ada".into()) };
        assert!(user.fields().contains(UserFields::BIO));
        assert!(!user.fields().contains(UserFields::BIO | UserFields::DISPLAY_NAME));
    }
}
