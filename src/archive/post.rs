//! Storage of archived posts, which are written once, erased on deletion, and read by id.
//!
//! A deleted post leaves a permanent tombstone, which keeps a late writer from adding the post again.
//!
//! Not here: posts by author (`archive::range`), combined reads of Redis and the archive (`app::archive`).

use std::collections::{HashMap, HashSet};

use sqlx::{Connection as _, Database, Encode, QueryBuilder, Type};

use crate::archive::dialect::Dialect;
use crate::archive::error::Error;
use crate::archive::pool::on;
use crate::archive::{ANSWER, Archive, WRITE, number};
use crate::budget::{self, Resource};
use crate::model::clock::Timestamp;
use crate::model::details::{Details, Referral, ReferrerKind};
use crate::model::id::{PostId, UserId};
use crate::model::post::{Delivery, Post, Visibility};

/// Maximum number of posts written or read by one statement. A statement has at most 32,766 parameters.
const MOST_ROWS: usize = 1_000;

pub(super) const COLUMNS: &str =
    "id, author, created_at, content, platform, delivery, followers, visibility, details";

/// A post's archived state.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "nearly all rows are live posts")]
pub enum Row {
    /// A live post with its content.
    Live(Post),
    /// The tombstone of a deleted post.
    Tombstone {
        /// The deleted post's id.
        id: PostId,
        /// The deleted post's author.
        author: UserId,
    },
}

impl Row {
    /// Returns the post's id.
    #[must_use]
    pub fn id(&self) -> PostId {
        match self {
            Self::Live(post) => post.id,
            Self::Tombstone { id, .. } => *id,
        }
    }

    /// Returns the post's author.
    #[must_use]
    pub fn author(&self) -> UserId {
        match self {
            Self::Live(post) => post.author,
            Self::Tombstone { author, .. } => *author,
        }
    }

    /// Returns the post, unless it was deleted.
    #[must_use]
    pub fn live(self) -> Option<Post> {
        match self {
            Self::Live(post) => Some(post),
            Self::Tombstone { .. } => None,
        }
    }

    /// Returns the row's estimated size in memory, in bytes.
    pub(super) fn size(&self) -> u64 {
        let content = if let Self::Live(post) = self { post.content.len() } else { 0 };
        (size_of::<Self>() + content) as u64
    }
}

/// A row as the databases return it.
pub(super) type Columns = (
    i64,
    i64,
    Option<i64>,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<i64>,
    Option<String>,
    Option<String>,
);

/// The greatest ids in an archive, of live posts and tombstones; 0 if it is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GreatestIds {
    /// The greatest id of a post.
    pub post: u64,
    /// The greatest id of an author.
    pub author: u64,
}

/// The numbers of an author's live posts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of posts.
    pub count: u64,
    /// Number of those that only followers can see.
    pub limited: u64,
    /// Greatest id; 0 without posts.
    pub greatest: u64,
}

