//! Hashtags: a `#`, followed by letters, marks and digits of any script, at least one of them not a digit.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization as _;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory as _};

use crate::model::entity::characters::Characters;

/// The identity of a hashtag: its text without the `#`, in Unicode normalization form NFKC and in lower case. So
/// `#Café` and `＃ＣＡＦÉ` have the same tag. It contains no spaces.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tag(Box<str>);

impl Tag {
    /// Returns the tag of a hashtag's text, given without the `#`.
    fn of(text: &str) -> Self {
        // The form of some letters, which are ligatures of words or isolated marks, contains spaces.
        let joined: String = text.nfkc().filter(|character| !character.is_whitespace()).collect();
        let lower = joined.to_lowercase();
        // A letter in lower case may combine with a mark that its upper case does not combine with.
        Self(lower.nfkc().collect::<String>().into())
    }

    /// Returns the identity, without a `#`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns the hashtags in order, with their positions.
pub(super) fn hashtags<'a>(characters: &'a Characters<'_>) -> impl Iterator<Item = (Range<usize>, Tag)> + 'a {
    let mut next = 0;
    std::iter::from_fn(move || {
        while next < characters.count() {
            let at = next;
            next += 1;
            if !characters.at(at).is_some_and(is_hash_sign) || is_keycap(characters, next) {
                continue;
            }
            next = characters.run(next, is_in_tag);
            let text = characters.text(&(at + 1..next));
            if text.chars().any(is_letter) && may_precede(characters, at) && may_follow(characters, next) {
                return Some((at..next, Tag::of(text)));
            }
        }
        None
    })
}

fn is_hash_sign(character: char) -> bool {
    matches!(character, '#' | '＃')
}

/// Returns true if the characters after a `#` make it an emoji.
fn is_keycap(characters: &Characters<'_>, after: usize) -> bool {
    matches!(characters.at(after), Some('\u{FE0F}' | '\u{20E3}'))
}

/// Returns true for letters and for marks, which are parts of letters.
fn is_letter(character: char) -> bool {
    let group = character.general_category_group();
    matches!(group, GeneralCategoryGroup::Letter | GeneralCategoryGroup::Mark)
}

/// Returns true for letters, digits, and the characters that join them within words of some scripts: zero-width
/// joiners, Hebrew punctuation, Japanese dashes, dots and ditto marks, Tibetan and Catalan separators.
fn is_in_tag(character: char) -> bool {
    let joins = matches!(
        character,
        '_' | '\u{200C}'
            | '\u{200D}'
            | '\u{A67E}'
            | '\u{5BE}'
            | '\u{5F3}'
            | '\u{5F4}'
            | '～'
            | '〜'
            | '\u{309B}'
            | '\u{309C}'
            | '゠'
            | '・'
            | '〃'
            | '\u{F0B}'
            | '\u{F0C}'
            | '·'
    );
    joins || is_letter(character) || character.general_category() == GeneralCategory::DecimalNumber
}

/// Returns true if a hashtag may start at a position: not within a word, and not in an HTML entity such as `&#39;`. An
/// emoji may end with a variation selector, which is a mark.
fn may_precede(characters: &Characters<'_>, at: usize) -> bool {
    match characters.before(at) {
        None | Some('\u{FE0E}' | '\u{FE0F}') => true,
        Some(before) => before != '&' && !is_in_tag(before),
    }
}

/// Returns true if a hashtag may end at a position: not before another one, and not within a URL.
fn may_follow(characters: &Characters<'_>, end: usize) -> bool {
    !characters.at(end).is_some_and(is_hash_sign) && !characters.starts_with(end, "://")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_contains_no_separators_of_the_stored_form() {
        let letters = ('\0'..=char::MAX).filter(|letter| is_in_tag(*letter));
        for letter in letters.filter(|letter| !letter.nfkc().eq([*letter])) {
            let tag = Tag::of(&format!("a{letter}b"));
            assert!(!tag.as_str().contains([' ', ',']), "{letter:?}: {tag:?}");
        }
    }
}
