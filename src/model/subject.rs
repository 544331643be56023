//! Subjects: users as an existing application identifies them.
//!
//! Not here: the tokens that name them (`app::jwt`), and the index of subjects (`store::subject`).

use std::fmt;

use crate::model::digest::Digest;

/// A user of an existing application: a digest of the application's issuer name and of the user's id there. Equal ids
/// of different issuers are different subjects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Subject(Digest);

impl Subject {
    /// Returns the subject that an issuer identifies by this id.
    #[must_use]
    pub fn of(issuer: &str, id: &str) -> Self {
        Self(Digest::of([Some(issuer), Some(id)]))
    }

    /// Parses the string form of a subject.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        (text.len() == 32).then(|| Digest::parse(text).map(Self))?
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_belongs_to_one_issuer() {
        let subject = Subject::of("https://a.example", "7");
        assert_eq!(Subject::parse(&subject.to_string()), Some(subject));
        assert_ne!(subject, Subject::of("https://b.example", "7"));
        assert_ne!(subject, Subject::of("https://a.example7", ""));
        for text in ["", "ab", "zz000000000000000000000000000000"] {
            assert_eq!(Subject::parse(text), None, "{text:?}");
        }
    }
}
