//! Storage of the likes of archived posts.
//!
//! Not here: replacing whole lists when posts are archived (`archive::write`).

use std::collections::HashMap;

use sqlx::{Connection as _, Encode, QueryBuilder, Type};

use crate::archive::dialect::Dialect;
use crate::archive::error::Error;
use crate::archive::pool::{Lease, on};
use crate::archive::post::{
    MOST_ROWS, details_of, lock_post, parse_details, post_id, push_in, set_details, user_id,
};
use crate::archive::{Archive, MOST_RANGES, READ_TIMEOUT, WRITE_TIMEOUT, divided, number};
use crate::budget::{self, Resource};
use crate::model::id::{PostId, UserId};
use crate::model::like::Like;
use crate::model::page::{Direction, InListOrder as _, Page, Window};

/// Maximum number of likes of a deleted post that one statement deletes.
const MOST_DELETED: usize = 10_000;

/// A page of a post's likes to read.
#[derive(Clone, Copy, Debug)]
pub struct LikePage {
    /// The post.
    pub post: PostId,
    /// The page, in the order of the list.
    pub window: Window<Like>,
}

/// Some likes of a post.
struct Range {
    /// Number of the answer that has them.
    answer: usize,
    post: PostId,
    /// The position; `None` for the beginning or the end of the list.
    from: Option<Like>,
    /// On which side of the position they are.
    side: Side,
    /// True if the like at the position is one of them.
    with_position: bool,
    /// Maximum number of likes.
    limit: usize,
}

/// The likes on one side of a position, as operators of SQL that compare their numbers, and the members of those with
/// the number of the position; and the order, in which the nearest come first.
#[derive(Clone, Copy)]
struct Side {
    number: &'static str,
    member: &'static str,
    order: &'static str,
}

const BEFORE: Side = Side { number: ">", member: "<", order: "number, member DESC" };
const AFTER: Side = Side { number: "<", member: ">", order: "number DESC, member" };

impl Archive {
    /// Makes a user like an archived post, or no longer like it, and counts that. Idempotent. Returns the number of
    /// likes that the post has ever had, which is the number of a like that was just added; `None` if the post is not
    /// in the archive, or deleted.
    pub async fn set_like(&self, post: PostId, member: UserId, is_liked: bool) -> Result<Option<u64>, Error> {
        self.ask("archive: like", WRITE_TIMEOUT, async |lease| {
            on!(lease, |connection, Sql| {
                let mut transaction = connection.begin().await?;
                let locked = lock_post::<Sql>(post).build().execute(&mut *transaction).await?;
                if locked.rows_affected() == 0 {
                    return Ok(None);
                }
                let (text,): (Option<String>,) =
                    details_of::<Sql>(post).build_query_as().fetch_one(&mut *transaction).await?;
                let mut details = parse_details(post, text.as_deref())?;
                let before = details.counts.likes_ever();
                details.counts.count_like(is_liked);
                let ever = details.counts.likes_ever();
                let mut change = if is_liked {
                    let mut insert = insert_likes::<Sql>(
                        Sql::INSERT_NEW,
                        &[&(post, Like { number: number(ever), member })],
                    );
                    insert.push(Sql::KEEP_EXISTING);
                    insert
                } else {
                    let mut delete = QueryBuilder::<Sql>::new("DELETE FROM likes WHERE post = ");
                    delete.push_bind(number(post.get())).push(" AND member = ");
                    delete.push_bind(number(member.get()));
                    delete
                };
                if change.build().execute(&mut *transaction).await?.rows_affected() == 0 {
                    return Ok(Some(before));
                }
                // So that a count is not corrected by likes that were counted before.
                details.version += 1;
                set_details::<Sql>(post, &details).build().execute(&mut *transaction).await?;
                transaction.commit().await?;
                Ok(Some(ever))
            })
        })
        .await
    }

