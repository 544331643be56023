//! Storage of the lists of posts that refer to archived posts: replies, posts that quote them, and reposts, each
//! divided into listed, limited and withheld entries.
//!
//! Not here: replacing whole lists when posts are archived (`archive::write`).

use std::cmp::Reverse;

use sqlx::{Connection as _, Encode, QueryBuilder, Type};

use crate::archive::dialect::Dialect;
use crate::archive::error::Error;
use crate::archive::pool::{Lease, on};
use crate::archive::post::{details_column, details_of, lock_post, parse_details, post_id, set_details};
use crate::archive::{Archive, MOST_RANGES, READ_TIMEOUT, WRITE_TIMEOUT, divided, number};
use crate::budget::{self, Resource};
use crate::model::attachment::ReferrerKind;
use crate::model::details::Details;
use crate::model::id::{PostId, UserId};
use crate::model::page::{Direction, Page, Window};
use crate::model::referrer::{EntryKind, EntryList, EntryPage, LimitedEntry, Referral, ReferrerEntry};

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

/// Some entries of a list.
struct Range {
    /// Number of the answer that has them.
    answer: usize,
    list: EntryList,
    /// The position; `None` for the beginning or the end of the list.
    from: Option<PostId>,
    /// On which side of the position they are, as operator of SQL and order.
    beyond: (&'static str, &'static str),
    /// Maximum number of entries.
    limit: usize,
}

/// Entries before a position in a list, which is in descending order of id, or at it; and those after it.
const BEFORE: (&str, &str) = (">", "ASC");
const FROM_BEFORE: (&str, &str) = (">=", "ASC");
const AFTER: (&str, &str) = ("<", "DESC");
const FROM_AFTER: (&str, &str) = ("<=", "DESC");