impl Archive {
    /// Writes posts and tombstones atomically. A post replaces an earlier version of itself, and `referrals` its lists of
    /// referrers; of the same version, a write may complete the delivery. A later version stays unchanged. A tombstone
    /// stays a tombstone. Writing a tombstone for an existing post turns the post into a tombstone.
    pub async fn write(
        &self,
        posts: &[Post],
        tombstones: &[(PostId, UserId)],
        referrals: &[Referral],
    ) -> Result<(), Error> {
        // Posts that never changed have no lists.
        let changed: Vec<&Post> = posts.iter().filter(|post| post.details.version > 0).collect();
        let posts: Vec<&Post> = posts.iter().collect();
        self.ask("archive: write", WRITE, async |lease| {
            on!(lease, |connection, Sql| {
                let insert = |posts: &[&Post], beginning: &str, version: fn(&Post) -> i64, end: &str| {
                    let mut insert = QueryBuilder::<Sql>::new(beginning);
                    insert.push("posts (").push(COLUMNS).push(", version, deleted) ");
                    insert.push_values(posts, |mut row, post| {
                        let (delivery, followers) = delivery_columns(post.delivery);
                        row.push_bind(number(post.id.get())).push_bind(number(post.author.get()));
                        row.push_bind(post.created_at.as_millis()).push_bind(post.content.as_str());
                        row.push_bind(post.platform.as_deref()).push_bind(delivery).push_bind(followers);
                        row.push_bind(post.visibility.word()).push_bind(details_column(&post.details));
                        row.push_bind(version(post)).push("0");
                    });
                    insert.push(end);
                    insert
                };
                let mut transaction = connection.begin().await?;
                // Locks the rows of the changed posts, and finds those that this call replaces. A missing row is first
                // inserted as an earlier version, so that of two movers only one finds it to be earlier.
                let mut replaced = HashSet::new();
                for posts in changed.chunks(MOST_ROWS) {
                    let mut earlier = insert(posts, Sql::INSERT_NEW, |_| -1, Sql::KEEP_EXISTING);
                    earlier.build().persistent(false).execute(&mut *transaction).await?;
                    let mut lock = QueryBuilder::<Sql>::new("SELECT id, author, version FROM posts");
                    push_in(&mut lock, " WHERE deleted = 0 AND id", posts.iter().map(|post| post.id.get()));
                    lock.push(Sql::FOR_UPDATE);
                    let locked: Vec<(i64, i64, i64)> =
                        lock.build_query_as().fetch_all(&mut *transaction).await?;
                    let locked: HashMap<i64, (i64, i64)> =
                        locked.into_iter().map(|(id, author, version)| (id, (author, version))).collect();
                    replaced
                        .extend(posts.iter().filter(|post| is_replaced(post, &locked)).map(|post| post.id));
                }
                for posts in posts.chunks(MOST_ROWS) {
                    let version = |post: &Post| number(post.details.version);
                    let mut insert = insert(posts, "INSERT INTO ", version, Sql::REPLACE_EARLIER_POST);
                    insert.build().persistent(false).execute(&mut *transaction).await?;
                }
                for tombstones in tombstones.chunks(MOST_ROWS) {
                    let mut insert = QueryBuilder::<Sql>::new("INSERT INTO posts (id, author, deleted) ");
                    insert.push_values(tombstones, |mut row, (id, author)| {
                        row.push_bind(number(id.get())).push_bind(number(author.get())).push("1");
                    });
                    insert.push(Sql::ERASE_POST);
                    insert.build().persistent(false).execute(&mut *transaction).await?;
                    let mut deleted = QueryBuilder::<Sql>::new("SELECT id FROM posts");
                    push_in(
                        &mut deleted,
                        " WHERE deleted = 1 AND id",
                        tombstones.iter().map(|(id, _)| id.get()),
                    );
                    let deleted: Vec<(i64,)> = deleted.build_query_as().fetch_all(&mut *transaction).await?;
                    replaced.extend(deleted.into_iter().filter_map(|(id,)| PostId::new(id.unsigned_abs())));
                }
                let lists: Vec<PostId> = replaced.iter().copied().collect();
                for targets in lists.chunks(MOST_ROWS) {
                    let mut delete = QueryBuilder::<Sql>::new("DELETE FROM referrers");
                    push_in(&mut delete, " WHERE target", targets.iter().map(|target| target.get()));
                    delete.build().execute(&mut *transaction).await?;
                }
                let entries: Vec<&Referral> =
                    referrals.iter().filter(|referral| replaced.contains(&referral.target)).collect();
                for entries in entries.chunks(MOST_ROWS) {
                    let mut insert =
                        QueryBuilder::<Sql>::new("INSERT INTO referrers (kind, target, referrer) ");
                    insert.push_values(entries, |mut row, referral| {
                        row.push(kind_number(referral.kind)).push_bind(number(referral.target.get()));
                        row.push_bind(number(referral.referrer.get()));
                    });
                    insert.build().persistent(false).execute(&mut *transaction).await?;
                }
                Ok(transaction.commit().await?)
            })
        })
        .await
    }

    /// Checks that the archive accepts writes by inserting a dummy row and rolling back.
    pub async fn try_to_write(&self) -> Result<(), Error> {
        self.ask("archive: try", WRITE, async |lease| {
            on!(lease, |connection, _Sql| {
                let mut transaction = connection.begin().await?;
                let insert = sqlx::query("INSERT INTO posts (id, author, deleted) VALUES (0, 0, 1)");
                insert.execute(&mut *transaction).await?;
                Ok(transaction.rollback().await?)
            })
        })
        .await
    }

