//! Validation rules for user input: lengths and characters, and the messages for violations.
//!
//! Not here: the input field that violates the rule (`app`), and the API form of the message (`graphql`).

/// A violation of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Kind of violation.
    pub kind: ViolationKind,
    /// Violated rule, as a sentence for end users.
    pub rule: String,
    /// Violated minimum or maximum length; `None` for [`ViolationKind::Invalid`].
    pub limit: Option<usize>,
}

/// The kinds of violations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViolationKind {
    /// Fewer characters than the rule requires.
    TooShort,
    /// More characters than the rule allows.
    TooLong,
    /// A character or form that the rule excludes.
    Invalid,
}

impl Violation {
    /// Creates a violation of a rule about characters or form.
    pub(crate) fn invalid(rule: impl Into<String>) -> Self {
        Self { kind: ViolationKind::Invalid, rule: rule.into(), limit: None }
    }

    /// Creates the violation of a minimum length.
    pub(crate) fn too_short(least: usize, rule: impl Into<String>) -> Self {
        Self { kind: ViolationKind::TooShort, rule: rule.into(), limit: Some(least) }
    }

    /// Creates the violation of a maximum length.
    pub(crate) fn too_long(most: usize, rule: impl Into<String>) -> Self {
        Self { kind: ViolationKind::TooLong, rule: rule.into(), limit: Some(most) }
    }
}

/// The rule for a kind of free text, such as names, bios or labels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    /// Subject of messages, with its article, such as `A display name`.
    pub(crate) subject: &'static str,
    /// Minimum number of characters (Unicode scalar values), after trimming.
    pub(crate) least: usize,
    /// Maximum number of characters (Unicode scalar values), after trimming.
    pub(crate) most: usize,
    /// True if line breaks and tabs are allowed.
    pub(crate) lines: bool,
}

impl Rule {
    /// Returns the text without surrounding whitespace. Fails if the text violates the rule.
    pub(crate) fn check<'a>(&self, text: &'a str) -> Result<&'a str, Violation> {
        let text = text.trim();
        // Check the length first, so that a huge input is not scanned twice.
        let length = text.chars().take(self.most + 1).count();
        if length > self.most {
            let rule = self.sentence(&format!("has at most {} characters", self.most));
            return Err(Violation::too_long(self.most, rule));
        }
        if length < self.least || (self.least > 0 && !text.chars().any(is_visible)) {
            let rule = self.sentence(&format!("has at least {} character", self.least));
            return Err(Violation::too_short(self.least, rule));
        }
        if text.chars().any(|character| !self.allows(character)) {
            let excluded = if self.lines {
                "contains no control characters other than line breaks and tabs"
            } else {
                "contains no control characters"
            };
            return Err(Violation::invalid(self.sentence(excluded)));
        }
        Ok(text)
    }

    fn allows(&self, character: char) -> bool {
        if self.lines && matches!(character, '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}') {
            return true;
        }
        let breaks_line = matches!(character, '\u{2028}' | '\u{2029}');
        !character.is_control() && !breaks_line && !reorders_what_follows(character)
    }

    fn sentence(&self, rest: &str) -> String {
        format!("{} {rest}.", self.subject)
    }
}

/// Defines a type for each kind of free text, given a name and a rule.
macro_rules! texts {
    ($($(#[$attribute:meta])* $name:ident: $rule:expr;)*) => { $(
        $(#[$attribute])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name(Box<str>);

        impl $name {
            /// Trims surrounding whitespace and validates the rest. Fails if the rest violates the rule.
            pub fn parse(text: &str) -> Result<Self, $crate::model::text::Violation> {
                const RULE: Rule = $rule;
                RULE.check(text).map(|text| Self(text.into()))
            }

            /// Returns the validated text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
    )* };
}
pub(crate) use texts;

/// Returns true if a character is visible.
fn is_visible(character: char) -> bool {
    let joins = matches!(character, '\u{AD}' | '\u{200B}'..='\u{200F}' | '\u{2060}'..='\u{2064}' | '\u{FEFF}' | '\u{E0000}'..='\u{E007F}');
    !joins && !character.is_whitespace()
}

/// Returns true if a character changes the direction of the text around it. Left unclosed in a name, such a
/// character would reorder the rest of the displayed line. Right-to-left text does not need these characters.
fn reorders_what_follows(character: char) -> bool {
    matches!(character, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: Rule = Rule { subject: "A name", least: 1, most: 5, lines: false };
    const BIO: Rule = Rule { subject: "A bio", least: 0, most: 5, lines: true };

    #[test]
    fn length_counts_characters_after_trimming() {
        assert_eq!(NAME.check("  🦀🦀🦀🦀🦀 "), Ok("🦀🦀🦀🦀🦀"));
        let kind_and_limit = |text| NAME.check(text).map_err(|violation| (violation.kind, violation.limit));
        assert_eq!(kind_and_limit("🦀🦀🦀🦀🦀🦀"), Err((ViolationKind::TooLong, Some(5))));
        assert_eq!(kind_and_limit("\u{200B}\u{FEFF}"), Err((ViolationKind::TooShort, Some(1))));
        assert_eq!(NAME.check(" \u{3000} ").unwrap_err().kind, ViolationKind::TooShort);
        assert_eq!(BIO.check(" "), Ok(""));
    }

    #[test]
    fn every_script_is_accepted_and_controls_are_not() {
        for text in ["שלום", "مرحبا", "日本", "é", "a\u{200F}"] {
            assert_eq!(NAME.check(text), Ok(text));
        }
        for text in ["a\u{2028}b", "a\0b", "a\nb", "a\u{202E}b", "a\u{7F}", "a\u{2066}"] {
            assert_eq!(NAME.check(text).unwrap_err().kind, ViolationKind::Invalid, "{text:?}");
        }
        assert_eq!(BIO.check("a\nb"), Ok("a\nb"));
        assert_eq!(BIO.check("a\0b").unwrap_err().kind, ViolationKind::Invalid);
    }
}