impl Archive {
    /// Makes the entry of a post in the lists of an archived post one of this kind, moved from another list if it is
    /// there; or removes it. Counts listed entries. Idempotent. Returns false if the post that has the lists is not in
    /// the archive, or deleted.
    pub async fn refer(&self, referral: &Referral, entry: Option<EntryKind>) -> Result<bool, Error> {
        let Referral { kind, target: post, referrer, .. } = *referral;
        let [target, referrer] = [post, referrer].map(|post| number(post.get()));
        self.ask("archive: refer", WRITE_TIMEOUT, async |lease| {
            on!(lease, |connection, Sql| {
                let mut transaction = connection.begin().await?;
                let locked = lock_post::<Sql>(post).build().execute(&mut *transaction).await?;
                if locked.rows_affected() == 0 {
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
                let (text,): (Option<String>,) =
                    details_of::<Sql>(post).build_query_as().fetch_one(&mut *transaction).await?;
                let listed = EntryKind::Listed.number(kind);
                let change = i64::from(wanted.contains(&listed)) - i64::from(found.contains(&listed));
                let details = counted(parse_details(post, text.as_deref())?, kind, change);
                set_details::<Sql>(post, &details).build().execute(&mut *transaction).await?;
                transaction.commit().await?;
                Ok(true)
            })
        })
        .await
    }

    /// Corrects the details of an archived post, unless they have changed since they were read. Returns true if they
    /// are corrected.
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

    /// Reads these pages. Makes one statement for many pages. Limited entries are not charged.
    pub async fn referrers(&self, pages: &[ReferrerPage]) -> Result<Vec<EntryPage>, Error> {
        budget::spend(Resource::Statements, (1 + pages.len() / 16) as u64)?;
        let ranges: Vec<Range> = (0..).zip(pages).flat_map(|(index, page)| page.ranges(2 * index)).collect();
        let read = async |lease: &mut Lease| read(lease, &ranges, pages.len() == 1).await;
        let found = self.ask("archive: referrers", READ_TIMEOUT, read).await?;
        let found = entries_of(found, 2 * pages.len())?;
        pages.iter().zip(found.chunks(2)).map(|(page, found)| page.cut(&found[0], &found[1])).collect()
    }

    /// Reads these portions of lists, in the order of the requests. Makes one statement for many portions.
    pub async fn entries(&self, portions: &[EntryPortion]) -> Result<Vec<Vec<ReferrerEntry>>, Error> {
        let range = |(answer, &EntryPortion { list, from, size })| Range {
            answer,
            list,
            from,
            beyond: AFTER,
            limit: size,
        };
        let ranges: Vec<Range> = (0..).zip(portions).map(range).collect();
        let read = async |lease: &mut Lease| read(lease, &ranges, portions.len() == 1).await;
        entries_of(self.ask("archive: entries", READ_TIMEOUT, read).await?, portions.len())
    }
}

/// A row of an entry: the number of the answer that has it, the post, and its author.
type EntryRow = (i64, i64, Option<i64>);

/// Reads ranges of lists. A statement for a single request is likely to be repeated.
async fn read(lease: &mut Lease, ranges: &[Range], is_single: bool) -> Result<Vec<EntryRow>, Error> {
    on!(lease, |connection, Sql| {
        let mut rows = Vec::new();
        for ranges in ranges.chunks(MOST_RANGES) {
            let mut union = union_of::<Sql>(ranges);
            let union = union.build_query_as::<EntryRow>().persistent(is_single);
            rows.extend(union.fetch_all(&mut *connection).await?);
        }
        Ok(rows)
    })
}

/// Returns the entries of each answer, in descending order of id.
fn entries_of(rows: Vec<EntryRow>, answers: usize) -> Result<Vec<Vec<ReferrerEntry>>, Error> {
    let entry = |(answer, post, author): EntryRow| {
        let author = author.and_then(|author| UserId::new(author.unsigned_abs()));
        Ok((answer, ReferrerEntry { post: post_id(post)?, author }))
    };
    let mut found = divided(rows.into_iter().map(entry), answers)?;
    for answer in &mut found {
        answer.sort_unstable_by_key(|entry| Reverse(entry.post));
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

    /// Returns the listed entries of the page and one more at each end; and its limited entries, as the answer after
    /// theirs.
    fn ranges(&self, answer: usize) -> impl Iterator<Item = Range> {
        let Window { direction, size, from } = self.window;
        let (within, behind) = match direction {
            Direction::Forward => (AFTER, FROM_BEFORE),
            Direction::Backward => (BEFORE, FROM_AFTER),
        };
        let listed =
            |beyond, limit| Range { answer, list: self.list(EntryKind::Listed), from, beyond, limit };
        let limited = Range {
            answer: answer + 1,
            list: self.list(EntryKind::Limited),
            ..listed(within, self.limited + 1)
        };
        let ends = [from.map(|_| listed(behind, 1)), (self.limited > 0).then_some(limited)];
        std::iter::once(listed(within, size + 1)).chain(ends.into_iter().flatten())
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

/// Returns a union of queries for ranges of lists.
fn union_of<Sql: Dialect>(ranges: &[Range]) -> QueryBuilder<Sql>
where
    for<'a> i64: Encode<'a, Sql> + Type<Sql>,
{
    let mut read = QueryBuilder::new("");
    for (index, Range { answer, list, from, beyond: (operator, order), limit }) in ranges.iter().enumerate() {
        read.push(if index == 0 { "" } else { " UNION ALL " });
        read.push("SELECT * FROM (SELECT ").push(answer).push(Sql::LONG);
        read.push(" AS answer, referrer, author FROM referrers WHERE target = ");
        read.push_bind(number(list.target.get())).push(" AND kind = ").push(list.entries.number(list.kind));
        if let Some(from) = from {
            read.push(" AND referrer ").push(operator).push(" ").push_bind(number(from.get()));
        }
        read.push(" ORDER BY referrer ").push(order).push(" LIMIT ").push_bind(number(*limit as u64));
        read.push(") AS r").push(index);
    }
    read
}

/// Returns a post's details after its number of listed entries of this kind has changed.
fn counted(mut details: Details, kind: ReferrerKind, change: i64) -> Details {
    // So that a count is not corrected by lists that were read before, and that no mover keeps an entry's earlier kind.
    details.version += 1;
    let count = details.counts.of_mut(kind);
    *count = count.saturating_add_signed(change);
    details
}