    /// Reads the archived state of these posts, in no particular order. Spends no statements: commands have looked for
    /// these posts in Redis before, which limits their number, and the cost of a request must not tell whether a post
    /// that the viewer may not see is in Redis or does not exist.
    pub async fn read(&self, ids: &[PostId]) -> Result<Vec<Row>, Error> {
        let rows = self.ask("archive: read", ANSWER, async |lease| {
            on!(lease, |connection, Sql| {
                let mut rows: Vec<Columns> = Vec::with_capacity(ids.len());
                for ids in ids.chunks(MOST_ROWS) {
                    let mut read = QueryBuilder::<Sql>::new("SELECT ");
                    read.push(COLUMNS).push(" FROM posts");
                    push_in(&mut read, " WHERE id", ids.iter().map(|id| id.get()));
                    rows.extend(read.build_query_as::<Columns>().fetch_all(&mut *connection).await?);
                }
                rows.into_iter().map(row).collect::<Result<Vec<Row>, Error>>()
            })
        });
        let rows = rows.await?;
        budget::spend(Resource::ReplyBytes, rows.iter().map(Row::size).sum())?;
        Ok(rows)
    }

    /// Reads the posts with details among the first `most` rows above `after`, in ascending order of id. Also returns the
    /// id of the last of these rows; `None` if there are no further rows.
    pub async fn detailed_after(&self, after: u64, most: usize) -> Result<(Vec<Post>, Option<u64>), Error> {
        let (rows, last) = self
            .ask("archive: detailed", ANSWER, async |lease| {
                on!(lease, |connection, Sql| {
                    let mut read = QueryBuilder::<Sql>::new("SELECT MAX(id) FROM (SELECT id FROM posts");
                    read.push(" WHERE id > ").push_bind(number(after)).push(" ORDER BY id LIMIT ");
                    read.push_bind(number(most as u64)).push(") AS part");
                    let (last,): (Option<i64>,) = read.build_query_as().fetch_one(&mut *connection).await?;
                    let mut read = QueryBuilder::<Sql>::new("SELECT ");
                    read.push(COLUMNS).push(" FROM posts WHERE id > ").push_bind(number(after));
                    read.push(" AND id <= ").push_bind(last.unwrap_or(0));
                    read.push(" AND deleted = 0 AND details IS NOT NULL ORDER BY id");
                    let rows: Vec<Columns> = read.build_query_as().fetch_all(&mut *connection).await?;
                    Ok((rows, last))
                })
            })
            .await?;
        let posts: Result<Vec<Row>, Error> = rows.into_iter().map(row).collect();
        Ok((posts?.into_iter().filter_map(Row::live).collect(), last.map(i64::unsigned_abs)))
    }

    /// Counts the live posts.
    pub async fn post_count(&self) -> Result<u64, Error> {
        let count: i64 = self
            .ask("archive: count", WRITE, async |lease| {
                on!(lease, |connection, _Sql| {
                    let count = sqlx::query_scalar("SELECT COUNT(*) FROM posts WHERE deleted = 0");
                    Ok(count.fetch_one(&mut *connection).await?)
                })
            })
            .await?;
        Ok(count.unsigned_abs())
    }

    /// Counts each author's live posts. Omits authors without live posts.
    pub async fn post_counts(&self, authors: &[UserId]) -> Result<Vec<(UserId, Counts)>, Error> {
        let counts = self.ask("archive: counts", WRITE, async |lease| {
            on!(lease, |connection, Sql| {
                let mut counts: Vec<(i64, i64, i64, i64)> = Vec::new();
                for authors in authors.chunks(MOST_ROWS) {
                    let mut read = QueryBuilder::<Sql>::new(
                        "SELECT author, COUNT(*), COUNT(visibility), MAX(id) FROM posts WHERE deleted = 0",
                    );
                    push_in(&mut read, " AND author", authors.iter().map(|author| author.get()));
                    read.push(" GROUP BY author");
                    let read = read.build_query_as::<(i64, i64, i64, i64)>();
                    counts.extend(read.fetch_all(&mut *connection).await?);
                }
                Ok(counts)
            })
        });
        let count = |(author, count, limited, greatest): (i64, i64, i64, i64)| {
            let [count, limited, greatest] = [count, limited, greatest].map(i64::unsigned_abs);
            Ok((user_id(author)?, Counts { count, limited, greatest }))
        };
        counts.await?.into_iter().map(count).collect()
    }

