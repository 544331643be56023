//! Reads archived posts by id, and counts them.
//!
//! A deleted post leaves a permanent tombstone, which keeps a late writer from adding the post again.
//!
//! Not here: writing posts (`archive::write`), posts by author (`archive::range`), combined reads of Redis and the
//! archive (`app::archive`).

use sqlx::{Connection as _, Database, Encode, QueryBuilder, Type};

use crate::archive::error::Error;
use crate::archive::pool::on;
use crate::archive::{Archive, READ_TIMEOUT, WRITE_TIMEOUT, number};
use crate::budget::{self, Resource};
use crate::model::clock::Timestamp;
use crate::model::details::Details;
use crate::model::id::{PostId, UserId};
use crate::model::post::{Delivery, Post, Visibility};

/// Maximum number of rows written or read by one statement. A statement has at most 32,766 parameters.
pub(super) const MOST_ROWS: usize = 1_000;

pub(super) const COLUMNS: &str =
    "id, author, created_at, content, platform, delivery, followers, visibility, details";

/// A post's archived state.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "most rows are live posts")]
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
    /// Checks that the archive accepts writes by inserting a dummy row and rolling back.
    pub async fn try_to_write(&self) -> Result<(), Error> {
        self.ask("archive: try", WRITE_TIMEOUT, async |lease| {
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
        let rows = self.ask("archive: read", READ_TIMEOUT, async |lease| {
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

    /// Reads the ids of the posts with details among the first `most` rows above `after`, in ascending order. Also
    /// returns the id of the last of these rows; `None` if there are no further rows.
    pub async fn detailed_after(&self, after: u64, most: usize) -> Result<(Vec<PostId>, Option<u64>), Error> {
        let (ids, last) = self
            .ask("archive: detailed", READ_TIMEOUT, async |lease| {
                on!(lease, |connection, Sql| {
                    let mut read = QueryBuilder::<Sql>::new("SELECT MAX(id) FROM (SELECT id FROM posts");
                    read.push(" WHERE id > ").push_bind(number(after)).push(" ORDER BY id LIMIT ");
                    read.push_bind(number(most as u64)).push(") AS part");
                    let (last,): (Option<i64>,) = read.build_query_as().fetch_one(&mut *connection).await?;
                    let mut read = QueryBuilder::<Sql>::new("SELECT id FROM posts WHERE id > ");
                    read.push_bind(number(after)).push(" AND id <= ").push_bind(last.unwrap_or(0));
                    read.push(" AND deleted = 0 AND details IS NOT NULL ORDER BY id");
                    let ids: Vec<(i64,)> = read.build_query_as().fetch_all(&mut *connection).await?;
                    Ok((ids, last))
                })
            })
            .await?;
        let ids: Result<Vec<PostId>, Error> = ids.into_iter().map(|(id,)| post_id(id)).collect();
        Ok((ids?, last.map(i64::unsigned_abs)))
    }

    /// Counts the live posts.
    pub async fn post_count(&self) -> Result<u64, Error> {
        let count: i64 = self
            .ask("archive: count", WRITE_TIMEOUT, async |lease| {
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
        let counts = self.ask("archive: counts", WRITE_TIMEOUT, async |lease| {
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
            .ask("archive: greatest", READ_TIMEOUT, async |lease| {
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

/// Returns a statement that affects a post's row if the post is live. As the first statement of a transaction, it locks
/// the row in all databases, because it is a write.
pub(super) fn lock_post<Sql: Database>(post: PostId) -> QueryBuilder<Sql>
where
    for<'a> i64: Encode<'a, Sql> + Type<Sql>,
{
    let mut lock = QueryBuilder::new("UPDATE posts SET deleted = 0 WHERE deleted = 0 AND id = ");
    lock.push_bind(number(post.get()));
    lock
}

/// Returns a query for the details of a post, as they are stored.
pub(super) fn details_of<Sql: Database>(post: PostId) -> QueryBuilder<Sql>
where
    for<'a> i64: Encode<'a, Sql> + Type<Sql>,
{
    let mut read = QueryBuilder::new("SELECT details FROM posts WHERE id = ");
    read.push_bind(number(post.get()));
    read
}

/// Returns a statement that replaces the details of a post.
pub(super) fn set_details<Sql: Database>(post: PostId, details: &Details) -> QueryBuilder<Sql>
where
    for<'a> i64: Encode<'a, Sql> + Type<Sql>,
    for<'a> Option<String>: Encode<'a, Sql> + Type<Sql>,
{
    let mut update = QueryBuilder::new("UPDATE posts SET details = ");
    update.push_bind(details_column(details)).push(" WHERE id = ").push_bind(number(post.get()));
    update
}

pub(super) fn post_id(id: i64) -> Result<PostId, Error> {
    PostId::new(id.unsigned_abs()).ok_or_else(|| Error::Corrupt(format!("{id} is not a post id").into()))
}

pub(super) fn user_id(id: i64) -> Result<UserId, Error> {
    UserId::new(id.unsigned_abs()).ok_or_else(|| Error::Corrupt(format!("{id} is not a user id").into()))
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

/// Parses the details of a post; `None` for those of a plain post.
pub(super) fn parse_details(id: PostId, text: Option<&str>) -> Result<Details, Error> {
    let corrupt = |_| Error::Corrupt(format!("post {id} has no readable details").into());
    text.map_or(Ok(Details::default()), str::parse).map_err(corrupt)
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
    let details = parse_details(id, details.as_deref())?;
    Ok(Row::Live(Post { id, author, content, platform, visibility, created_at, delivery, details }))
}
