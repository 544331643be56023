//! Invisible characters, and their places in names: emoji and some scripts need them.
//!
//! Not here: white space, which is trimmed (`text`).

use icu_properties::props::{
    BinaryProperty as _, CanonicalCombiningClass, DefaultIgnorableCodePoint, Emoji, EmojiComponent,
    EmojiModifier, EnumeratedProperty as _, ExtendedPictographic, GeneralCategory, GeneralCategoryGroup,
    JoiningType, Script, UnifiedIdeograph,
};

use crate::model::text::describe;

/// Returns true if a character is visible, on its own.
pub(super) fn is_visible(character: char) -> bool {
    !character.is_whitespace() && !is_invisible(character)
}

/// Returns true for characters that have no shape, or an empty one, and are not white space.
fn is_invisible(character: char) -> bool {
    let is_format = || GeneralCategory::for_char(character) == GeneralCategory::Format;
    DefaultIgnorableCodePoint::for_char(character)
        || is_blank(character)
        || (is_format() && !is_number_sign(character))
}

/// Returns true for letters and symbols that are defined as empty.
fn is_blank(character: char) -> bool {
    matches!(character, '\u{2800}' | '\u{13441}' | '\u{13442}' | '\u{16FE4}' | '\u{1D159}')
}

/// Returns true for format characters that are drawn, below or above the digits after them
/// (`Prepended_Concatenation_Mark`).
fn is_number_sign(character: char) -> bool {
    let code_point = u32::from(character);
    matches!(code_point, 0x600..=0x605 | 0x6DD | 0x70F | 0x890..=0x891 | 0x8E2 | 0x110BD | 0x110CD)
}

/// Describes the first invisible character of a name that changes nothing visible; `None` if there is no such
/// character. With it, a name would look like another.
pub(super) fn fault(name: &str) -> Option<String> {
    let characters: Vec<char> = name.chars().collect();
    let mut at = 0;
    while let Some(&character) = characters.get(at) {
        let (before, after) = (&characters[..at], &characters[at + 1..]);
        if is_invisible(character) && !is_needed(before, character, after) {
            return Some(describe(character) + place(character));
        }
        at += 1 + if character == BLACK_FLAG { tags(after) } else { 0 };
    }
    None
}

/// Returns the place at which a name may contain an invisible character, as the end of a sentence.
fn place(character: char) -> &'static str {
    match character {
        JOINER => " outside emoji and letters that it joins",
        NON_JOINER => " outside letters that it separates",
        '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}' => " after a character that has no such variant",
        '\u{E0020}'..=END_OF_TAGS => " outside the emoji of a flag",
        _ => "",
    }
}

/// Returns true if an invisible character changes the form of those before and after it.
fn is_needed(before: &[char], character: char, after: &[char]) -> bool {
    let is_after = |condition: fn(char) -> bool| before.last().is_some_and(|base| condition(*base));
    match character {
        JOINER => joins_emoji(before, after) || joins_letters(before, after),
        NON_JOINER => is_after(is_virama) || separates_letters(before, after),
        '\u{FE00}'..='\u{FE06}' => is_after(has_variants),
        '\u{FE0E}' | '\u{FE0F}' => selects_presentation(before, after),
        '\u{E0100}'..='\u{E01EF}' => is_after(UnifiedIdeograph::for_char),
        '\u{180B}'..='\u{180D}' | '\u{180F}' => is_after(is_mongolian_letter),
        '\u{180E}' => separates_mongolian_vowel(before, after),
        '\u{13430}'..='\u{1343F}' => arranges_hieroglyphs(before),
        _ => false,
    }
}

const JOINER: char = '\u{200D}';
const NON_JOINER: char = '\u{200C}';

/// Returns true if a joiner between these characters makes one emoji of two.
fn joins_emoji(before: &[char], after: &[char]) -> bool {
    // They change the emoji before them, and nothing else.
    let modifies = |character: char| character == '\u{FE0F}' || EmojiModifier::for_char(character);
    let first = before.iter().rfind(|character| !modifies(**character));
    [first, after.first()]
        .iter()
        .all(|emoji| emoji.is_some_and(|emoji| ExtendedPictographic::for_char(*emoji)))
}

/// Returns true if a joiner between these characters makes one letter of two: after a virama (RFC 5892, appendix A.2),
/// or between a letter and its virama, which Bengali and Kannada need for letters after *ra*.
fn joins_letters(before: &[char], after: &[char]) -> bool {
    let Some(&last) = before.last() else { return false };
    let is_same_script = |virama: char| Script::for_char(last) == Script::for_char(virama);
    is_virama(last) || after.first().is_some_and(|next| is_virama(*next) && is_same_script(*next))
}

