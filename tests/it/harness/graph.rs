//! A follow graph in plain memory: the model that lists are compared with.

use std::collections::HashMap;

use fanfold::app::App;
use fanfold::app::import::ImportFollow;
use fanfold::app::user::NewAccount;
use fanfold::model::clock::Timestamp;
use fanfold::model::id::UserId;
use fanfold::model::secret::PasswordHash;
use fanfold::model::user::{Bio, Username};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use crate::harness::case::share;
use crate::harness::world::ManualClock;

/// Users and follows, by index.
pub(crate) struct Graph {
    pub(crate) users: usize,
    pub(crate) follows: Vec<(usize, usize)>,
}

impl Graph {
    /// This run's share of a graph as large and as skewed as the vote network of an encyclopedia: most users follow none
    /// or a few, some many hundreds, and only a small part of them has followers.
    ///
    /// With `FANFOLD_TEST_GRAPH` set to the name of an edge list, that graph instead.
    pub(crate) fn of_real_size() -> Self {
        match std::env::var("FANFOLD_TEST_GRAPH") {
            Ok(file) => Self::read(&file),
            Err(_) => Self::generated(share(7_115) as usize, share(103_689) as usize, 1),
        }
    }

    pub(crate) fn generated(users: usize, follows: usize, seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut skewed = |share: f64, skew: f64| {
            let sample = rng.random::<f64>().powf(skew) * share * users as f64;
            (sample as usize).min(users - 1)
        };
        let mut seen = std::collections::HashSet::new();
        let mut edges = Vec::new();
        while edges.len() < follows {
            let edge = (skewed(0.86, 1.8), users - 1 - skewed(0.33, 1.45));
            if edge.0 != edge.1 && seen.insert(edge) {
                edges.push(edge);
                // Some follow back.
                let back = (edge.1, edge.0);
                if edges.len() % 17 == 0 && seen.insert(back) {
                    edges.push(back);
                }
            }
        }
        edges.truncate(follows);
        Self { users, follows: edges }
    }

    fn read(file: &str) -> Self {
        let text = std::fs::read_to_string(file).expect("FANFOLD_TEST_GRAPH names a plain edge list");
        let mut indices = HashMap::new();
        let mut index = |node: &str| {
            let next = indices.len();
            *indices.entry(node.to_owned()).or_insert(next)
        };
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let edges = lines.filter_map(|line| line.split_whitespace().collect::<Vec<_>>().try_into().ok());
        let follows = edges.map(|[from, to]: [&str; 2]| (index(from), index(to))).collect();
        Self { users: indices.len(), follows }
    }

    pub(crate) fn time(index: usize) -> Timestamp {
        Timestamp::from_millis(ManualClock::BEGINNING - 1_000_000 + index as i64)
    }

    /// Imports the graph; returns the ids of the users.
    pub(crate) async fn load(&self, app: &App, password: Option<PasswordHash>) -> Vec<UserId> {
        let newcomer = |index: usize| {
            let username = Username::parse(&format!("u{index}")).unwrap();
            NewAccount {
                display_name: (&username).into(),
                username,
                bio: Bio::default(),
                region: None,
                created_at: Self::time(0),
                password: password.clone(),
                subject: None,
                sign_in: None,
            }
        };
        let ids = app.import_users((0..self.users).map(newcomer).collect()).await.unwrap().ids;
        for (number, chunk) in self.follows.chunks(10_000).enumerate() {
            let follow = |(index, &(from, to)): (usize, &(usize, usize))| ImportFollow {
                follower: ids[from],
                followee: ids[to],
                at: Self::time(number * 10_000 + index),
            };
            app.import_follows(chunk.iter().enumerate().map(follow).collect()).await.unwrap();
        }
        ids
    }

    pub(crate) fn model(&self, ids: &[UserId]) -> Model {
        let mut model = Model::default();
        for (index, &(from, to)) in self.follows.iter().enumerate() {
            model.follow(ids[from], ids[to], Self::time(index));
        }
        model
    }
}

/// The naive model: two maps.
#[derive(Default)]
pub(crate) struct Model {
    following: HashMap<UserId, HashMap<UserId, Timestamp>>,
    followers: HashMap<UserId, HashMap<UserId, Timestamp>>,
}

impl Model {
    pub(crate) fn follow(&mut self, from: UserId, to: UserId, at: Timestamp) {
        self.following.entry(from).or_default().insert(to, at);
        self.followers.entry(to).or_default().insert(from, at);
    }

    pub(crate) fn since(&self, from: UserId, to: UserId) -> Option<Timestamp> {
        self.following.get(&from)?.get(&to).copied()
    }

    /// Returns a list as it should be: users and times, in order.
    pub(crate) fn list(&self, kind: &str, owner: UserId, viewer: UserId) -> Vec<(UserId, Timestamp)> {
        let of = |map: &HashMap<UserId, HashMap<UserId, Timestamp>>| -> Vec<(UserId, Timestamp)> {
            map.get(&owner)
                .map(|list| list.iter().map(|(user, at)| (*user, *at)).collect())
                .unwrap_or_default()
        };
        let mut list = match kind {
            "followers" => of(&self.followers),
            "following" => of(&self.following),
            "mutuals" => of(&self.following)
                .into_iter()
                .filter(|(user, _)| self.since(*user, owner).is_some())
                .collect(),
            "knownFollowers" => of(&self.followers)
                .into_iter()
                .filter(|(user, _)| self.since(viewer, *user).is_some())
                .collect(),
            other => panic!("no list is called {other}"),
        };
        list.sort_by_key(|(user, at)| (std::cmp::Reverse(*at), std::cmp::Reverse(user.to_string())));
        list
    }

    pub(crate) fn status(&self, viewer: UserId, other: UserId) -> &'static str {
        match (self.since(viewer, other), self.since(other, viewer)) {
            (None, None) => "NONE",
            (Some(_), None) => "FOLLOWING",
            (None, Some(_)) => "FOLLOWER",
            (Some(_), Some(_)) => "MUTUAL",
        }
    }
}
