//! Generates plausible posts for a demo world.

use rand::rngs::StdRng;

use crate::cli::demo::people::pick;

/// What a post is about, as far as a reply to it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Topic {
    /// Something that happened to the author.
    Event,
    /// A question about a thing.
    Question(&'static str),
    /// A reply to one of these.
    Reply,
    /// An answer to a reply.
    Answer,
    /// The end of a conversation.
    End,
}

impl Topic {
    /// Returns true for a post that does not reply to another.
    pub(super) fn is_of_statement(self) -> bool {
        matches!(self, Self::Event | Self::Question(_))
    }
}

/// Generates the content of a post that responds to nothing, and returns its topic.
pub(super) fn saying(rng: &mut StdRng) -> (String, Topic) {
    match pick(rng, &[0, 0, 1, 1, 2, 3]) {
        0 => (format!("{} {}.", pick(rng, &MOMENTS), pick(rng, &DISCOVERIES)), Topic::Event),
        1 => {
            let (thing, tag) = pick(rng, &THINGS);
            let question = format!("{} {thing}?", pick(rng, &QUESTIONS));
            let has_tag = pick(rng, &[true, false, false]);
            let content = if has_tag { format!("{question} #{tag}") } else { question };
            (content, Topic::Question(thing))
        }
        2 => (format!("{}: {}.", pick(rng, &LABELS), pick(rng, &DISCOVERIES)), Topic::Event),
        _ => {
            let moment = format!("{} {}.", pick(rng, &MOMENTS), pick(rng, &DISCOVERIES));
            (format!("{moment}\n\n{}.", pick(rng, &ENDINGS)), Topic::Event)
        }
    }
}

/// Generates a reply to a post with this topic, and returns its own topic; `None` if that is the end of a conversation.
/// A reply to a statement mentions a user if one is given.
pub(super) fn reply(rng: &mut StdRng, topic: Topic, mentioned: Option<&str>) -> Option<(String, Topic)> {
    Some(match (topic, mentioned) {
        (Topic::Event, None) => (pick(rng, &REACTIONS).to_owned(), Topic::Reply),
        (Topic::Event, Some(name)) => (fill(pick(rng, &CALLS), name), Topic::Reply),
        (Topic::Question(thing), None) => (fill(pick(rng, &KNOWLEDGE), thing), Topic::Reply),
        (Topic::Question(_), Some(name)) => (fill(pick(rng, &EXPERTS), name), Topic::Reply),
        (Topic::Reply, _) => (pick(rng, &ANSWERS).to_owned(), Topic::Answer),
        (Topic::Answer, _) => (pick(rng, &FAREWELLS).to_owned(), Topic::End),
        (Topic::End, _) => return None,
    })
}

/// Generates the content of a post that quotes another, and returns its topic.
pub(super) fn quote(rng: &mut StdRng) -> (String, Topic) {
    (pick(rng, &REMARKS).to_owned(), Topic::Event)
}

/// Fills the gap of a sentence.
fn fill(sentence: &str, word: &str) -> String {
    sentence.replace("{}", word)
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

/// Things to ask about, each with its hashtag.
const THINGS: [(&str, &str); 20] = [
    ("suspension bridges", "bridges"),
    ("night trains to the north", "nighttrains"),
    ("pickled lemons", "pickles"),
    ("second-hand bicycles", "bicycles"),
    ("the history of paper sizes", "paper"),
    ("cold water swimming", "coldwater"),
    ("moths", "moths"),
    ("a decent map of the marshes", "maps"),
    ("repairing zips", "mending"),
    ("choirs that take beginners", "choirs"),
    ("fountain pens", "fountainpens"),
    ("lighthouses", "lighthouses"),
    ("tea that tastes of smoke", "tea"),
    ("old radio plays", "radio"),
    ("growing chillies indoors", "chillies"),
    ("the difference between crows and rooks", "birds"),
    ("long walks with no signal", "walking"),
    ("bookbinding", "bookbinding"),
    ("very small museums", "museums"),
    ("bread without a recipe", "bread"),
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

/// Replies to a question about a thing.
const KNOWLEDGE: [&str; 10] = [
    "I know a little about {}. What would you like to hear?",
    "There is one good book about {}. It is in the library, on the lowest shelf.",
    "Start with {}, and you never stop. I speak from experience.",
    "My uncle talks of nothing but {}. I can put you in touch.",
    "I used to be afraid of {}. Now I have a newsletter.",
    "Everything I know about {}, I learned by doing it wrong.",
    "I have thoughts about {}, and a free afternoon.",
    "Ten years ago I asked the same about {}. No one replied.",
    "You are the third person this week to bring up {}.",
    "Not in the summer, in my view. But then {}, in the autumn!",
];

/// Replies to a question, with a user who may know more.
const EXPERTS: [&str; 4] = [
    "Ask @{}, who knows all about it.",
    "@{} will have a list for you.",
    "I leave this one to @{}.",
    "Was it not @{} who gave a talk about that?",
];

/// Replies to an event.
const REACTIONS: [&str; 16] = [
    "I needed to read this today.",
    "Photographs, please.",
    "This happened to me once, and I still talk about it.",
    "How did it end?",
    "You should write these down somewhere.",
    "Please tell this one again at dinner.",
    "Now I want to go outside.",
    "My mother says the same, and she is never wrong.",
    "The best news of the week.",
    "I do not believe a word of it, and I like it.",
    "Were you alone?",
    "Every time. Every single time.",
    "And you did not call me?",
    "I was there an hour earlier, and saw nothing of the kind.",
    "That explains the noise.",
    "Is that good or bad?",
];

/// Replies to an event, for a user to see.
const CALLS: [&str; 4] = [
    "@{} will want to hear this.",
    "This is what I meant, @{}.",
    "@{}, did we not talk about this yesterday?",
    "Somewhere, @{} is nodding.",
];

/// Answers to a reply.
const ANSWERS: [&str; 12] = [
    "Come by, and I will show you.",
    "I will, as soon as the rain stops.",
    "Thank you, that helps.",
    "Next week, at the same time?",
    "You are too kind.",
    "I have a second one, if you want it.",
    "Only on Thursdays.",
    "That is a longer story.",
    "I asked. They do not know either.",
    "Yes and no. Mostly yes.",
    "I thought that I was the only one.",
    "It ended well, in the end.",
];

/// The ends of conversations.
const FAREWELLS: [&str; 8] = [
    "Deal.",
    "I will bring cake.",
    "Thursday it is.",
    "Ha.",
    "I will hold you to that.",
    "Then I know enough. Thank you.",
    "Say hello from me.",
    "To be continued.",
];

/// What people add to a post that they quote.
const REMARKS: [&str; 8] = [
    "This.",
    "Read this twice.",
    "Still thinking about this one.",
    "In case you missed it.",
    "What I have been saying for years.",
    "More of this, please.",
    "I have questions.",
    "The only thing I will remember of this week.",
];
