//! User regions: a country per ISO 3166-1 and, optionally, one of its subdivisions per ISO 3166-2.
//!
//! A region is stored as two bytes, which are row numbers in a [`Table`]: first the country's row, then the
//! subdivision's row within the country. Zero means none. Rows are only ever appended, so stored bytes keep
//! their meaning forever. A row contains a code; names come from a crate that follows the standard.
//!
//! # Why a table of our own
//! The standard adds and withdraws codes, so an index into a list that follows the standard may change its
//! meaning within a year.
//!
//! Not here: the storage format of regions in Redis (`store::region`).

use std::collections::HashMap;
use std::sync::LazyLock;

use rust_iso3166::{from_alpha2, iso3166_2};

use crate::model::text::Violation;

const TEXT: &str = include_str!("table.txt");

/// Maximum number of country rows, and of subdivision rows per country: the number of byte values, except 0,
/// which means none.
const MOST_ROWS: u16 = 255;

const _: () = assert!(fits(TEXT.as_bytes()), "the region table has more rows than a byte can number");

/// A user's region: two row numbers in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Region {
    country: u8,
    subdivision: u8,
}

impl Region {
    /// Returns the stored form: the two row numbers.
    #[must_use]
    pub fn bytes(self) -> [u8; 2] {
        [self.country, self.subdivision]
    }

    /// Returns the region without its subdivision.
    #[must_use]
    pub fn whole_country(self) -> Self {
        Self { subdivision: 0, ..self }
    }
}

/// The region that a user has stated, if any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Residence(pub Option<Region>);

/// A current or former country.
#[derive(Debug)]
pub struct Country {
    /// ISO 3166-1 code: two capital letters.
    pub code: &'static str,
    /// Name in English.
    pub name: &'static str,
    /// True if the standard still contains the code.
    pub is_current: bool,
    subdivisions: Vec<Subdivision>,
}

impl Country {
    /// Returns the country's current subdivisions, in order of code.
    #[must_use]
    pub fn subdivisions(&self) -> Vec<&Subdivision> {
        let mut current: Vec<&Subdivision> =
            self.subdivisions.iter().filter(|subdivision| subdivision.is_current).collect();
        current.sort_by(|one, other| one.code.cmp(&other.code));
        current
    }
}

/// A current or former subdivision of a country.
#[derive(Debug)]
pub struct Subdivision {
    /// ISO 3166-2 code: the country's code, a hyphen, and up to three letters or digits.
    pub code: String,
    /// Name of the subdivision, from the standard.
    pub name: &'static str,
    /// True if the standard still contains the code.
    pub is_current: bool,
}

/// The invalid part of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The country code.
    Country,
    /// The subdivision code.
    Subdivision,
}

/// The table of all current and former countries and subdivisions, by row number.
#[derive(Debug)]
pub struct Table {
    countries: Vec<Country>,
    rows: HashMap<&'static str, u8>,
}

