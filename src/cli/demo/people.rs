//! Generates plausible people for a demo world: names from many languages, and bios.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;

use crate::model::region::{Region, Table};

/// A person of a demo world.
pub(super) struct Person {
    /// The username in ASCII letters, without the number that may be appended to make it unique.
    pub(super) username: String,
    pub(super) display_name: String,
    pub(super) bio: String,
    /// The region; `None` if the person states none.
    pub(super) region: Option<Region>,
}

/// Returns Ada. She is in every demo world, and visitors can sign in as her.
pub(super) fn ada() -> Person {
    Person {
        username: "ada".to_owned(),
        display_name: "Ada Okafor".to_owned(),
        bio: "Reads the release notes first. Lagos, then Lisbon.".to_owned(),
        region: Some(region("PT-11", true)),
    }
}

/// Draws a person.
pub(super) fn random(rng: &mut StdRng) -> Person {
    let (plain_first, first) = pick(rng, &FIRST_NAMES);
    let (plain_last, last) = pick(rng, &LAST_NAMES);
    let (bio, region) = bio_and_region(rng);
    Person {
        username: format!("{plain_first}_{plain_last}"),
        display_name: format!("{first} {last}"),
        bio,
        region,
    }
}

/// Draws a bio and a region. People who name a town in their bio have its subdivision as their region; other people
/// have only a country, or no region.
fn bio_and_region(rng: &mut StdRng) -> (String, Option<Region>) {
    let (work, (place, code), love) = (pick(rng, &WORK), pick(rng, &PLACES), pick(rng, &LOVES));
    match pick(rng, &[0, 1, 2, 3, 4]) {
        0 => (format!("{work} in {place}. {love}."), Some(region(code, true))),
        1 => (format!("{work}. {love}."), Some(region(code, false))),
        2 => (format!("{place} · {love}"), Some(region(code, true))),
        3 => (format!("{work}, {place}"), Some(region(code, true))),
        _ => (String::new(), None),
    }
}

/// Returns the region with this code if `is_exact`; otherwise its country.
fn region(code: &str, is_exact: bool) -> Region {
    let region = Table::current().find(&code[..2], is_exact.then_some(code));
    region.expect("the places of the demo world are in the standard")
}

/// Draws an element uniformly at random.
pub(super) fn pick<T: Copy>(rng: &mut StdRng, among: &[T]) -> T {
    *among.choose(rng).expect("there is something to pick from")
}

/// A name in ASCII letters, and in its original spelling.
type Name = (&'static str, &'static str);

const FIRST_NAMES: [Name; 64] = [
    ("aaliyah", "Aaliyah"),
    ("aino", "Aino"),
    ("alejandro", "Alejandro"),
    ("amara", "Amara"),
    ("anahera", "Anahera"),
    ("anders", "Anders"),
    ("andre", "André"),
    ("ayse", "Ayşe"),
    ("bao", "Bảo"),
    ("beatriz", "Beatriz"),
    ("bjorn", "Bjørn"),
    ("chen", "Chen"),
    ("chiara", "Chiara"),
    ("chidi", "Chidi"),
    ("clara", "Clara"),
    ("daniel", "Daniel"),
    ("dilnoza", "Dilnoza"),
    ("eilidh", "Eilidh"),
    ("elif", "Elif"),
    ("emeka", "Emeka"),
    ("farid", "Farid"),
    ("fatima", "Fatima"),
    ("felix", "Felix"),
    ("freya", "Freya"),
    ("gabriela", "Gabriela"),
    ("giorgos", "Γιώργος"),
    ("hana", "Hana"),
    ("haruki", "Haruki"),
    ("ines", "Inês"),
    ("ivan", "Иван"),
    ("jamal", "Jamal"),
    ("jose", "José"),
    ("julia", "Júlia"),
    ("kavya", "Kavya"),
    ("keanu", "Keanu"),
    ("kofi", "Kofi"),
    ("lars", "Lars"),
    ("layla", "ليلى"),
    ("leila", "Leila"),
    ("linh", "Linh"),
    ("lukasz", "Łukasz"),
    ("mahmoud", "محمود"),
    ("maria", "María"),
    ("mateo", "Mateo"),
    ("mei", "美"),
    ("minh", "Minh"),
    ("nadia", "Nadia"),
    ("ngozi", "Ngozi"),
    ("niamh", "Niamh"),
    ("noam", "נועם"),
    ("olga", "Ольга"),
    ("omar", "Omar"),
    ("priya", "Priya"),
    ("rafael", "Rafael"),
    ("rin", "凛"),
    ("sana", "Sana"),
    ("soren", "Søren"),
    ("tadeo", "Tadeo"),
    ("thandiwe", "Thandiwe"),
    ("tomas", "Tomáš"),
    ("wanjiru", "Wanjirũ"),
    ("yara", "Yara"),
    ("yusuf", "Yusuf"),
    ("zoe", "Zoë"),
];