    /// Returns the greatest ids in the archive.
    pub async fn greatest_ids(&self) -> Result<GreatestIds, Error> {
        // Two subqueries, since SQLite reads the end of an index only for a query with a single maximum.
        let read = "SELECT (SELECT MAX(id) FROM posts), (SELECT MAX(author) FROM posts)";
        let greatest: (Option<i64>, Option<i64>) = self
            .ask("archive: greatest", ANSWER, async |lease| {
                on!(lease, |connection, _Sql| Ok(sqlx::query_as(read).fetch_one(&mut *connection).await?))
            })
            .await?;
        let [post, author] = [greatest.0, greatest.1].map(|id| id.unwrap_or(0).unsigned_abs());
        Ok(GreatestIds { post, author })
    }
}

/// Appends an `IN (…)` condition for `values`. Rounds the number of parameters up to a power of two,
/// so that databases cache few distinct statements.
pub(super) fn push_in<Sql: Database>(
    read: &mut QueryBuilder<Sql>,
    column: &str,
    values: impl ExactSizeIterator<Item = u64> + Clone,
) where
    for<'a> i64: Encode<'a, Sql> + Type<Sql>,
{
    let places = values.len().next_power_of_two();
    read.push(column).push(" IN (");
    let mut list = read.separated(", ");
    for value in values.cycle().take(places) {
        list.push_bind(number(value));
    }
    list.push_unseparated(")");
}

/// Returns the number of a kind in the database.
pub(super) fn kind_number(kind: ReferrerKind) -> i16 {
    match kind {
        ReferrerKind::Reply => 1,
        ReferrerKind::Quote => 2,
        ReferrerKind::Repost => 3,
    }
}

pub(super) fn post_id(id: i64) -> Result<PostId, Error> {
    PostId::new(id.unsigned_abs()).ok_or_else(|| Error::Corrupt(format!("{id} is not a post id").into()))
}

fn user_id(id: i64) -> Result<UserId, Error> {
    UserId::new(id.unsigned_abs()).ok_or_else(|| Error::Corrupt(format!("{id} is not a user id").into()))
}

fn delivery_columns(delivery: Delivery) -> (&'static str, Option<i64>) {
    match delivery {
        Delivery::Pulled => ("pulled", None),
        Delivery::Pushed { followers } => ("pushed", Some(number(followers))),
        Delivery::Delivered { followers } => ("delivered", Some(number(followers))),
    }
}

fn delivery(word: &str, followers: Option<i64>) -> Option<Delivery> {
    let followers = followers.map_or(0, i64::unsigned_abs);
    match word {
        "pulled" => Some(Delivery::Pulled),
        "pushed" => Some(Delivery::Pushed { followers }),
        "delivered" => Some(Delivery::Delivered { followers }),
        _ => None,
    }
}

/// Returns true if a post replaces the version of it that is in the archive. `locked` has the author and version of rows.
fn is_replaced(post: &Post, locked: &HashMap<i64, (i64, i64)>) -> bool {
    locked.get(&number(post.id.get())).is_some_and(|&(author, version)| {
        author == number(post.author.get()) && version < number(post.details.version)
    })
}

/// Formats details; `None` for those of a plain post.
pub(super) fn details_column(details: &Details) -> Option<String> {
    (*details != Details::default()).then(|| details.to_string())
}

pub(super) fn row(
    (id, author, created_at, content, platform, word, followers, visibility, details): Columns,
) -> Result<Row, Error> {
    let (id, author) = (post_id(id)?, user_id(author)?);
    let Some(content) = content else {
        return Ok(Row::Tombstone { id, author });
    };
    let corrupt = |field| Error::Corrupt(format!("post {id} has no {field}").into());
    let created_at = Timestamp::from_millis(created_at.ok_or_else(|| corrupt("created_at"))?);
    let delivery = word.and_then(|word| delivery(&word, followers)).ok_or_else(|| corrupt("delivery"))?;
    let visibility = Visibility::of_word(visibility.as_deref()).ok_or_else(|| corrupt("known visibility"))?;
    let details = match details {
        Some(text) => text.parse().map_err(|_| corrupt("readable details"))?,
        None => Details::default(),
    };
    Ok(Row::Live(Post { id, author, content, platform, visibility, created_at, delivery, details }))
}