fn is_virama(character: char) -> bool {
    CanonicalCombiningClass::for_char(character) == CanonicalCombiningClass::Virama
}

/// Returns true if the letters before and after would join without a separator (RFC 5892, appendix A.1).
fn separates_letters(before: &[char], after: &[char]) -> bool {
    let joining = |character: &char| JoiningType::for_char(*character);
    let first = before.iter().rev().map(joining).find(|kind| *kind != JoiningType::Transparent);
    let second = after.iter().map(joining).find(|kind| *kind != JoiningType::Transparent);
    matches!(first, Some(JoiningType::LeftJoining | JoiningType::DualJoining))
        && matches!(second, Some(JoiningType::RightJoining | JoiningType::DualJoining))
}

/// Returns true if a selector between these characters chooses between an emoji and a plain symbol.
fn selects_presentation(before: &[char], after: &[char]) -> bool {
    before.last().is_some_and(|base| {
        let is_in_keycap = base.is_ascii() && after.first() == Some(&'\u{20E3}');
        Emoji::for_char(*base) && (is_in_keycap || !EmojiComponent::for_char(*base))
    })
}

/// Returns true if the character before, possibly in a variant, is a hieroglyph or arranges hieroglyphs, too.
fn arranges_hieroglyphs(before: &[char]) -> bool {
    let base = before.iter().rfind(|character| !matches!(character, '\u{FE00}'..='\u{FE06}'));
    base.is_some_and(|base| Script::for_char(*base) == Script::EgyptianHieroglyphs)
}

/// Returns true for characters of the kinds that have standardized variants.
fn has_variants(base: char) -> bool {
    let is_mathematical = !base.is_ascii() && GeneralCategory::for_char(base) == GeneralCategory::MathSymbol;
    let is_of_script = [Script::EgyptianHieroglyphs, Script::Manichaean, Script::Myanmar, Script::PhagsPa]
        .contains(&Script::for_char(base));
    let is_fullwidth = matches!(base, '、' | '。' | '！' | '，' | '．' | '０' | '：' | '；' | '？');
    is_mathematical || is_of_script && !is_invisible(base) || is_fullwidth || UnifiedIdeograph::for_char(base)
}

fn is_mongolian_letter(character: char) -> bool {
    let is_letter = GeneralCategoryGroup::Letter.contains(GeneralCategory::for_char(character));
    is_letter && Script::for_char(character) == Script::Mongolian
}

/// Returns true if these are the letters around the separator of a final vowel, the first possibly in a variant.
fn separates_mongolian_vowel(before: &[char], after: &[char]) -> bool {
    let letter = before.iter().rfind(|character| !matches!(character, '\u{180B}'..='\u{180D}' | '\u{180F}'));
    [letter, after.first()].iter().all(|letter| letter.is_some_and(|letter| is_mongolian_letter(*letter)))
}

/// The emoji that tags make the flag of a country's part, such as Scotland.
const BLACK_FLAG: char = '\u{1F3F4}';
const END_OF_TAGS: char = '\u{E007F}';

