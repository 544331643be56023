//! Storage of edits of archived posts: their earlier versions.
//!
//! Not here: writing whole lists of versions when posts are archived (`archive::write`).

use std::collections::HashMap;

use sqlx::{Connection as _, Encode, QueryBuilder, Type};

use crate::archive::dialect::Dialect;
use crate::archive::error::Error;
use crate::archive::pool::on;
use crate::archive::post::{MOST_ROWS, details_column, lock_post, parse_details, post_id, push_in};
use crate::archive::{Archive, READ_TIMEOUT, WRITE_TIMEOUT, number};
use crate::budget::{self, Resource};
use crate::model::clock::Timestamp;
use crate::model::details::{Details, References};
use crate::model::edit::{EarlierVersion, Edit, Edited, MOST_VERSIONS};
use crate::model::id::{PostId, UserId};

impl Archive {
    /// Replaces the text of an archived post, and keeps the replaced version. If repeated, the second outcome is a
    /// conflict.
    pub async fn edit(&self, author: UserId, edit: &Edit, now: Timestamp) -> Result<Edited, Error> {
        let Edit { post, replaced, content } = edit;
        let id = number(post.get());
        self.ask("archive: edit", WRITE_TIMEOUT, async |lease| {
            on!(lease, |connection, Sql| {
                let mut transaction = connection.begin().await?;
                let mut lock = lock_post::<Sql>(*post);
                lock.push(" AND author = ").push_bind(number(author.get()));
                if lock.build().execute(&mut *transaction).await?.rows_affected() == 0 {
                    return Ok(Edited::Deleted);
                }
                let mut read =
                    QueryBuilder::<Sql>::new("SELECT content, created_at, details FROM posts WHERE id = ");
                let (old, created_at, details): (String, i64, Option<String>) =
                    read.push_bind(id).build_query_as().fetch_one(&mut *transaction).await?;
                let before = parse_details(*post, details.as_deref())?;
                if before.edition != *replaced {
                    return Ok(Edited::Conflict);
                }
                let written_at = before.edited_at.unwrap_or(Timestamp::from_millis(created_at));
                let earlier = (*post, EarlierVersion { edition: *replaced, written_at, content: old });
                let mut insert = insert_versions::<Sql>(&[&earlier]);
                insert.build().execute(&mut *transaction).await?;
                let after = Details {
                    version: before.version + 1,
                    edition: before.edition + 1,
                    // The clocks of servers differ, but no version is older than the one before it.
                    edited_at: Some(now.max(written_at)),
                    references: References {
                        tags: References::of_text(content.as_str()).tags,
                        ..before.references
                    },
                    ..before
                };
                let mut trim = QueryBuilder::<Sql>::new("DELETE FROM edits WHERE post = ");
                trim.push_bind(id).push(" AND edition > 0 AND edition <= ");
                trim.push_bind(i64::from(after.edition) - number(MOST_VERSIONS as u64));
                trim.build().execute(&mut *transaction).await?;
                let mut update = QueryBuilder::<Sql>::new("UPDATE posts SET content = ");
                update.push_bind(content.as_str()).push(", details = ").push_bind(details_column(&after));
                update.push(", version = ").push_bind(number(after.version));
                update.push(" WHERE id = ").push_bind(id).build().execute(&mut *transaction).await?;
                transaction.commit().await?;
                Ok(Edited::Done)
            })
        })
        .await
    }

    /// Reads the earlier versions of these posts, newest first.
    pub async fn versions(&self, posts: &[PostId]) -> Result<HashMap<PostId, Vec<EarlierVersion>>, Error> {
        budget::spend(Resource::Statements, (1 + posts.len() / 16) as u64)?;
        let rows = self.ask("archive: versions", READ_TIMEOUT, async |lease| {
            on!(lease, |connection, Sql| {
                let mut rows: Vec<(i64, i64, i64, String)> = Vec::new();
                for posts in posts.chunks(MOST_ROWS) {
                    let mut read =
                        QueryBuilder::<Sql>::new("SELECT post, edition, written_at, content FROM edits");
                    push_in(&mut read, " WHERE post", posts.iter().map(|post| post.get()));
                    read.push(" ORDER BY post, edition DESC");
                    rows.extend(read.build_query_as().fetch_all(&mut *connection).await?);
                }
                Ok(rows)
            })
        });
        let mut found: HashMap<PostId, Vec<EarlierVersion>> = HashMap::new();
        let mut bytes = 0;
        for (post, edition, written_at, content) in rows.await? {
            let corrupt = |_| Error::Corrupt(format!("{edition} is not an edition of post {post}").into());
            let edition = u32::try_from(edition).map_err(corrupt)?;
            bytes += (size_of::<EarlierVersion>() + content.len()) as u64;
            let written_at = Timestamp::from_millis(written_at);
            found.entry(post_id(post)?).or_default().push(EarlierVersion { edition, written_at, content });
        }
        budget::spend(Resource::ReplyBytes, bytes)?;
        Ok(found)
    }
}

/// Returns an INSERT of earlier versions of posts.
pub(super) fn insert_versions<Sql: Dialect>(versions: &[&(PostId, EarlierVersion)]) -> QueryBuilder<Sql>
where
    for<'a> i64: Encode<'a, Sql> + Type<Sql>,
    for<'a> &'a str: Encode<'a, Sql> + Type<Sql>,
{
    let mut insert = QueryBuilder::<Sql>::new("INSERT INTO edits (post, edition, written_at, content) ");
    insert.push_values(versions, |mut row, (post, EarlierVersion { edition, written_at, content })| {
        row.push_bind(number(post.get())).push_bind(i64::from(*edition));
        row.push_bind(written_at.as_millis()).push_bind(content.as_str());
    });
    insert
}