impl Table {
    /// Returns the table compiled into this version.
    #[must_use]
    pub fn current() -> &'static Self {
        static CURRENT: LazyLock<Table> = LazyLock::new(|| Table::read(TEXT));
        &CURRENT
    }

    /// Parses a table.
    ///
    /// # Panics
    /// Panics if the text is not a valid table or if a code has no name. Tests parse the compiled-in table.
    fn read(text: &'static str) -> Self {
        let gone: HashMap<&str, &str> =
            text.lines().filter_map(|line| line.strip_prefix("gone ")?.split_once(' ')).collect();
        let mut table = Self { countries: Vec::new(), rows: HashMap::new() };
        for line in text.lines().filter(|line| line.starts_with(|letter: char| letter.is_ascii_uppercase())) {
            let mut words = line.split(' ');
            let code = words.next().expect("a line has a first word");
            let country = table.country_of_code(code, &gone);
            for word in words {
                let code = format!("{code}-{word}");
                let current = iso3166_2::from_code(&code).map(|subdivision| subdivision.name);
                let (name, is_current) = name(&code, current, &gone);
                country.subdivisions.push(Subdivision { code, name, is_current });
            }
        }
        table
    }

    /// Returns the country with this code, after appending a row if the code is new.
    fn country_of_code(&mut self, code: &'static str, gone: &HashMap<&str, &'static str>) -> &mut Country {
        let next = u8::try_from(self.countries.len()).expect("row numbers fit in a byte");
        let row = *self.rows.entry(code).or_insert(next);
        if row == next {
            let (name, is_current) = name(code, from_alpha2(code).map(|country| country.name), gone);
            self.countries.push(Country { code, name, is_current, subdivisions: Vec::new() });
        }
        &mut self.countries[usize::from(row)]
    }

    /// Returns the current countries, in order of code.
    #[must_use]
    pub fn countries(&self) -> Vec<&Country> {
        let mut current: Vec<&Country> = self.countries.iter().filter(|country| country.is_current).collect();
        current.sort_by_key(|country| country.code);
        current
    }

    /// Decodes stored bytes; `None` for no region and for a country that only a newer version knows. Ignores
    /// a subdivision that only a newer version knows.
    #[must_use]
    pub fn region(&self, [country, subdivision]: [u8; 2]) -> Option<Region> {
        let rows = &self.countries.get(usize::from(country).checked_sub(1)?)?.subdivisions;
        let is_known = usize::from(subdivision) <= rows.len();
        Some(Region { country, subdivision: if is_known { subdivision } else { 0 } })
    }

    /// Returns a region's country.
    #[must_use]
    pub fn country(&self, region: Region) -> &Country {
        &self.countries[usize::from(region.country) - 1]
    }

    /// Returns a region's subdivision; `None` for a whole country.
    #[must_use]
    pub fn subdivision(&self, region: Region) -> Option<&Subdivision> {
        let row = usize::from(region.subdivision).checked_sub(1)?;
        self.country(region).subdivisions.get(row)
    }

    /// Returns the region with these codes, in upper or lower case.
    pub fn find(&self, country: &str, subdivision: Option<&str>) -> Result<Region, (Part, Violation)> {
        let region = self.find_country(country).map_err(|rule| fault(Part::Country, rule))?;
        let Some(code) = subdivision else {
            return Ok(region);
        };
        let row = self.find_subdivision(region, code).map_err(|rule| fault(Part::Subdivision, rule))?;
        Ok(Region { subdivision: row, ..region })
    }

    fn find_country(&self, code: &str) -> Result<Region, String> {
        if code.len() != 2 || !code.bytes().all(|byte| byte.is_ascii_alphabetic()) {
            return Err("A country is given by its two letters in ISO 3166-1, such as DE.".to_owned());
        }
        let code = code.to_ascii_uppercase();
        let row = self.rows.get(code.as_str());
        let row = row.ok_or_else(|| format!("ISO 3166-1 has no country {code}."))?;
        let country = &self.countries[usize::from(*row)];
        if !country.is_current {
            return Err(format!("ISO 3166-1 no longer has {code} ({}).", country.name));
        }
        Ok(Region { country: row + 1, subdivision: 0 })
    }

    fn find_subdivision(&self, region: Region, code: &str) -> Result<u8, String> {
        let is_code = |(country, rest): (&str, &str)| {
            country.len() == 2
                && (1..=3).contains(&rest.len())
                && country.bytes().all(|byte| byte.is_ascii_alphabetic())
                && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
        };
        if !code.split_once('-').is_some_and(is_code) {
            return Err("A subdivision is given by its code in ISO 3166-2, such as DE-BE.".to_owned());
        }
        let (code, country) = (code.to_ascii_uppercase(), self.country(region));
        if !code.starts_with(country.code) {
            return Err(format!("{code} is not a subdivision of {} ({}).", country.name, country.code));
        }
        let mut rows = (1..=u8::MAX).zip(&country.subdivisions);
        match rows.find(|(_, subdivision)| subdivision.code == code) {
            Some((row, subdivision)) if subdivision.is_current => Ok(row),
            Some((_, subdivision)) => Err(format!("ISO 3166-2 no longer has {code} ({}).", subdivision.name)),
            None => Err(format!("ISO 3166-2 has no subdivision {code}.")),
        }
    }
}

fn fault(part: Part, rule: String) -> (Part, Violation) {
    (part, Violation::invalid(rule))
}

