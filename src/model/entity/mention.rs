//! Mentions: an `@`, followed by a username.

use std::ops::Range;

use crate::model::entity::characters::{Characters, is_accented_latin};
use crate::model::user::Username;

/// Returns the mentions in order, with their positions.
pub(super) fn mentions<'a>(
    characters: &'a Characters<'_>,
) -> impl Iterator<Item = (Range<usize>, Username)> + 'a {
    let mut next = 0;
    std::iter::from_fn(move || {
        while next < characters.count() {
            let at = next;
            next += 1;
            if !characters.at(at).is_some_and(is_at_sign) {
                continue;
            }
            next = characters.run(next, is_in_name);
            let name = Username::parse(characters.text(&(at + 1..next)));
            if let Ok(name) = name
                && may_precede(characters, at)
                && may_follow(characters, next)
            {
                return Some((at..next, name));
            }
        }
        None
    })
}

fn is_at_sign(character: char) -> bool {
    matches!(character, '@' | '＠')
}

fn is_in_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// Returns true if a mention may start at a position: not within a word, such as an address of e-mail. `RT` may precede
/// it without a space.
fn may_precede(characters: &Characters<'_>, at: usize) -> bool {
    let Some(before) = characters.before(at) else { return true };
    let excluded =
        is_in_name(before) || is_at_sign(before) || matches!(before, '!' | '#' | '$' | '%' | '&' | '*');
    !excluded || follows_retweet(characters, at)
}

fn follows_retweet(characters: &Characters<'_>, at: usize) -> bool {
    let Some(start) = at.checked_sub(2) else { return false };
    let is_word = matches!(characters.at(start), Some('r' | 'R'))
        && matches!(characters.at(start + 1), Some('t' | 'T'));
    let continues = |before| is_in_name(before) || matches!(before, '+' | '~' | '.' | '-');
    is_word && !characters.before(start).is_some_and(continues)
}

/// Returns true if a mention may end at a position: not before the rest of a word, an address or a URL.
fn may_follow(characters: &Characters<'_>, end: usize) -> bool {
    let continues = |after| is_at_sign(after) || is_accented_latin(after);
    !characters.at(end).is_some_and(continues) && !characters.starts_with(end, "://")
}
