//! Storage of the lists of posts that refer to archived posts: replies, posts that quote them, and reposts, each divided
//! into listed, limited and withheld entries.
//!
//! Not here: replacing whole lists when posts are archived (`archive::write`).

use std::cmp::Reverse;

use sqlx::{Connection as _, Encode, QueryBuilder, Type};

use crate::archive::dialect::Dialect;
use crate::archive::error::Error;
use crate::archive::pool::on;
use crate::archive::post::{details_column, parse_details, post_id, push_in};
use crate::archive::{Archive, READ_TIMEOUT, WRITE_TIMEOUT, number};
use crate::budget::{self, Resource};
use crate::model::details::Details;
use crate::model::id::{PostId, UserId};
use crate::model::page::{Direction, Page, Window};
use crate::model::referrer::{
    EntryKind, EntryList, EntryPage, LimitedEntry, Referral, ReferrerEntry, ReferrerKind,
};

/// Maximum number of pages read by one statement, each of three ranges: SQLite allows 500 in a union.
const MOST_PAGES: usize = 150;

/// A page of a post's referrers to read.
#[derive(Clone, Copy, Debug)]
pub struct ReferrerPage {
    /// The post that has the lists.
    pub target: PostId,
    /// The kind of referrers.
    pub kind: ReferrerKind,
    /// The page of listed entries, in descending order of id.
    pub window: Window<PostId>,
    /// Maximum number of limited entries next to the page's position.
    pub limited: usize,
}

/// A portion of a list of entries to read, in descending order of id.
#[derive(Clone, Copy, Debug)]
pub struct EntryPortion {
    /// The list.
    pub list: EntryList,
    /// The entry below which the portion begins; `None` for the first portion.
    pub from: Option<PostId>,
    /// Maximum number of entries.
    pub size: usize,
}

/// A row of an entry: the number of the range that was requested, the post, and its author.
type EntryRow = (i64, i64, Option<i64>);

