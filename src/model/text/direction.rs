//! Isolates: parts of a text whose direction has no effect on the text around them.
//!
//! Not here: characters whose effect goes beyond such a part, which no text may contain (`text`).

use crate::model::text::describe;

/// Maximum number of isolates around a character: the `max_depth` of the Unicode Bidirectional Algorithm (UAX 9).
const DEEPEST: usize = 125;

/// Returns true for characters that begin an isolate.
fn begins(character: char) -> bool {
    matches!(character, '\u{2066}'..='\u{2068}')
}

/// Ends the isolate that began last.
const END: char = '\u{2069}';

/// Returns true for characters that end a paragraph, and with it all isolates.
fn ends_paragraph(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{2029}')
}

/// Describes what is wrong with the isolates of a text; `None` if each ends within its paragraph. An isolate without an
/// end would contain what an application shows after the text, and an end without an isolate would end one of the
/// application's own.
pub(super) fn fault(text: &str) -> Option<String> {
    let mut open = Vec::new();
    for character in text.chars() {
        if begins(character) && open.len() == DEEPEST {
            return Some(format!("{} within {DEEPEST} other isolates", describe(character)));
        } else if begins(character) {
            open.push(character);
        } else if character == END && open.pop().is_none() {
            return Some(format!("{} without an isolate that it ends", describe(END)));
        } else if ends_paragraph(character) && !open.is_empty() {
            break;
        }
    }
    let last = open.pop()?;
    Some(format!("{} without {} in the same paragraph", describe(last), describe(END)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{prop_assert_eq, proptest};

    #[test]
    fn faults_name_the_character() {
        for (text, expected) in [
            (
                "a \u{2068}b",
                "U+2068 (first strong isolate) without U+2069 (pop directional isolate) in the same paragraph",
            ),
            (
                "\u{2067}b\nc\u{2069}",
                "U+2067 (right-to-left isolate) without U+2069 (pop directional isolate) in the same paragraph",
            ),
            ("b\u{2069}\u{2066}", "U+2069 (pop directional isolate) without an isolate that it ends"),
        ] {
            assert_eq!(fault(text).as_deref(), Some(expected));
        }
        let nested = |depth| format!("{}a{}", "\u{2066}".repeat(depth), "\u{2069}".repeat(depth));
        assert_eq!(fault(&nested(125).repeat(2)), None);
        let expected = "U+2066 (left-to-right isolate) within 125 other isolates";
        assert_eq!(fault(&nested(126)).as_deref(), Some(expected));
    }

    /// Removes isolates without isolates in them until none is left.
    fn is_balanced(text: &str) -> bool {
        let mut rest = text.replace('a', "");
        loop {
            let shorter = ["\u{2066}\u{2069}", "\u{2067}\u{2069}", "\u{2068}\u{2069}"];
            let shorter = shorter.iter().fold(rest.clone(), |rest, isolate| rest.replace(isolate, ""));
            if shorter == rest {
                return rest.chars().all(ends_paragraph);
            }
            rest = shorter;
        }
    }

    proptest! {
        #[test]
        fn isolates_are_balanced_within_paragraphs(text in "[a\u{2066}-\u{2068}\u{2069}\u{2069}\n\r\u{2029}]{0,12}") {
            prop_assert_eq!(fault(&text).is_none(), is_balanced(&text));
        }

        #[test]
        fn isolates_around_isolates_are_balanced(text in "(a|\u{2066}|\u{2067}a\u{2069}|\u{2069}){0,12}") {
            prop_assert_eq!(fault(&text).is_none(), is_balanced(&text));
        }
    }
}
