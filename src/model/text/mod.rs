//! Validation rules for user input: lengths and characters, and the messages for violations.
//!
//! Not here: the input field that violates the rule (`app`), and the API form of the message (`graphql`).

mod direction;
mod invisible;

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
    /// Minimum number of visible characters (Unicode scalar values).
    pub(crate) least: usize,
    /// Maximum number of characters (Unicode scalar values), after trimming.
    pub(crate) most: usize,
    /// Form of the text.
    pub(crate) form: Form,
}

/// The forms of free texts. None contains control characters, apart from line breaks and tabs, or characters that
/// change the direction of the text around them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// One line by which people recognize something: without invisible characters that emoji and scripts do not need.
    Name,
    /// One line.
    Line,
    /// One or several paragraphs, with line breaks and tabs.
    Paragraphs,
}

impl Rule {
    /// Returns the text without surrounding whitespace. Fails if the text violates the rule.
    pub(crate) fn check<'a>(&self, text: &'a str) -> Result<&'a str, Violation> {
        let text = text.trim();
        // Check the length first, so that a huge input is not scanned twice.
        if text.chars().take(self.most + 1).count() > self.most {
            let rule = format!("{} has at most {} characters.", self.subject, self.most);
            return Err(Violation::too_long(self.most, rule));
        }
        let visible = text.chars().filter(|character| invisible::is_visible(*character));
        if visible.take(self.least).count() < self.least {
            let rule = format!("{} has at least {} visible character.", self.subject, self.least);
            return Err(Violation::too_short(self.least, rule));
        }
        match self.form.fault(text) {
            Some(fault) => Err(Violation::invalid(format!("{} must not contain {fault}.", self.subject))),
            None => Ok(text),
        }
    }
}

impl Form {
    /// Describes the first character that a text of this form must not contain; `None` if there is no such character.
    fn fault(self, text: &str) -> Option<String> {
        let excluded = text.chars().find(|character| !self.allows(*character)).map(describe);
        excluded.or_else(|| match self {
            Self::Name => invisible::fault(text),
            Self::Line | Self::Paragraphs => direction::fault(text),
        })
    }

    /// Returns true if a text of this form may contain a character, depending on its place.
    fn allows(self, character: char) -> bool {
        match character {
            '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => self == Self::Paragraphs,
            // Right-to-left text does not need these. Left unclosed, they would reorder the rest of the displayed line.
            '\u{202A}'..='\u{202E}' => false,
            _ => !character.is_control(),
        }
    }
}

/// Formats a character for messages: its code point, and its name or kind.
fn describe(character: char) -> String {
    let kind = match character {
        '\n' | '\r' | '\u{2028}' | '\u{2029}' => "line break",
        '\t' => "tab",
        '\u{200C}' => "zero width non-joiner",
        '\u{200D}' => "zero width joiner",
        '\u{202A}' => "left-to-right embedding",
        '\u{202B}' => "right-to-left embedding",
        '\u{202C}' => "pop directional formatting",
        '\u{202D}' => "left-to-right override",
        '\u{202E}' => "right-to-left override",
        '\u{2066}' => "left-to-right isolate",
        '\u{2067}' => "right-to-left isolate",
        '\u{2068}' => "first strong isolate",
        '\u{2069}' => "pop directional isolate",
        '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}' => "variation selector",
        '\u{E0020}'..='\u{E007F}' => "tag",
        _ if character.is_control() => "control character",
        _ => "invisible character",
    };
    format!("U+{:04X} ({kind})", u32::from(character))
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

            /// Returns a stored text, which was validated by the rule of the version that stored it.
            #[must_use]
            pub fn of_stored(text: &str) -> Self {
                Self(text.into())
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

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: Rule = Rule { subject: "A name", least: 1, most: 5, form: Form::Name };
    const LABEL: Rule = Rule { subject: "A label", least: 1, most: 5, form: Form::Line };
    const BIO: Rule = Rule { subject: "A bio", least: 0, most: 5, form: Form::Paragraphs };

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
    fn a_minimum_length_counts_visible_characters() {
        for text in ["\u{3164}", "\u{2800}", "\u{FE0F}\u{200B}", "\u{2066}\u{3000}\u{2069}"] {
            for rule in [NAME, LABEL] {
                let violation = rule.check(text).unwrap_err();
                assert_eq!((violation.kind, violation.limit), (ViolationKind::TooShort, Some(1)), "{text:?}");
                assert!(violation.rule.ends_with(" has at least 1 visible character."), "{}", violation.rule);
            }
            assert_eq!(BIO.check(text), Ok(text));
        }
        assert_eq!(LABEL.check("\u{3164}\u{200B}a"), Ok("\u{3164}\u{200B}a"));
    }

    #[test]
    fn every_script_is_accepted_and_controls_are_not() {
        for text in ["שלום", "مرحبا", "日本", "é"] {
            assert_eq!(NAME.check(text), Ok(text));
        }
        assert_eq!(LABEL.check("a\u{200F}"), Ok("a\u{200F}"));
        for rule in [NAME, LABEL] {
            for text in ["a\u{2028}b", "a\0b", "a\nb", "a\u{202E}b", "a\u{7F}", "a\u{2066}"] {
                assert_eq!(rule.check(text).unwrap_err().kind, ViolationKind::Invalid, "{text:?}");
            }
        }
        assert_eq!(BIO.check("a\nb"), Ok("a\nb"));
        assert_eq!(BIO.check("a\0b").unwrap_err().kind, ViolationKind::Invalid);
    }

    #[test]
    fn isolates_are_accepted_in_pairs_but_not_in_names() {
        let text = "\u{2068}ab\u{2069}";
        assert_eq!((LABEL.check(text), BIO.check(text)), (Ok(text), Ok(text)));
        let rule = "A name must not contain U+2068 (first strong isolate).";
        assert_eq!(NAME.check(text), Err(Violation::invalid(rule)));
        for (text, rule) in [
            (
                "ab\u{2069}",
                "A bio must not contain U+2069 (pop directional isolate) without an isolate that it ends.",
            ),
            ("a\u{202E}b", "A bio must not contain U+202E (right-to-left override)."),
            ("a\u{202B}\u{202C}", "A bio must not contain U+202B (right-to-left embedding)."),
            ("a\u{7}", "A bio must not contain U+0007 (control character)."),
        ] {
            assert_eq!(BIO.check(text), Err(Violation::invalid(rule)));
        }
    }
}