/// Returns the number of tags after a black flag that form the code of a country's part, with their end; 0 if there is
/// no such code.
fn tags(after: &[char]) -> usize {
    let is_tag =
        |character: &&char| matches!(character, '\u{E0030}'..='\u{E0039}' | '\u{E0061}'..='\u{E007A}');
    let length = after.iter().take_while(is_tag).count();
    let is_code = (3..=6).contains(&length) && after.get(length) == Some(&END_OF_TAGS);
    if is_code { length + 1 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_contains_no_ignorable_character_between_letters_that_do_not_need_it() {
        let all = || (char::MIN..=char::MAX).filter(|character| is_invisible(*character));
        assert!(all().count() > 4_000, "the reserved ones, too");
        for character in all() {
            for name in [format!("a{character}b"), format!("{character}a"), format!("a{character}")] {
                assert!(fault(&name).is_some(), "{name:?}");
            }
            assert!(!is_visible(character), "{character:?}");
        }
        for character in
            "\u{3164}\u{2800}\u{61C}\u{34F}\u{115F}\u{1160}\u{FFA0}\u{17B4}\u{180E}\u{FE0F}\u{FFF9}\u{1D173}"
                .chars()
        {
            assert!(is_invisible(character), "{character:?}");
        }
    }

    #[test]
    fn letters_marks_and_symbols_are_visible() {
        for character in "aß日\u{E9}\u{301}🦀🇺⃣⣿\u{600}\u{E000}\u{1F8FF}".chars() {
            assert!(is_visible(character), "{character:?}");
        }
        for character in " \u{3000}\u{2029}".chars() {
            assert!(!is_visible(character), "{character:?}");
        }
    }

    #[test]
    fn names_contain_every_emoji() {
        for emoji in (char::MIN..=char::MAX).filter(|character| Emoji::for_char(*character)) {
            assert_eq!(fault(&emoji.to_string()), None, "{emoji}");
            if !EmojiComponent::for_char(emoji) {
                assert_eq!(fault(&format!("a{emoji}\u{FE0F}{emoji}\u{FE0E}b")), None, "{emoji}");
            }
        }
        for emoji in [
            "#️⃣",
            "0⃣",
            "❤️‍🔥",
            "🏳️‍🌈",
            "🏳️‍⚧️",
            "🏴‍☠️",
            "👁️‍🗨️",
            "👩🏽‍🦰",
            "👨‍👩‍👧‍👦",
            "👩🏿‍❤️‍💋‍👨🏻",
            "🧑🏻‍🤝‍🧑🏿",
            "🏃🏽‍♀️‍➡️",
            "🏌🏽‍♂",
            "🧑‍🧑‍🧒‍🧒",
            "⛓️‍💥",
            "🍋‍🟩",
            "🐦‍⬛",
            "🇺🇦",
            "☝🏽",
            "©️",
            "🏴󠁧󠁢󠁳󠁣󠁴󠁿",
            "🏴󠁵󠁳󠁴󠁸󠁿",
        ] {
            assert_eq!(fault(emoji), None, "{emoji}");
            assert_eq!(fault(&format!("a{emoji}{emoji} b")), None, "{emoji}");
        }
    }

    #[test]
    fn names_contain_what_their_scripts_need() {
        for name in [
            "علی\u{200C}رضا",
            "مه\u{64E}\u{200C}\u{650}دی",
            "क्\u{200C}ष",
            "क्\u{200D}ष",
            "ශ්\u{200D}රී",
            "അവന്\u{200D}",
            "র\u{200D}\u{9CD}যাচেল",
            "葛\u{E0100}城",
            "﨑\u{FE00}。\u{FE01}",
            "≨\u{FE00}",
            "ᠰᠠᠷ\u{180E}ᠠ",
            "ᠠ\u{180B}ᠷ\u{180F}\u{180E}ᠠ",
            "ꡀ\u{FE00}\u{1000}\u{FE00}",
            "𓀀\u{FE03}\u{13430}\u{13437}𓀁",
        ] {
            assert_eq!(fault(name), None, "{name:?}");
        }
    }

    #[test]
    fn a_character_in_a_wrong_place_is_named() {
        let joiner = "U+200D (zero width joiner) outside emoji and letters that it joins";
        let non_joiner = "U+200C (zero width non-joiner) outside letters that it separates";
        let selector = "(variation selector) after a character that has no such variant";
        let tag = "(tag) outside the emoji of a flag";
        for (name, expected) in [
            ("a\u{200B}b", "U+200B (invisible character)".to_owned()),
            ("a\u{2066}b\u{2069}", "U+2066 (left-to-right isolate)".to_owned()),
            ("a\u{200D}b", joiner.to_owned()),
            ("🦀\u{200D}b", joiner.to_owned()),
            ("a\u{200D}🦀", joiner.to_owned()),
            ("👩\u{200D}\u{200D}🦰", joiner.to_owned()),
            ("👩\u{200D}", joiner.to_owned()),
            ("a\u{200D}\u{94D}", joiner.to_owned()),
            ("علی\u{200C}", non_joiner.to_owned()),
            ("رضا\u{200C}علی", non_joiner.to_owned()),
            ("علی\u{200C}\u{200C}رضا", non_joiner.to_owned()),
            ("1\u{FE0F}", format!("U+FE0F {selector}")),
            ("🏽\u{FE0F}", format!("U+FE0F {selector}")),
            ("🦀\u{FE0F}\u{FE0F}", format!("U+FE0F {selector}")),
            ("a\u{FE00}", format!("U+FE00 {selector}")),
            ("a\u{E0100}", format!("U+E0100 {selector}")),
            ("a\u{E0061}", format!("U+E0061 {tag}")),
            ("🏴\u{E0067}\u{E0062}", format!("U+E0067 {tag}")),
            ("🏴\u{E0067}\u{E0062}\u{E007F}", format!("U+E0067 {tag}")),
            ("🏴󠁧󠁢󠁳󠁣󠁴󠁿\u{E007F}", format!("U+E007F {tag}")),
            ("\u{13430}𓀁", "U+13430 (invisible character)".to_owned()),
            ("a\u{180E}ᠠ", "U+180E (invisible character)".to_owned()),
        ] {
            assert_eq!(fault(name), Some(expected), "{name:?}");
        }
    }
}
