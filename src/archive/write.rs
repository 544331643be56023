//! Writes posts, and the lists that are stored with them, when they are archived.
//!
//! Not here: changes of archived posts (`archive::referrer`, `archive::edit`, `archive::like`).

use std::collections::{HashMap, HashSet};

use sqlx::{Connection as _, Encode, QueryBuilder, Type};

use crate::archive::dialect::Dialect;
use crate::archive::edit::insert_versions;
use crate::archive::error::Error;
use crate::archive::like::{delete_likes, insert_likes};
use crate::archive::list::{LIKES, LISTS};
use crate::archive::pool::on;
use crate::archive::post::{COLUMNS, MOST_ROWS, details_column, post_id, push_in};
use crate::archive::referrer::insert_entries;
use crate::archive::{Archive, WRITE_TIMEOUT, number};
use crate::model::edit::EarlierVersion;
use crate::model::id::{PostId, UserId};
use crate::model::like::Like;
use crate::model::post::{Delivery, Post};
use crate::model::referrer::{EntryList, ReferrerEntry};

/// The lists that are stored with posts.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    /// The entries of the posts that refer to the posts. The rows of the posts have the numbers of listed entries.
    pub entries: Vec<(EntryList, ReferrerEntry)>,
    /// The earlier versions of the posts.
    pub versions: Vec<(PostId, EarlierVersion)>,
    /// The likes of the posts. The rows of the posts have their numbers.
    pub likes: Vec<(PostId, Like)>,
}

impl Archive {
    /// Writes posts and tombstones atomically. A post replaces an earlier version of itself, and `lists` its lists; of
    /// the same version, a write may complete the delivery. A later version stays unchanged. A tombstone stays a
    /// tombstone. Writing a tombstone for an existing post turns the post into a tombstone, without lists.
    pub async fn write(
        &self,
        posts: &[Post],
        tombstones: &[(PostId, UserId)],
        lists: &Lists,
    ) -> Result<(), Error> {
        // Posts that never changed have no lists.
        let changed: Vec<&Post> = posts.iter().filter(|post| post.details.version > 0).collect();
        let posts: Vec<&Post> = posts.iter().collect();
        self.ask("archive: write", WRITE_TIMEOUT, async |lease| {
            on!(lease, |connection, Sql| {
                let mut transaction = connection.begin().await?;
                // Locks the rows of the changed posts, and finds those that this call replaces. A missing row is first
                // inserted as an earlier version, so that of two movers only one finds it to be earlier.
                let (mut replaced, mut erased) = (HashSet::new(), HashSet::new());
                for posts in changed.chunks(MOST_ROWS) {
                    let mut earlier = insert_posts::<Sql>(Sql::INSERT_NEW, posts, |_| -1);
                    earlier.push(Sql::KEEP_EXISTING);
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
                    let mut insert = insert_posts::<Sql>("INSERT INTO ", posts, version);
                    insert.push(Sql::REPLACE_EARLIER_POST);
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
                    erased.extend(deleted.into_iter().filter_map(|(id,)| PostId::new(id.unsigned_abs())));
                }
                let targets: Vec<PostId> = replaced.union(&erased).copied().collect();
                let mut liked = Vec::new();
                for (targets, (table, column)) in
                    targets.chunks(MOST_ROWS).flat_map(|targets| LISTS.map(|list| (targets, list)))
                {
                    // Most posts have no rows yet. MySQL would lock the gap in which a DELETE finds none, and two
                    // movers that insert into the same gap would wait for each other.
                    let mut find =
                        QueryBuilder::<Sql>::new(format!("SELECT DISTINCT {column} FROM {table} WHERE "));
                    push_in(&mut find, column, targets.iter().map(|target| target.get()));
                    let found: Vec<(i64,)> = find.build_query_as().fetch_all(&mut *transaction).await?;
                    let mut found: Vec<PostId> =
                        found.into_iter().map(|(target,)| post_id(target)).collect::<Result<_, _>>()?;
                    if table == LIKES {
                        liked.extend(found.extract_if(.., |target| erased.contains(target)));
                    }
                    if !found.is_empty() {
                        let mut delete = QueryBuilder::<Sql>::new(format!("DELETE FROM {table} WHERE "));
                        push_in(&mut delete, column, found.iter().map(|target| target.get()));
                        delete.build().execute(&mut *transaction).await?;
                    }
                }
                let is_new = |post: &PostId| replaced.contains(post);
                let entries: Vec<&(EntryList, ReferrerEntry)> =
                    lists.entries.iter().filter(|(list, _)| is_new(&list.target)).collect();
                for entries in entries.chunks(MOST_ROWS) {
                    let mut insert = insert_entries::<Sql>(entries);
                    insert.build().persistent(false).execute(&mut *transaction).await?;
                }
                let versions: Vec<&(PostId, EarlierVersion)> =
                    lists.versions.iter().filter(|(post, _)| is_new(post)).collect();
                for versions in versions.chunks(MOST_ROWS) {
                    let mut insert = insert_versions::<Sql>(versions);
                    insert.build().persistent(false).execute(&mut *transaction).await?;
                }
                let likes: Vec<&(PostId, Like)> =
                    lists.likes.iter().filter(|(post, _)| is_new(post)).collect();
                for likes in likes.chunks(MOST_ROWS) {
                    let mut insert = insert_likes::<Sql>("INSERT INTO ", likes);
                    insert.build().persistent(likes.len() == MOST_ROWS).execute(&mut *transaction).await?;
                }
                transaction.commit().await?;
                // Not in the transaction, which a million likes would keep open for too long. No one can like a deleted
                // post, and the caller repeats an interrupted call.
                for post in liked {
                    while delete_likes::<Sql>(post).build().execute(&mut *connection).await?.rows_affected()
                        > 0
                    {}
                }
                Ok(())
            })
        })
        .await
    }
}

/// Returns an INSERT of posts, without its end.
fn insert_posts<Sql: Dialect>(
    beginning: &str,
    posts: &[&Post],
    version: impl Fn(&Post) -> i64,
) -> QueryBuilder<Sql>
where
    for<'a> i64: Encode<'a, Sql> + Type<Sql>,
    for<'a> &'a str: Encode<'a, Sql> + Type<Sql>,
    for<'a> Option<&'a str>: Encode<'a, Sql> + Type<Sql>,
    for<'a> Option<String>: Encode<'a, Sql> + Type<Sql>,
    for<'a> Option<i64>: Encode<'a, Sql> + Type<Sql>,
{
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
    insert
}

fn delivery_columns(delivery: Delivery) -> (&'static str, Option<i64>) {
    match delivery {
        Delivery::Pulled => ("pulled", None),
        Delivery::Pushed { followers } => ("pushed", Some(number(followers))),
        Delivery::Delivered { followers } => ("delivered", Some(number(followers))),
    }
}

/// Returns true if a post replaces the version of it that is in the archive. `locked` has the author and version of
/// rows.
fn is_replaced(post: &Post, locked: &HashMap<i64, (i64, i64)>) -> bool {
    locked.get(&number(post.id.get())).is_some_and(|&(author, version)| {
        author == number(post.author.get()) && version < number(post.details.version)
    })
}
