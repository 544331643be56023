//! Finds the key or the section that an unknown name in the configuration file probably means.

use strsim::normalized_damerau_levenshtein;

use crate::config::key::Key;

/// Minimum similarity of a name that is suggested: 1 for equal names, 0 for names without a common character.
const SIMILAR: f64 = 0.6;
/// Minimum similarity of a name that is taken for a misspelling of another.
const NEARLY_EQUAL: f64 = 0.85;
/// Factor for the similarity to keys of other sections, so that keys of the same section are preferred.
const ELSEWHERE: f64 = 0.9;

/// Returns a hint that names the key nearest to an unknown one, or else all keys of the section. Without a section,
/// `section` is empty.
pub(super) fn nearest_key(section: &str, name: &str, keys: &[Key]) -> String {
    let name = name.replace('-', "_").to_lowercase();
    let scored = keys.iter().map(|key| (similarity(section, &name, key), key));
    match scored.max_by(|(one, _), (other, _)| one.total_cmp(other)) {
        Some((score, key)) if score >= SIMILAR => {
            format!("did you mean {}.{}?", key.section(), key.name())
        }
        _ if section.is_empty() => format!("the sections are {}", sections(keys).join(", ")),
        _ => {
            let names = keys.iter().filter(|key| key.section() == section).map(Key::name);
            format!("the keys of [{section}] are {}", names.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Returns a hint that names the section nearest to an unknown one, or else all sections.
pub(super) fn nearest_section(name: &str, keys: &[Key]) -> String {
    let name = name.to_lowercase();
    let sections = sections(keys);
    let scored = sections.iter().map(|section| (normalized_damerau_levenshtein(&name, section), section));
    match scored.max_by(|(one, _), (other, _)| one.total_cmp(other)) {
        Some((score, section)) if score >= SIMILAR => format!("did you mean [{section}]?"),
        _ => format!("the sections are {}", sections.join(", ")),
    }
}

/// Returns the one of these names that an unknown one is nearly equal to, if there is one.
pub(super) fn nearest_name(name: &str, known: &[String]) -> Option<String> {
    let scored = known.iter().map(|known| (normalized_damerau_levenshtein(name, known), known));
    let nearest = scored.max_by(|(one, _), (other, _)| one.total_cmp(other));
    nearest.filter(|(score, _)| *score >= NEARLY_EQUAL).map(|(_, known)| known.clone())
}

/// Returns the similarity of a key to an unknown name. An option's present and former names count as well.
fn similarity(section: &str, name: &str, key: &Key) -> f64 {
    let to = |candidate: &str| normalized_damerau_levenshtein(name, &candidate.replace('-', "_"));
    let here = if key.section() == section { 1.0 } else { ELSEWHERE };
    let options = key.former().into_iter().chain([key.option()]);
    options.map(to).fold(to(key.name()) * here, f64::max)
}

/// Returns the sections, in the order of the options.
fn sections(keys: &[Key]) -> Vec<&str> {
    let mut sections: Vec<&str> = Vec::new();
    for key in keys {
        if !sections.contains(&key.section()) {
            sections.push(key.section());
        }
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_the_same_section_is_preferred() {
        let keys = Key::all();
        assert_eq!(nearest_key("archive", "urls", &keys), "did you mean archive.url?");
        assert_eq!(nearest_key("redis", "urls", &keys), "did you mean redis.url?");
        assert_eq!(nearest_key("redis", "in_serve", &keys), "did you mean archive.in_server?");
    }

    #[test]
    fn names_of_options_and_their_former_names_are_understood() {
        let keys = Key::all();
        assert_eq!(nearest_key("http", "http-listen", &keys), "did you mean http.listen?");
        assert_eq!(nearest_key("", "sessions_single", &keys), "did you mean session.single?");
        assert_eq!(
            nearest_key("post", "publishes-per-author", &keys),
            "did you mean post.publishes_per_author?"
        );
    }

    #[test]
    fn without_a_similar_name_all_names_are_listed() {
        let keys = Key::all();
        assert_eq!(nearest_key("media", "x", &keys), "the keys of [media] are hosts");
        assert!(nearest_section("kitchen", &keys).starts_with("the sections are http, graphql, "));
    }
}
