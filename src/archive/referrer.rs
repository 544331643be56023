//! Storage of the lists of posts that refer to archived posts: replies, posts that quote them, and reposts.
//!
//! Not here: replacing whole lists when posts are archived (`archive::write`).

use sqlx::{Connection as _, Encode, QueryBuilder, Type};

use crate::archive::dialect::Dialect;
use crate::archive::error::Error;
use crate::archive::pool::on;
use crate::archive::post::{details_column, parse_details, post_id, push_in};
use crate::archive::{ANSWER, Archive, WRITE, number};
use crate::budget::{self, Resource};
use crate::model::details::{Details, Referral, ReferrerKind};
use crate::model::id::PostId;
use crate::model::page::{Direction, Page, Window};

/// Maximum number of pages read by one statement, each of two ranges: SQLite allows 500 in a union.
const MOST_PAGES: usize = 200;

/// A page of a list of referrers to read.
#[derive(Clone, Copy, Debug)]
pub struct ReferrerPage {
    /// The post that has the list.
    pub target: PostId,
    /// The list.
    pub kind: ReferrerKind,
    /// The page, in descending order of id.
    pub window: Window<PostId>,
}

impl Archive {
    /// Enters a post in the list of an archived post, and counts it; or removes it. Idempotent. Returns false if the
    /// post that has the list is not in the archive, or deleted.
    pub async fn refer(&self, referral: &Referral, is_entered: bool) -> Result<bool, Error> {
        let Referral { kind, target: post, referrer, is_counted } = *referral;
        let [target, referrer] = [post, referrer].map(|post| number(post.get()));
        self.ask("archive: refer", WRITE, async |lease| {
            on!(lease, |connection, Sql| {
                let mut transaction = connection.begin().await?;
                // The first statement is a write, which locks the row in all databases.
                let mut lock =
                    QueryBuilder::<Sql>::new("UPDATE posts SET deleted = 0 WHERE deleted = 0 AND id = ");
                lock.push_bind(target);
                if lock.build().execute(&mut *transaction).await?.rows_affected() == 0 {
                    return Ok(false);
                }
                let mut change = QueryBuilder::<Sql>::new("");
                if is_entered {
                    change.push(Sql::INSERT_NEW).push("referrers (kind, target, referrer) VALUES (");
                    change
                        .push(kind_number(kind))
                        .push(", ")
                        .push_bind(target)
                        .push(", ")
                        .push_bind(referrer);
                    change.push(")").push(Sql::KEEP_EXISTING);
                } else {
                    change.push("DELETE FROM referrers WHERE kind = ").push(kind_number(kind));
                    change
                        .push(" AND target = ")
                        .push_bind(target)
                        .push(" AND referrer = ")
                        .push_bind(referrer);
                }
                let is_changed = change.build().execute(&mut *transaction).await?.rows_affected() > 0;
                if is_changed && is_counted {
                    let mut read = QueryBuilder::<Sql>::new("SELECT details FROM posts WHERE id = ");
                    read.push_bind(target);
                    let (text,): (Option<String>,) =
                        read.build_query_as().fetch_one(&mut *transaction).await?;
                    let mut update = QueryBuilder::<Sql>::new("UPDATE posts SET details = ");
                    update
                        .push_bind(counted(parse_details(post, text.as_deref())?, kind, is_entered))
                        .push(" WHERE id = ");
                    update.push_bind(target).build().execute(&mut *transaction).await?;
                }
                transaction.commit().await?;
                Ok(true)
            })
        })
        .await
    }

    /// Corrects the details of an archived post, unless they have changed since they were read. Returns true if they are
    /// corrected.
    pub async fn correct_details(
        &self,
        post: PostId,
        read: &Details,
        right: &Details,
    ) -> Result<bool, Error> {
        let [read, right] = [read, right].map(details_column);
        self.ask("archive: correct", WRITE, async |lease| {
            on!(lease, |connection, Sql| {
                let mut update = QueryBuilder::<Sql>::new("UPDATE posts SET details = ");
                update.push_bind(right.as_deref()).push(" WHERE deleted = 0 AND id = ");
                update.push_bind(number(post.get()));
                match &read {
                    Some(read) => update.push(" AND details = ").push_bind(read.as_str()),
                    None => update.push(" AND details IS NULL"),
                };
                Ok(update.build().execute(&mut *connection).await?.rows_affected() > 0)
            })
        })
        .await
    }

    /// Reads the posts that have lists, in ascending order from the first above `after`: those of the first `most`
    /// entries.
    pub async fn referred_after(&self, after: u64, most: usize) -> Result<Vec<PostId>, Error> {
        let targets = self.ask("archive: referred", ANSWER, async |lease| {
            on!(lease, |connection, Sql| {
                let mut read = QueryBuilder::<Sql>::new("SELECT DISTINCT target FROM (");
                read.push("SELECT target FROM referrers WHERE target > ").push_bind(number(after));
                read.push(" ORDER BY target LIMIT ").push_bind(number(most as u64));
                read.push(") AS part ORDER BY target");
                let found: Vec<(i64,)> = read.build_query_as().fetch_all(&mut *connection).await?;
                Ok(found)
            })
        });
        targets.await?.into_iter().map(|(target,)| post_id(target)).collect()
    }