const LAST_NAMES: [Name; 64] = [
    ("abe", "Abe"),
    ("acheampong", "Acheampong"),
    ("adeyemi", "Adéyẹmí"),
    ("almeida", "Almeida"),
    ("andersson", "Andersson"),
    ("aydin", "Aydın"),
    ("baker", "Baker"),
    ("banerjee", "Banerjee"),
    ("bianchi", "Bianchi"),
    ("castillo", "Castillo"),
    ("chaudhry", "Chaudhry"),
    ("chavez", "Chávez"),
    ("cohen", "Cohen"),
    ("costa", "Costa"),
    ("dlamini", "Dlamini"),
    ("dubois", "Dubois"),
    ("eriksen", "Eriksen"),
    ("fernandez", "Fernández"),
    ("fischer", "Fischer"),
    ("garcia", "García"),
    ("gonzalez", "González"),
    ("haddad", "Haddad"),
    ("hansen", "Hansen"),
    ("horvat", "Horvat"),
    ("ibrahim", "Ibrahim"),
    ("ivanova", "Ivanova"),
    ("jansen", "Jansen"),
    ("kamau", "Kamau"),
    ("kim", "Kim"),
    ("kovac", "Kovač"),
    ("kowalski", "Kowalski"),
    ("larsen", "Larsen"),
    ("lee", "Lee"),
    ("lindqvist", "Lindqvist"),
    ("lopez", "López"),
    ("mbeki", "Mbeki"),
    ("mendes", "Mendes"),
    ("mensah", "Mensah"),
    ("moreau", "Moreau"),
    ("murphy", "Murphy"),
    ("nakamura", "Nakamura"),
    ("ncube", "Ncube"),
    ("nguyen", "Nguyễn"),
    ("novak", "Novák"),
    ("nwosu", "Nwosu"),
    ("obrien", "O’Brien"),
    ("olsen", "Olsen"),
    ("ortega", "Ortega"),
    ("papadopoulos", "Papadopoulos"),
    ("patel", "Patel"),
    ("pereira", "Pereira"),
    ("petrov", "Petrov"),
    ("rahman", "Rahman"),
    ("rossi", "Rossi"),
    ("santos", "Santos"),
    ("sato", "Sato"),
    ("schmidt", "Schmidt"),
    ("silva", "Silva"),
    ("singh", "Singh"),
    ("tanaka", "Tanaka"),
    ("virtanen", "Virtanen"),
    ("walsh", "Walsh"),
    ("yilmaz", "Yılmaz"),
    ("zhang", "Zhang"),
];

const WORK: [&str; 24] = [
    "Baker",
    "Bicycle mechanic",
    "Biologist",
    "Bookseller",
    "Carpenter",
    "Cartographer",
    "Ceramicist",
    "Civil engineer",
    "Cook",
    "Data journalist",
    "Film editor",
    "Gardener",
    "Historian",
    "Illustrator",
    "Librarian",
    "Midwife",
    "Night nurse",
    "Physicist",
    "Radio producer",
    "Software engineer",
    "Teacher",
    "Train driver",
    "Translator",
    "Watchmaker",
];

/// A town, and the code of its region.
type Place = (&'static str, &'static str);

const PLACES: [Place; 24] = [
    ("Accra", "GH-AA"),
    ("Bergen", "NO-46"),
    ("Bogotá", "CO-DC"),
    ("Buenos Aires", "AR-C"),
    ("Cape Town", "ZA-WC"),
    ("Chennai", "IN-TN"),
    ("Dublin", "IE-D"),
    ("Hanoi", "VN-HN"),
    ("Istanbul", "TR-34"),
    ("Kraków", "PL-12"),
    ("Kyoto", "JP-26"),
    ("Lisbon", "PT-11"),
    ("Marseille", "FR-PAC"),
    ("Montréal", "CA-QC"),
    ("Nairobi", "KE-30"),
    ("Oaxaca", "MX-OAX"),
    ("Osaka", "JP-27"),
    ("Porto", "PT-13"),
    ("São Paulo", "BR-SP"),
    ("Tallinn", "EE-37"),
    ("Tbilisi", "GE-TB"),
    ("Thessaloniki", "GR-B"),
    ("Turin", "IT-21"),
    ("Wellington", "NZ-WGN"),
];

const LOVES: [&str; 24] = [
    "Always one chapter behind",
    "Asks too many questions",
    "Birds, mostly",
    "Bread at the weekend",
    "Collects old maps",
    "Cold water swimmer",
    "Fond of long trains",
    "Grows chillies on a balcony",
    "Here for the photographs",
    "Learning the accordion, sorry",
    "Likes moss",
    "Mends things",
    "Mountains over beaches",
    "Plays go, badly",
    "Reads in three languages",
    "Runs slowly and far",
    "Sings alto",
    "Small fonts, big opinions",
    "Tea before words",
    "Two cats, no regrets",
    "Walks everywhere",
    "Will talk about bridges",
    "Writes letters",
    "Yes, that is my real name",
];
