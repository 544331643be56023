//! Generates plausible posts for a demo world.

use rand::rngs::StdRng;

use crate::cli::people::pick;

/// Generates the content of a post.
pub(super) fn saying(rng: &mut StdRng) -> String {
    match pick(rng, &[0, 0, 1, 1, 2, 3]) {
        0 => format!("{} {}.", pick(rng, &MOMENTS), pick(rng, &DISCOVERIES)),
        1 => format!("{} {}?", pick(rng, &QUESTIONS), pick(rng, &THINGS)),
        2 => format!("{}: {}.", pick(rng, &LABELS), pick(rng, &DISCOVERIES)),
        _ => format!("{} {}.\n\n{}.", pick(rng, &MOMENTS), pick(rng, &DISCOVERIES), pick(rng, &ENDINGS)),
    }
}

/// Draws the platform of a post; `None` if it has none.
pub(super) fn platform(rng: &mut StdRng) -> Option<&'static str> {
    pick(rng, &[Some("web"), Some("web"), Some("ios"), Some("android"), Some("android"), None])
}

const MOMENTS: [&str; 20] = [
    "This morning",
    "On the last train home",
    "Before the first coffee",
    "After three weeks of rain",
    "In the queue at the post office",
    "Halfway up the hill",
    "At the market today",
    "While the kettle boiled",
    "During the long meeting",
    "On the way to the dentist",
    "Just now, under the bridge",
    "At a quarter past four",
    "In the quiet carriage",
    "With the lights out",
    "On a borrowed bicycle",
    "Between two phone calls",
    "In the library basement",
    "Somewhere past the second roundabout",
    "At the very end of the film",
    "Walking back from the harbour",
];

const DISCOVERIES: [&str; 28] = [
    "I finally understood how the lock on this suitcase works",
    "a stranger recommended a book, and it was exactly the right one",
    "the sourdough rose over the edge of the bowl",
    "I heard a choir practising in a car park",
    "someone had fixed the wobbly table",
    "I counted eleven herons",
    "the map turned out to be older than the town",
    "my neighbour played the same four bars for an hour, and then got them right",
    "I saw the first swift of the year",
    "the old camera still had a film in it",
    "I found a letter I never sent",
    "the soup was better than it had any right to be",
    "a dog sat down on my foot and would not move",
    "I took the long way, and it was shorter",
    "the chillies on the balcony turned red overnight",
    "it became clear that no one had read the agenda",
    "I learned that moss has a season",
    "the projector gave up, and we talked instead",
    "the ferry was late and no one minded",
    "I beat my grandmother at go, or she let me",
    "a child explained tides to me, correctly",
    "the typeface on that sign ruined my afternoon",
    "I fixed the bug by deleting the feature",
    "the accordion and I reached an agreement",
    "two people asked me for directions, and I knew",
    "I remembered the name of that song",
    "the clouds over the hills looked painted on",
    "the clock tower was eight minutes fast, as always",
];

const QUESTIONS: [&str; 12] = [
    "Does anybody here know something about",
    "Who else has opinions about",
    "Is it too late to start learning about",
    "What is your favourite thing to read about",
    "Why did no one warn me about",
    "Can I interest anyone in",
    "Where do you go for",
    "How did people live without",
    "What would you pay for",
    "Am I the only one who dreams about",
    "Who wants to come along for",
    "Should I be worried about",
];

const THINGS: [&str; 20] = [
    "suspension bridges",
    "night trains to the north",
    "pickled lemons",
    "second-hand bicycles",
    "the history of paper sizes",
    "cold water swimming",
    "moths",
    "a decent map of the marshes",
    "repairing zips",
    "choirs that take beginners",
    "fountain pens",
    "lighthouses",
    "tea that tastes of smoke",
    "old radio plays",
    "growing chillies indoors",
    "the difference between crows and rooks",
    "long walks with no signal",
    "bookbinding",
    "very small museums",
    "bread without a recipe",
];

const LABELS: [&str; 8] = [
    "Small victory",
    "Overheard",
    "Note to self",
    "Field report",
    "Today’s lesson",
    "Breaking news",
    "For the record",
    "Unexpected",
];

const ENDINGS: [&str; 12] = [
    "That is all. That is the post",
    "More on this as it develops",
    "I will not be taking questions",
    "Photographs to follow",
    "Ten out of ten, would do it again",
    "No one believes me",
    "I may never recover",
    "Anyway, how are you",
    "Recommended",
    "Everyone I know has heard it by now",
    "It is the little things",
    "Back to work",
];
