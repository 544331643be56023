//! The floor's commands over Fanfold's own client of Redis, which shows what that client alone is worth.

use std::time::Duration;

use clap::Parser;
use fanfold::config::{DataConfig, RelationStrategy};
use fanfold::model::clock::{Clock as _, SystemClock};
use fanfold::model::id::{PostId, UserId};
use fanfold::model::page::{Direction, Window};
use fanfold::model::relation::Side;
use fanfold::model::rng::Rng;
use fanfold::model::secret::Token;
use fanfold::model::user::{UserFields, Username};
use fanfold::store::Store;
use fanfold::store::batch::Batch;
use fanfold::store::name::{self, Holder};
use fanfold::store::post::{self, Record};
use fanfold::store::post_list;
use fanfold::store::timeline::{self, Sources};
use fanfold::store::{relation, session, user};

use crate::floor::store::{Commands, LIFETIMES, Post, Profile, Recent, status};

#[derive(Parser)]
struct Knobs {
    #[command(flatten)]
    data: DataConfig,
}

/// The store, over Fanfold's client.
pub(super) struct Direct {
    store: Store,
    strategy: RelationStrategy,
    /// Generation of the timeline strategy.
    generation: u64,
    rng: Rng,
    watermark: Recent,
}

impl Direct {
    pub(super) async fn open(url: &str, strategy: RelationStrategy, connections: usize) -> Self {
        let connections = connections.to_string();
        let options = ["floor", "--redis-url", url, "--redis-connections", &connections];
        let store = Store::open(&Knobs::parse_from(options).data.redis).await.unwrap();
        let enter = timeline::enter_strategy(store.keys(), "hybrid");
        let generation = enter.send("floor", &store).await.unwrap();
        Self { store, strategy, generation, rng: Rng::from_system(), watermark: Recent::default() }
    }

    fn first<P>(size: usize) -> Window<P> {
        Window { direction: Direction::Forward, size, from: None }
    }
}

impl Commands for Direct {
    async fn is_live(&self, token: &Token) -> bool {
        let read = session::read(self.store.keys(), token.user(), &token.hash());
        let session = read.send("floor", &self.store).await.unwrap();
        session.is_some_and(|session| SystemClock.now() < session.session.expires_at)
    }

    async fn holder(&self, username: &str) -> Option<UserId> {
        let holder = name::holder(self.store.keys(), &Username::parse(username).ok()?);
        holder.send("floor", &self.store).await.unwrap().map(Holder::user)
    }

    async fn followers(&self, user: UserId) -> Vec<UserId> {
        let page = relation::page(self.store.keys(), user, Side::Followers, &Self::first(50));
        let page = page.send("floor", &self.store).await.unwrap();
        page.entries.iter().map(|follow| follow.user).collect()
    }

    async fn profiles(&self, viewer: UserId, users: &[UserId]) -> Vec<Profile> {
        let mut batch = Batch::new("floor");
        let keys = self.store.keys();
        let records = batch.push(user::read_all(keys, users, UserFields::DISPLAY_NAME));
        let nonce = self.rng.nonce();
        let relations = batch.push(relation::relations(keys, viewer, users, self.strategy, nonce));
        let mut replies = batch.send(&self.store).await.unwrap();
        let records = replies.take(records).unwrap();
        let profile =
            |((_, record), relation): ((_, Result<Option<_>, _>), fanfold::model::relation::Relation)| {
                let record: fanfold::model::user::User = record.unwrap().unwrap();
                let status = status(relation.following_since.is_some(), relation.follower_since.is_some());
                Profile { username: record.username, display_name: record.display_name.unwrap(), status }
            };
        records.into_iter().zip(replies.take(relations).unwrap()).map(profile).collect()
    }

    async fn watermark(&self) {
        if self.watermark.is_due() {
            timeline::watermark(self.store.keys(), None, 0).send("floor", &self.store).await.unwrap();
        }
    }

    async fn timeline(&self, owner: UserId) -> Vec<PostId> {
        let (nonce, lifetime) = (self.rng.nonce(), Duration::from_secs(LIFETIMES[0]).as_secs());
        let keys = self.store.keys();
        let (sources, first) = (Sources::Named(&[]), Self::first(21));
        let open = timeline::open(keys, owner, nonce, lifetime, self.generation, sources, &first);
        open.send("floor", &self.store).await.unwrap().view.posts
    }

    async fn posts(&self, posts: &[PostId]) -> Vec<Option<Post>> {
        let read = post::read_all(self.store.keys(), posts.to_vec());
        let records = read.send("floor", &self.store).await.unwrap();
        let post = |(_, record)| match record {
            Ok(Record::Live(post)) => Some(Post { author: post.author, content: post.content }),
            _ => None,
        };
        records.into_iter().map(post).collect()
    }

    async fn posts_of(&self, authors: &[UserId]) -> Vec<Vec<PostId>> {
        let mut batch = Batch::new("floor");
        let page = |author: &UserId| batch.push(post_list::page(self.store.keys(), *author, &Self::first(3)));
        let pages = authors.iter().map(page).collect();
        let pages = batch.send(&self.store).await.unwrap().take_all(pages).unwrap();
        pages.into_iter().map(|page| page.page.entries.to_vec()).collect()
    }
}