    /// Reads these pages. Makes one statement for many pages.
    pub async fn likes(&self, pages: &[LikePage]) -> Result<Vec<Page<Like>>, Error> {
        budget::spend(Resource::Statements, (1 + pages.len() / 16) as u64)?;
        let ranges: Vec<Range> = (0..).zip(pages).flat_map(|(answer, page)| page.ranges(answer)).collect();
        let read = async |lease: &mut Lease| read(lease, &ranges, pages.len() == 1).await;
        let rows = self.ask("archive: likes", READ_TIMEOUT, read).await?.into_iter();
        let like = |(answer, number, member)| Ok((answer, Like { number, member: user_id(member)? }));
        let mut found = divided(rows.map(like), pages.len())?;
        for likes in &mut found {
            likes.sort_unstable_by(Like::in_list_order);
        }
        Ok(pages.iter().zip(found).map(|(page, likes)| Page::of(&likes, &page.window)).collect())
    }

    /// Reads the first `most` archived posts above `after` that a user likes, in ascending order.
    pub async fn likes_of(&self, member: UserId, after: u64, most: usize) -> Result<Vec<PostId>, Error> {
        let posts = self.ask("archive: likes of", READ_TIMEOUT, async |lease| {
            on!(lease, |connection, Sql| {
                let mut read = QueryBuilder::<Sql>::new("SELECT post FROM likes WHERE member = ");
                read.push_bind(number(member.get())).push(" AND post > ").push_bind(number(after));
                read.push(" ORDER BY post LIMIT ").push_bind(number(most as u64));
                let found: Vec<(i64,)> = read.build_query_as().fetch_all(&mut *connection).await?;
                Ok(found)
            })
        });
        posts.await?.into_iter().map(|(post,)| post_id(post)).collect()
    }

    /// Returns those of these archived posts that a user likes.
    pub async fn liked_among(&self, member: UserId, posts: &[PostId]) -> Result<Vec<PostId>, Error> {
        let posts = self.ask("archive: liked among", READ_TIMEOUT, async |lease| {
            on!(lease, |connection, Sql| {
                let mut rows: Vec<(i64,)> = Vec::new();
                for posts in posts.chunks(MOST_ROWS) {
                    let mut read = QueryBuilder::<Sql>::new("SELECT post FROM likes WHERE member = ");
                    read.push_bind(number(member.get()));
                    push_in(&mut read, " AND post", posts.iter().map(|post| post.get()));
                    rows.extend(read.build_query_as::<(i64,)>().fetch_all(&mut *connection).await?);
                }
                Ok(rows)
            })
        });
        posts.await?.into_iter().map(|(post,)| post_id(post)).collect()
    }

    /// Reads the first `most` users above `after` who like an archived post, in ascending order.
    pub async fn likers_after(&self, post: PostId, after: u64, most: usize) -> Result<Vec<UserId>, Error> {
        let members = self.ask("archive: likers", READ_TIMEOUT, async |lease| {
            on!(lease, |connection, Sql| {
                let mut read = QueryBuilder::<Sql>::new("SELECT member FROM likes WHERE post = ");
                read.push_bind(number(post.get())).push(" AND member > ").push_bind(number(after));
                read.push(" ORDER BY member LIMIT ").push_bind(number(most as u64));
                let found: Vec<(i64,)> = read.build_query_as().fetch_all(&mut *connection).await?;
                Ok(found)
            })
        });
        members.await?.into_iter().map(|(member,)| user_id(member)).collect()
    }

    /// Counts the stored likes of these posts. Omits posts without likes.
    pub async fn like_counts(&self, posts: &[PostId]) -> Result<HashMap<PostId, u64>, Error> {
        let rows = self.ask("archive: like counts", WRITE_TIMEOUT, async |lease| {
            on!(lease, |connection, Sql| {
                let mut rows: Vec<(i64, i64)> = Vec::new();
                for posts in posts.chunks(MOST_ROWS) {
                    let mut count = QueryBuilder::<Sql>::new("SELECT post, COUNT(*) FROM likes");
                    push_in(&mut count, " WHERE post", posts.iter().map(|post| post.get()));
                    count.push(" GROUP BY post");
                    rows.extend(count.build_query_as::<(i64, i64)>().fetch_all(&mut *connection).await?);
                }
                Ok(rows)
            })
        });
        rows.await?.into_iter().map(|(post, count)| Ok((post_id(post)?, count.unsigned_abs()))).collect()
    }
}