    /// Deletes the lists of these posts, unless they are archived.
    pub async fn delete_unowned_lists(&self, targets: &[PostId]) -> Result<(), Error> {
        self.ask("archive: delete lists", WRITE, async |lease| {
            on!(lease, |connection, Sql| {
                let mut delete = QueryBuilder::<Sql>::new("DELETE FROM referrers");
                push_in(&mut delete, " WHERE target", targets.iter().map(|target| target.get()));
                delete.push(" AND NOT EXISTS (SELECT 1 FROM posts WHERE id = target AND deleted = 0)");
                delete.build().execute(&mut *connection).await?;
                Ok(())
            })
        })
        .await
    }

    /// Reads these pages of lists. Makes one statement for many pages.
    pub async fn referrers(&self, pages: &[ReferrerPage]) -> Result<Vec<Page<PostId>>, Error> {
        budget::spend(Resource::Statements, (1 + pages.len() / 16) as u64)?;
        let rows = self.ask("archive: referrers", ANSWER, async |lease| {
            on!(lease, |connection, Sql| {
                let mut rows: Vec<(i64, i64)> = Vec::new();
                for (first, pages) in (0..).step_by(MOST_PAGES).zip(pages.chunks(MOST_PAGES)) {
                    let mut read = QueryBuilder::<Sql>::new("");
                    for (index, page) in (first..).zip(pages) {
                        read.push(if index == first { "" } else { " UNION ALL " });
                        push_page(&mut read, index, page);
                    }
                    let read = read.build_query_as::<(i64, i64)>().persistent(pages.len() == 1);
                    rows.extend(read.fetch_all(&mut *connection).await?);
                }
                Ok(rows)
            })
        });
        let mut found: Vec<Vec<PostId>> = pages.iter().map(|_| Vec::new()).collect();
        for (index, id) in rows.await? {
            let list = usize::try_from(index).ok().and_then(|index| found.get_mut(index));
            list.ok_or_else(|| Error::Corrupt("a page that was not requested".into()))?.push(post_id(id)?);
        }
        Ok(pages.iter().zip(found).map(|(page, found)| page.cut(found)).collect())
    }
}

/// Returns the number of a kind in the database.
fn kind_number(kind: ReferrerKind) -> i16 {
    match kind {
        ReferrerKind::Reply => 1,
        ReferrerKind::Quote => 2,
        ReferrerKind::Repost => 3,
    }
}

/// Returns an INSERT of entries of lists.
pub(super) fn insert_referrals<Sql: Dialect>(referrals: &[&Referral]) -> QueryBuilder<Sql>
where
    for<'a> i64: Encode<'a, Sql> + Type<Sql>,
{
    let mut insert = QueryBuilder::<Sql>::new("INSERT INTO referrers (kind, target, referrer) ");
    insert.push_values(referrals, |mut row, referral| {
        row.push(kind_number(referral.kind)).push_bind(number(referral.target.get()));
        row.push_bind(number(referral.referrer.get()));
    });
    insert
}

impl ReferrerPage {
    /// Builds the page from the posts of the list around it.
    fn cut(&self, mut found: Vec<PostId>) -> Page<PostId> {
        found.sort_unstable();
        found.reverse();
        Page::of(&found, &self.window)
    }
}

/// Adds a query for the posts of a page and one more at each end, each preceded by the index of the page.
fn push_page<Sql: Dialect>(read: &mut QueryBuilder<Sql>, index: i64, page: &ReferrerPage)
where
    for<'a> i64: Encode<'a, Sql> + Type<Sql>,
{
    let Window { direction, size, from } = page.window;
    let size = number(size as u64 + 1);
    let (within, behind) = match direction {
        Direction::Forward => (("<", "DESC"), (">=", "ASC")),
        Direction::Backward => ((">", "ASC"), ("<=", "DESC")),
    };
    push_range(read, index, page, from, within, size);
    if from.is_some() {
        read.push(" UNION ALL ");
        push_range(read, index, page, from, behind, 1);
    }
}

/// Adds a query for the posts of a list beyond a position.
fn push_range<Sql: Dialect>(
    read: &mut QueryBuilder<Sql>,
    index: i64,
    page: &ReferrerPage,
    from: Option<PostId>,
    (beyond, order): (&str, &str),
    limit: i64,
) where
    for<'a> i64: Encode<'a, Sql> + Type<Sql>,
{
    read.push("SELECT * FROM (SELECT ").push(index).push(Sql::LONG).push(" AS part, referrer FROM referrers");
    read.push(" WHERE target = ").push_bind(number(page.target.get()));
    read.push(" AND kind = ").push(kind_number(page.kind));
    if let Some(from) = from {
        read.push(" AND referrer ").push(beyond).push(" ").push_bind(number(from.get()));
    }
    read.push(" ORDER BY referrer ").push(order).push(" LIMIT ").push_bind(limit);
    read.push(") AS r").push(index).push(if limit == 1 { "b" } else { "" });
}

/// Returns a post's details as stored, after one more or one less post of this kind refers to it.
fn counted(mut details: Details, kind: ReferrerKind, is_entered: bool) -> Option<String> {
    // So that a count is not corrected by lists that were read before.
    details.version += 1;
    let count = details.counts.of_mut(kind);
    *count = if is_entered { *count + 1 } else { count.saturating_sub(1) };
    details_column(&details)
}
