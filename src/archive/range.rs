//! Reads ranges of authors' archived posts: pages, ids and counts.
//!
//! Not here: writing posts, and reading them by id (`archive::post`).

use std::time::Duration;

use sqlx::{Database, Encode, QueryBuilder, Type};

use crate::archive::dialect::Dialect;
use crate::archive::error::Error;
use crate::archive::pool::on;
use crate::archive::post::{COLUMNS, post_id, row};
use crate::archive::{Archive, READ_TIMEOUT, number};
use crate::budget::{self, Resource};
use crate::model::clock::{Period, Timestamp};
use crate::model::id::{PostId, UserId};
use crate::model::page::Direction;
use crate::model::post::Post;

/// Maximum number of ranges read by one statement: SQLite allows 500 in a union.
const MOST_RANGES: usize = 400;

/// The condition for posts that not only followers can see.
const PUBLIC: &str = " AND visibility IS NULL";

/// A page of an author's posts, read from one end of a range of ids.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// Author of the posts.
    pub author: UserId,
    /// Direction of reading: forward starts at the greatest id.
    pub direction: Direction,
    /// Exclusive lower bound of the ids.
    pub above: u64,
    /// Exclusive upper bound of the ids.
    pub below: u64,
    /// Maximum number of posts.
    pub limit: usize,
    /// Period in which the posts were created.
    pub period: Period,
    /// True to leave out the posts that only followers can see.
    pub only_public: bool,
}

/// A number of an author's posts to count.
#[derive(Clone, Debug)]
pub struct CountRange {
    /// Author of the posts.
    pub author: UserId,
    /// Inclusive upper bound of the ids.
    pub upto: u64,
    /// Period in which the posts were created.
    pub period: Period,
    /// True to leave out the posts that only followers can see.
    pub only_public: bool,
    /// Posts that do not count.
    pub excluded: Vec<PostId>,
}