/// Returns a code's name, and true if the standard still contains the code.
fn name(
    code: &str,
    current: Option<&'static str>,
    gone: &HashMap<&str, &'static str>,
) -> (&'static str, bool) {
    match (current, gone.get(code)) {
        (Some(name), _) => (name, true),
        (None, Some(name)) => (name, false),
        (None, None) => panic!("{code} was withdrawn from the standard: the table must keep its name"),
    }
}

/// Returns true if all row numbers of a table fit in a byte.
const fn fits(text: &[u8]) -> bool {
    const LETTERS: usize = 26;
    // Per country: 0 if it has not occurred yet; otherwise one more than the number of its subdivisions.
    let mut rows = [0u16; LETTERS * LETTERS];
    let mut countries = 0;
    let mut at = 0;
    while at < text.len() {
        if text[at].is_ascii_uppercase() {
            let country = (text[at] - b'A') as usize * LETTERS + (text[at + 1] - b'A') as usize;
            if rows[country] == 0 {
                rows[country] = 1;
                countries += 1;
            }
            while at < text.len() && text[at] != b'\n' {
                rows[country] += (text[at] == b' ') as u16;
                at += 1;
            }
            if rows[country] > MOST_ROWS + 1 {
                return false;
            }
        }
        while at < text.len() && text[at] != b'\n' {
            at += 1;
        }
        at += 1;
    }
    countries <= MOST_ROWS
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each released version with the CRC32 of its lines.
    const RELEASED: [(u32, u32); 1] = [(1, 4_240_760_363)];

    /// A table with many additions and some withdrawn codes.
    const GROWN: &str = "version 1\nDE BE BY\nNL NH\nversion 2\nDE HH ZZ\nAN\nFR IDF\n\
        gone AN Netherlands Antilles\ngone DE-ZZ Nowhere\nversion 3\nNL ZH\n";

    fn region(table: &Table, country: &str, subdivision: &str) -> Region {
        table.find(country, Some(subdivision)).unwrap()
    }

    fn message(country: &str, subdivision: Option<&str>) -> (Part, String) {
        let (part, violation) = Table::current().find(country, subdivision).unwrap_err();
        (part, violation.rule)
    }

    #[test]
    fn released_rows_are_never_changed() {
        for (version, digest) in RELEASED {
            let first = format!("version {version}");
            let lines = TEXT.lines().skip_while(|line| *line != first).skip(1);
            let lines: Vec<&str> = lines.take_while(|line| !line.starts_with("version ")).collect();
            assert_eq!(crc32fast::hash(lines.join("\n").as_bytes()), digest, "version {version} was changed");
        }
        let versions = TEXT.lines().filter(|line| line.starts_with("version "));
        assert_eq!(versions.count(), RELEASED.len(), "add a new version here");
        assert_eq!(region(Table::current(), "DE", "DE-BE").bytes(), [57, 2]);
    }

    #[test]
    fn the_table_has_all_codes_of_the_standard() {
        let table = Table::current();
        let mut missing = Vec::new();
        for country in rust_iso3166::ALL {
            let subdivisions = country.subdivisions().unwrap_or_default();
            let found = table.find(country.alpha2, None);
            let is_new = |code: &str| table.find(country.alpha2, Some(code)).is_err();
            let new: Vec<&str> =
                subdivisions.iter().filter(|one| is_new(one.code)).map(|one| one.region_code).collect();
            if found.is_err() || !new.is_empty() {
                missing.push(format!("{} {}", country.alpha2, new.join(" ")));
            }
        }
        assert!(missing.is_empty(), "add to a new version at the end of table.txt:\n{}", missing.join("\n"));
        assert_eq!(table.countries().len(), rust_iso3166::ALL.len());
    }

    #[test]
    fn every_region_is_two_bytes_and_comes_back_from_them() {
        let table = Table::current();
        let mut seen = std::collections::HashSet::new();
        for country in table.countries() {
            let all = country.subdivisions();
            let codes = all.iter().map(|subdivision| Some(subdivision.code.as_str())).chain([None]);
            for code in codes {
                let region = table.find(&country.code.to_ascii_lowercase(), code).unwrap();
                assert!(seen.insert(region.bytes()));
                assert_eq!(table.region(region.bytes()), Some(region));
                assert_eq!(table.country(region).code, country.code);
                assert_eq!(table.subdivision(region).map(|found| found.code.as_str()), code);
            }
        }
    }

    #[test]
    fn bytes_mean_the_same_in_a_table_that_has_grown() {
        let (old, new) = (Table::read("DE BE BY\nNL NH\n"), Table::read(GROWN));
        for (country, subdivision) in [("DE", "DE-BE"), ("DE", "DE-BY"), ("NL", "NL-NH")] {
            let stored = region(&old, country, subdivision).bytes();
            let read = new.region(stored).unwrap();
            assert_eq!(new.subdivision(read).unwrap().code, subdivision);
            assert_eq!(region(&new, country, subdivision).bytes(), stored);
        }
        assert_eq!(region(&new, "DE", "DE-HH").bytes(), [1, 3]);
        assert_eq!(region(&new, "NL", "NL-ZH").bytes(), [2, 2]);
        assert_eq!(region(&new, "FR", "FR-IDF").bytes(), [4, 1]);
        // Bytes written by a newer version are decoded as far as possible.
        assert_eq!(old.region([1, 3]), old.region([1, 0]));
        assert_eq!(old.region([4, 1]), None);
        assert_eq!(old.region([0, 0]), None);
    }

    #[test]
    fn a_withdrawn_code_keeps_its_name_and_is_no_longer_accepted() {
        let table = Table::read(GROWN);
        let country = table.country(table.region([3, 0]).unwrap());
        assert_eq!((country.name, country.is_current), ("Netherlands Antilles", false));
        assert_eq!(table.subdivision(table.region([1, 4]).unwrap()).unwrap().name, "Nowhere");
        assert!(table.countries().iter().all(|country| country.code != "AN"));
        let message = |country, subdivision| table.find(country, subdivision).unwrap_err().1.rule;
        assert_eq!(message("AN", None), "ISO 3166-1 no longer has AN (Netherlands Antilles).");
        assert_eq!(message("DE", Some("DE-ZZ")), "ISO 3166-2 no longer has DE-ZZ (Nowhere).");
    }

    #[test]
    fn an_invalid_code_is_reported() {
        let country = |text| message(text, None);
        assert_eq!(country("XX"), (Part::Country, "ISO 3166-1 has no country XX.".to_owned()));
        let form = "A country is given by its two letters in ISO 3166-1, such as DE.";
        for text in ["", "D", "DEU", "D€", "Germany", "d\0", "ß"] {
            assert_eq!(country(text), (Part::Country, form.to_owned()), "{text:?}");
        }
        let subdivision = |text| message("DE", Some(text));
        let form = "A subdivision is given by its code in ISO 3166-2, such as DE-BE.";
        for text in ["", "BE", "DE-", "DE-BERL", "DEBE", "DE_BE", "DE-ß", "-BE", "D-BE", "DE-B-E"] {
            assert_eq!(subdivision(text), (Part::Subdivision, form.to_owned()), "{text:?}");
        }
        assert_eq!(subdivision("DE-XX").1, "ISO 3166-2 has no subdivision DE-XX.");
        assert_eq!(subdivision("us-ca").1, "US-CA is not a subdivision of Germany (DE).");
    }

    #[test]
    fn a_table_with_too_many_rows_is_not_compiled() {
        let rows = |count: usize| vec!["X"; count].join(" ");
        let table = |lines: &[String]| fits(lines.join("\n").as_bytes());
        assert!(table(&[format!("DE {}", rows(255)), "FR".to_owned()]));
        assert!(!table(&[format!("DE {}", rows(256))]));
        assert!(!table(&[format!("DE {}", rows(200)), "gone DE-X Y".to_owned(), format!("DE {}", rows(56))]));
        let countries = |count: u8| {
            let code =
                |number: u8| format!("{}{}", char::from(b'A' + number / 26), char::from(b'A' + number % 26));
            (0..count).map(code).collect::<Vec<String>>()
        };
        assert!(table(&countries(255)));
        assert!(!table(&[countries(255), vec!["ZZ".to_owned()]].concat()));
    }
}