impl Archive {
    /// Makes the entry of a post in the lists of an archived post one of this kind, moved from another list if it is there;
    /// or removes it. Counts listed entries. Idempotent. Returns false if the post that has the lists is not in the archive,
    /// or deleted.
    pub async fn refer(&self, referral: &Referral, entry: Option<EntryKind>) -> Result<bool, Error> {
        let Referral { kind, target: post, referrer, .. } = *referral;
        let [target, referrer] = [post, referrer].map(|post| number(post.get()));
        self.ask("archive: refer", WRITE_TIMEOUT, async |lease| {
            on!(lease, |connection, Sql| {
                let mut transaction = connection.begin().await?;
                // The first statement is a write, which locks the row in all databases.
                let mut lock =
                    QueryBuilder::<Sql>::new("UPDATE posts SET deleted = 0 WHERE deleted = 0 AND id = ");
                lock.push_bind(target);
                if lock.build().execute(&mut *transaction).await?.rows_affected() == 0 {
                    return Ok(false);
                }
                let mut find = QueryBuilder::<Sql>::new("SELECT kind FROM referrers");
                push_entry(&mut find, kind, target, referrer);
                let found: Vec<(i16,)> = find.build_query_as().fetch_all(&mut *transaction).await?;
                let found: Vec<i16> = found.into_iter().map(|(kind,)| kind).collect();
                let wanted: Vec<i16> = entry.into_iter().map(|entry| entry.number(kind)).collect();
                if found == wanted {
                    return Ok(true);
                }
                let mut delete = QueryBuilder::<Sql>::new("DELETE FROM referrers");
                push_entry(&mut delete, kind, target, referrer);
                delete.build().execute(&mut *transaction).await?;
                if let Some(entry) = entry {
                    let list = EntryList { target: post, kind, entries: entry };
                    let entry = ReferrerEntry::of(referral, entry);
                    insert_entries::<Sql>(&[&(list, entry)]).build().execute(&mut *transaction).await?;
                }
                let mut read = QueryBuilder::<Sql>::new("SELECT details FROM posts WHERE id = ");
                read.push_bind(target);
                let (text,): (Option<String>,) = read.build_query_as().fetch_one(&mut *transaction).await?;
                let listed = EntryKind::Listed.number(kind);
                let change = i64::from(wanted.contains(&listed)) - i64::from(found.contains(&listed));
                let mut update = QueryBuilder::<Sql>::new("UPDATE posts SET details = ");
                update
                    .push_bind(counted(parse_details(post, text.as_deref())?, kind, change))
                    .push(" WHERE id = ");
                update.push_bind(target).build().execute(&mut *transaction).await?;
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
        self.ask("archive: correct", WRITE_TIMEOUT, async |lease| {
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
        let targets = self.ask("archive: referred", READ_TIMEOUT, async |lease| {
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
        self.ask("archive: delete lists", WRITE_TIMEOUT, async |lease| {
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

    /// Reads these pages. Makes one statement for many pages. Limited entries are not charged.
    pub async fn referrers(&self, pages: &[ReferrerPage]) -> Result<Vec<EntryPage>, Error> {
        budget::spend(Resource::Statements, (1 + pages.len() / 16) as u64)?;
        let rows = self.ask("archive: referrers", READ_TIMEOUT, async |lease| {
            on!(lease, |connection, Sql| {
                let mut rows: Vec<EntryRow> = Vec::new();
                for (first, pages) in (0..).step_by(MOST_PAGES).zip(pages.chunks(MOST_PAGES)) {
                    let mut ranges = Ranges::<Sql>::default();
                    for (index, page) in (first..).zip(pages) {
                        page.push_to(index, &mut ranges);
                    }
                    rows.extend(
                        ranges
                            .read
                            .build_query_as::<EntryRow>()
                            .persistent(pages.len() == 1)
                            .fetch_all(&mut *connection)
                            .await?,
                    );
                }
                Ok(rows)
            })
        });
        let mut found = divided(rows.await?, pages.len() * 2)?.into_iter();
        let page = |page: &ReferrerPage| {
            let (listed, limited) = (found.next().unwrap_or_default(), found.next().unwrap_or_default());
            page.cut(&listed, &limited)
        };
        pages.iter().map(page).collect()
    }

    /// Reads these portions of lists, in the order of the requests. Makes one statement for many portions.
    pub async fn entries(&self, portions: &[EntryPortion]) -> Result<Vec<Vec<ReferrerEntry>>, Error> {
        let rows = self.ask("archive: entries", READ_TIMEOUT, async |lease| {
            on!(lease, |connection, Sql| {
                let mut rows: Vec<EntryRow> = Vec::new();
                for (first, portions) in (0..).step_by(MOST_PAGES).zip(portions.chunks(MOST_PAGES)) {
                    let mut ranges = Ranges::<Sql>::default();
                    for (index, EntryPortion { list, from, size }) in (first..).zip(portions) {
                        ranges.push(index, list, *from, ("<", "DESC"), *size);
                    }
                    rows.extend(
                        ranges
                            .read
                            .build_query_as::<EntryRow>()
                            .persistent(portions.len() == 1)
                            .fetch_all(&mut *connection)
                            .await?,
                    );
                }
                Ok(rows)
            })
        });
        divided(rows.await?, portions.len())
    }
}

/// Returns the entries of each of these ranges, in descending order of id.
fn divided(rows: Vec<EntryRow>, ranges: usize) -> Result<Vec<Vec<ReferrerEntry>>, Error> {
    let mut found: Vec<Vec<ReferrerEntry>> = vec![Vec::new(); ranges];
    for (index, post, author) in rows {
        let range = usize::try_from(index).ok().and_then(|index| found.get_mut(index));
        let range = range.ok_or_else(|| Error::Corrupt("a range that was not requested".into()))?;
        let author = author.and_then(|author| UserId::new(author.unsigned_abs()));
        range.push(ReferrerEntry { post: post_id(post)?, author });
    }
    for range in &mut found {
        range.sort_unstable_by_key(|entry| Reverse(entry.post));
    }
    Ok(found)
}

/// Adds the condition that selects a post's entry in the lists of this kind of referrers.
fn push_entry<Sql: Dialect>(statement: &mut QueryBuilder<Sql>, kind: ReferrerKind, target: i64, referrer: i64)
where
    for<'a> i64: Encode<'a, Sql> + Type<Sql>,
{
    statement.push(" WHERE target = ").push_bind(target).push(" AND referrer = ").push_bind(referrer);
    let [listed, limited, withheld] = EntryKind::ALL.map(|entries| entries.number(kind));
    statement.push(format!(" AND kind IN ({listed}, {limited}, {withheld})"));
}

/// Returns an INSERT of entries of lists.
pub(super) fn insert_entries<Sql: Dialect>(entries: &[&(EntryList, ReferrerEntry)]) -> QueryBuilder<Sql>
where
    for<'a> i64: Encode<'a, Sql> + Type<Sql>,
    for<'a> Option<i64>: Encode<'a, Sql> + Type<Sql>,
{
    let mut insert = QueryBuilder::<Sql>::new("INSERT INTO referrers (kind, target, referrer, author) ");
    insert.push_values(entries, |mut row, (EntryList { target, kind, entries }, entry)| {
        row.push(entries.number(*kind)).push_bind(number(target.get()));
        row.push_bind(number(entry.post.get())).push_bind(entry.author.map(|author| number(author.get())));
    });
    insert
}

impl ReferrerPage {
    fn list(&self, entries: EntryKind) -> EntryList {
        EntryList { target: self.target, kind: self.kind, entries }
    }

    /// Adds queries for the listed entries of the page and one more at each end, and for its limited entries.
    fn push_to<Sql: Dialect>(&self, index: i64, ranges: &mut Ranges<Sql>)
    where
        for<'a> i64: Encode<'a, Sql> + Type<Sql>,
    {
        let Window { direction, size, from } = self.window;
        let (within, behind) = match direction {
            Direction::Forward => (("<", "DESC"), (">=", "ASC")),
            Direction::Backward => ((">", "ASC"), ("<=", "DESC")),
        };
        let listed = self.list(EntryKind::Listed);
        ranges.push(2 * index, &listed, from, within, size + 1);
        if from.is_some() {
            ranges.push(2 * index, &listed, from, behind, 1);
        }
        if self.limited > 0 {
            ranges.push(2 * index + 1, &self.list(EntryKind::Limited), from, within, self.limited + 1);
        }
    }

    /// Builds the page from the listed entries around it, and the limited entries next to it.
    fn cut(&self, listed: &[ReferrerEntry], limited: &[ReferrerEntry]) -> Result<EntryPage, Error> {
        let listed: Vec<PostId> = listed.iter().map(|entry| entry.post).collect();
        let without_author = || Error::Corrupt("a limited entry without an author".into());
        let entry = |entry: &ReferrerEntry| {
            let author = entry.author.ok_or_else(without_author)?;
            Ok(LimitedEntry { post: entry.post, author })
        };
        let limited = limited.iter().map(entry).collect::<Result<_, Error>>()?;
        Ok(EntryPage::new(Page::of(&listed, &self.window), limited, self.window.direction, self.limited))
    }
}

/// A union of queries for ranges of lists.
struct Ranges<Sql: sqlx::Database> {
    read: QueryBuilder<Sql>,
    is_empty: bool,
}

impl<Sql: sqlx::Database> Default for Ranges<Sql> {
    fn default() -> Self {
        Self { read: QueryBuilder::new(""), is_empty: true }
    }
}

impl<Sql: Dialect> Ranges<Sql>
where
    for<'a> i64: Encode<'a, Sql> + Type<Sql>,
{
    /// Adds a query for the entries of a list beyond a position. Its rows have this number.
    fn push(
        &mut self,
        number_of_range: i64,
        list: &EntryList,
        from: Option<PostId>,
        (beyond, order): (&str, &str),
        limit: usize,
    ) {
        let read = &mut self.read;
        read.push(if std::mem::take(&mut self.is_empty) { "" } else { " UNION ALL " });
        read.push("SELECT * FROM (SELECT ").push(number_of_range).push(Sql::LONG);
        read.push(" AS part, referrer, author FROM referrers WHERE target = ");
        read.push_bind(number(list.target.get()));
        read.push(" AND kind = ").push(list.entries.number(list.kind));
        if let Some(from) = from {
            read.push(" AND referrer ").push(beyond).push(" ").push_bind(number(from.get()));
        }
        read.push(" ORDER BY referrer ").push(order).push(" LIMIT ").push_bind(number(limit as u64));
        read.push(") AS r").push(number_of_range).push(if beyond.ends_with('=') { "b" } else { "" });
    }
}

/// Returns a post's details as stored, after its number of listed entries of this kind has changed.
fn counted(mut details: Details, kind: ReferrerKind, change: i64) -> Option<String> {
    // So that a count is not corrected by lists that were read before, and that no mover keeps an entry's earlier kind.
    details.version += 1;
    let count = details.counts.of_mut(kind);
    *count = count.saturating_add_signed(change);
    details_column(&details)
}