/// A row preceded by the index of the range that contains it.
type PartColumns = (
    i64,
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

impl Archive {
    /// Reads the live posts in each range, in the order of the range's direction.
    pub async fn posts_of(&self, ranges: &[Range]) -> Result<Vec<Vec<Post>>, Error> {
        spend_statements(ranges)?;
        let rows = self.ask("archive: posts", READ_TIMEOUT, async |lease| {
            on!(lease, |connection, Sql| {
                let mut rows: Vec<PartColumns> = Vec::new();
                for (part, ranges) in chunks(ranges) {
                    let mut read = QueryBuilder::<Sql>::new("SELECT part, ");
                    read.push(COLUMNS).push(" FROM (");
                    push_ranges(&mut read, part, ranges);
                    read.push(") AS ranges JOIN posts ON posts.id = found");
                    let read = read.build_query_as::<PartColumns>().persistent(ranges.len() == 1);
                    rows.extend(read.fetch_all(&mut *connection).await?);
                }
                Ok(rows)
            })
        });
        let post = |(part, id, author, at, content, platform, delivery, followers, visibility, details): PartColumns| {
            let row = row((id, author, at, content, platform, delivery, followers, visibility, details))?;
            budget::spend(Resource::ReplyBytes, row.size())?;
            Ok(row.live().map(|post| (part, post)))
        };
        let posts: Result<Vec<Option<(i64, Post)>>, Error> = rows.await?.into_iter().map(post).collect();
        Ok(in_order(ranges, posts?.into_iter().flatten(), |post| post.id))
    }

    /// Reads the ids of the live posts in each range, in the order of the range's direction.
    pub async fn ids_of(&self, ranges: &[Range]) -> Result<Vec<Vec<PostId>>, Error> {
        spend_statements(ranges)?;
        let rows = self.ask("archive: ids", READ_TIMEOUT, async |lease| {
            on!(lease, |connection, Sql| {
                let mut rows: Vec<(i64, i64)> = Vec::new();
                for (part, ranges) in chunks(ranges) {
                    let mut read = QueryBuilder::<Sql>::new("");
                    push_ranges(&mut read, part, ranges);
                    let read = read.build_query_as::<(i64, i64)>().persistent(ranges.len() == 1);
                    rows.extend(read.fetch_all(&mut *connection).await?);
                }
                Ok(rows)
            })
        });
        let id = |(part, id): (i64, i64)| Ok((part, post_id(id)?));
        let ids: Result<Vec<(i64, PostId)>, Error> = rows.await?.into_iter().map(id).collect();
        Ok(in_order(ranges, ids?, |id| *id))
    }

    /// Counts the live posts in each range. Makes one statement for all of them.
    pub async fn count_within(&self, ranges: &[CountRange]) -> Result<Vec<u64>, Error> {
        /// Number of posts that a database counts, or excludes, in the time of one plain statement.
        const ROWS_PER_STATEMENT: u64 = 10_000;
        let excluded: usize = ranges.iter().map(|range| range.excluded.len()).sum();
        budget::spend(
            Resource::Statements,
            1 + (ranges.len() / 32) as u64 + excluded as u64 / ROWS_PER_STATEMENT,
        )?;
        let rows = self.ask("archive: count within", READ_TIMEOUT, async |lease| {
            on!(lease, |connection, Sql| {
                let mut rows: Vec<(i64, i64)> = Vec::new();
                for (first, ranges) in (0..).step_by(MOST_RANGES).zip(ranges.chunks(MOST_RANGES)) {
                    let mut read = QueryBuilder::<Sql>::new("");
                    for (part, range) in (first..).zip(ranges) {
                        push_count(&mut read, part, part > first, range);
                    }
                    let read = read.build_query_as::<(i64, i64)>().persistent(false);
                    rows.extend(read.fetch_all(&mut *connection).await?);
                }
                Ok(rows)
            })
        });
        let mut counts = vec![0; ranges.len()];
        for (part, count) in rows.await? {
            if let Some(entry) = usize::try_from(part).ok().and_then(|part| counts.get_mut(part)) {
                *entry = count.unsigned_abs();
            }
        }
        budget::spend(Resource::Statements, counts.iter().sum::<u64>() / ROWS_PER_STATEMENT)?;
        Ok(counts)
    }
}

/// Charges the cost of reading these ranges to the current operation's budget. A union keeps a database as
/// busy as several plain statements.
fn spend_statements(ranges: &[Range]) -> Result<(), Error> {
    /// Number of ranges that a database reads in the time of one plain statement.
    const RANGES_PER_STATEMENT: usize = 32;
    let statements = ranges.len().div_ceil(MOST_RANGES) + ranges.len() / RANGES_PER_STATEMENT;
    Ok(budget::spend(Resource::Statements, statements as u64)?)
}

/// Splits the ranges into one part per statement, each with the index of its first range.
fn chunks(ranges: &[Range]) -> impl Iterator<Item = (i64, &[Range])> {
    (0..).step_by(MOST_RANGES).zip(ranges.chunks(MOST_RANGES))
}

/// Adds a query that selects the ids of the live posts in all ranges, each preceded by the index of its range.
/// The SQL of a union differs each time, so a union is not worth caching as a prepared statement.
///
/// # Why only ids
/// An index covers the ids and times. If the query selected whole rows, MariaDB would reach a range by scanning the
/// author's posts from one end.
fn push_ranges<Sql: Dialect>(read: &mut QueryBuilder<Sql>, first: i64, ranges: &[Range])
where
    for<'a> i64: Encode<'a, Sql> + Type<Sql>,
{
    let is_union = ranges.len() > 1;
    for (part, range) in (first..).zip(ranges) {
        let order = match range.direction {
            Direction::Forward => "DESC",
            Direction::Backward => "ASC",
        };
        read.push(match (is_union, part == first) {
            (false, _) => "SELECT ",
            (true, true) => "SELECT * FROM (SELECT ",
            (true, false) => " UNION ALL SELECT * FROM (SELECT ",
        });
        read.push(part)
            .push(Sql::LONG)
            .push(" AS part, id AS found FROM posts")
            .push(Sql::IN_ORDER)
            .push(" WHERE author = ")
            .push_bind(number(range.author.get()))
            .push(" AND deleted = 0");
        push_bounds(read, range);
        if range.only_public {
            read.push(PUBLIC);
        }
        read.push(" ORDER BY id ").push(order);
        read.push(" LIMIT ").push_bind(number(range.limit as u64));
        if is_union {
            read.push(") AS r").push(part - first);
        }
    }
}

/// Maximum difference between the clocks of the servers that published one author's posts. Within it, a newer post may
/// have an earlier creation time.
const MOST_SKEW: Duration = Duration::from_hours(24);

/// Adds the conditions for the posts in a range.
///
/// # Why the period also bounds the ids
/// The posts are read in the order of their ids. Without these bounds, the database would scan all posts from one end
/// up to the period. Creation times grow with the ids, except for the clocks' differences. The nearest post that was
/// created more than this difference before or after the period is therefore a bound, which an index finds at once.
fn push_bounds<Sql: Dialect>(read: &mut QueryBuilder<Sql>, range: &Range)
where
    for<'a> i64: Encode<'a, Sql> + Type<Sql>,
{
    let Period { since, until } = range.period;
    let mut bound =
        |condition, bound: u64, beyond: Option<Timestamp>, [function, is_beyond, order]: [&str; 3]| {
            read.push(condition);
            let Some(beyond) = beyond else {
                read.push_bind(number(bound));
                return;
            };
            read.push(function).push("(").push_bind(number(bound));
            read.push(", COALESCE((SELECT id FROM posts WHERE author = ")
                .push_bind(number(range.author.get()));
            read.push(" AND deleted = 0 AND created_at ").push(is_beyond).push_bind(beyond.as_millis());
            read.push(" ORDER BY created_at ").push(order).push(" LIMIT 1), ");
            read.push_bind(number(bound)).push("))");
        };
    bound(
        " AND id > ",
        range.above,
        since.map(|since| since.minus(MOST_SKEW)),
        [Sql::GREATEST, "< ", "DESC"],
    );
    bound(" AND id < ", range.below, until.map(|until| until.plus(MOST_SKEW)), [Sql::LEAST, ">= ", "ASC"]);
    // An expression, because a database that used the index by time would sort all posts of the period by id.
    push_created(read, "created_at + 0", range.period);
}

/// Adds the conditions for posts that were created in a period, according to this column.
fn push_created<Sql: Database>(read: &mut QueryBuilder<Sql>, column: &str, Period { since, until }: Period)
where
    for<'a> i64: Encode<'a, Sql> + Type<Sql>,
{
    if let Some(since) = since {
        read.push(" AND ").push(column).push(" >= ").push_bind(since.as_millis());
    }
    if let Some(until) = until {
        read.push(" AND ").push(column).push(" < ").push_bind(until.as_millis());
    }
}

/// Adds a query that counts the live posts of a range, preceded by the index of the range. One statement counts and
/// excludes, because a post may be deleted between two.
fn push_count<Sql: Dialect>(read: &mut QueryBuilder<Sql>, part: i64, is_next: bool, range: &CountRange)
where
    for<'a> i64: Encode<'a, Sql> + Type<Sql>,
{
    read.push(if is_next { " UNION ALL SELECT " } else { "SELECT " });
    read.push(part).push(Sql::LONG).push(" AS part, COUNT(*) AS found FROM posts WHERE author = ");
    read.push_bind(number(range.author.get())).push(" AND deleted = 0 AND id <= ");
    read.push_bind(number(range.upto));
    push_created(read, "created_at", range.period);
    if range.only_public {
        read.push(PUBLIC);
    }
    if !range.excluded.is_empty() {
        // As text, because a statement has a limited number of parameters.
        read.push(" AND id NOT IN (");
        let mut list = read.separated(", ");
        for post in &range.excluded {
            list.push(post.get());
        }
        list.push_unseparated(")");
    }
}

/// Groups the results by range and sorts each group in the range's direction. A union returns results in no
/// particular order.
fn in_order<T>(
    ranges: &[Range],
    found: impl IntoIterator<Item = (i64, T)>,
    id: impl Fn(&T) -> PostId,
) -> Vec<Vec<T>> {
    let mut lists: Vec<Vec<T>> = ranges.iter().map(|_| Vec::new()).collect();
    for (part, row) in found {
        if let Some(list) = usize::try_from(part).ok().and_then(|part| lists.get_mut(part)) {
            list.push(row);
        }
    }
    for (range, list) in ranges.iter().zip(&mut lists) {
        list.sort_unstable_by_key(&id);
        if range.direction == Direction::Forward {
            list.reverse();
        }
    }
    lists
}