/// A row of a like: the number of the answer that has it, its number, and its member.
type LikeRow = (i64, i64, i64);

/// Reads ranges of lists. A statement for a single page is likely to be repeated.
async fn read(lease: &mut Lease, ranges: &[Range], is_single: bool) -> Result<Vec<LikeRow>, Error> {
    on!(lease, |connection, Sql| {
        let mut rows = Vec::new();
        for ranges in ranges.chunks(MOST_RANGES) {
            let mut union = union_of::<Sql>(ranges);
            let union = union.build_query_as::<LikeRow>().persistent(is_single);
            rows.extend(union.fetch_all(&mut *connection).await?);
        }
        Ok(rows)
    })
}

impl LikePage {
    /// Returns the likes of the page and one more at each end.
    fn ranges(&self, answer: usize) -> impl Iterator<Item = Range> {
        let Self { post, window: Window { direction, size, from } } = *self;
        let (within, behind) = match direction {
            Direction::Forward => (AFTER, BEFORE),
            Direction::Backward => (BEFORE, AFTER),
        };
        let page = Range { answer, post, from, side: within, with_position: false, limit: size + 1 };
        let behind = from.map(|_| Range { side: behind, with_position: true, limit: 1, ..page });
        std::iter::once(page).chain(behind)
    }
}

/// Returns a union of queries for ranges of lists.
fn union_of<Sql: Dialect>(ranges: &[Range]) -> QueryBuilder<Sql>
where
    for<'a> i64: Encode<'a, Sql> + Type<Sql>,
{
    let mut read = QueryBuilder::new("");
    for (index, Range { answer, post, from, side, with_position, limit }) in ranges.iter().enumerate() {
        read.push(if index == 0 { "" } else { " UNION ALL " });
        read.push("SELECT * FROM (SELECT ").push(answer).push(Sql::LONG);
        read.push(" AS answer, number, member FROM likes WHERE post = ").push_bind(number(post.get()));
        if let Some(from) = from {
            // The first condition follows from the second, but not every database derives a range of the index from it.
            read.push(" AND number ").push(side.number).push("= ").push_bind(from.number);
            read.push(" AND (number ").push(side.number).push(" ").push_bind(from.number);
            read.push(" OR member ").push(side.member).push(if *with_position { "= " } else { " " });
            read.push_bind(number(from.member.get())).push(")");
        }
        read.push(" ORDER BY ").push(side.order).push(" LIMIT ").push_bind(number(*limit as u64));
        read.push(") AS r").push(index);
    }
    read
}

/// Returns an INSERT of likes, which begins with `beginning`.
pub(super) fn insert_likes<Sql: Dialect>(beginning: &str, likes: &[&(PostId, Like)]) -> QueryBuilder<Sql>
where
    for<'a> i64: Encode<'a, Sql> + Type<Sql>,
{
    let mut insert = QueryBuilder::<Sql>::new(beginning);
    insert.push("likes (post, member, number) ");
    insert.push_values(likes, |mut row, (post, Like { number: n, member })| {
        row.push_bind(number(post.get())).push_bind(number(member.get())).push_bind(*n);
    });
    insert
}

/// Returns a statement that deletes some likes of a post, if there are any.
pub(super) fn delete_likes<Sql: Dialect>(post: PostId) -> QueryBuilder<Sql>
where
    for<'a> i64: Encode<'a, Sql> + Type<Sql>,
{
    let mut delete = QueryBuilder::new("DELETE FROM likes WHERE post = ");
    delete.push_bind(number(post.get())).push(" AND member <= (SELECT MAX(member) FROM ");
    delete.push("(SELECT member FROM likes WHERE post = ").push_bind(number(post.get()));
    delete.push(" ORDER BY member LIMIT ").push_bind(number(MOST_DELETED as u64)).push(") AS part)");
    delete
}
