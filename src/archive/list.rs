//! The lists that are stored with archived posts, and those that are left of posts that do not exist.
//!
//! Not here: what is in the lists (`archive::referrer`, `archive::edit`, `archive::like`).

use sqlx::QueryBuilder;

use crate::archive::error::Error;
use crate::archive::pool::on;
use crate::archive::post::{post_id, push_in};
use crate::archive::{Archive, READ_TIMEOUT, WRITE_TIMEOUT, number};
use crate::model::id::PostId;

/// The table of the likes.
pub(super) const LIKES: &str = "likes";
/// The tables of the lists, each with the column of the post that has the list.
pub(super) const LISTS: [(&str, &str); 3] = [("referrers", "target"), ("edits", "post"), (LIKES, "post")];

impl Archive {
    /// Reads the posts that have lists, in ascending order from the first above `after`: those of the first `most`
    /// entries.
    pub async fn listed_after(&self, after: u64, most: usize) -> Result<Vec<PostId>, Error> {
        let posts = self.ask("archive: listed", READ_TIMEOUT, async |lease| {
            on!(lease, |connection, Sql| {
                let mut read = QueryBuilder::<Sql>::new("SELECT DISTINCT post FROM (SELECT post FROM (");
                for (index, (table, column)) in LISTS.into_iter().enumerate() {
                    read.push(if index == 0 { "" } else { " UNION ALL " });
                    read.push(format!(
                        "SELECT * FROM (SELECT {column} AS post FROM {table} WHERE {column} > "
                    ));
                    read.push_bind(number(after)).push(format!(" ORDER BY {column} LIMIT "));
                    read.push_bind(number(most as u64)).push(") AS ").push(format!("first_{table}"));
                }
                read.push(") AS entries ORDER BY post LIMIT ").push_bind(number(most as u64));
                read.push(") AS part ORDER BY post");
                let found: Vec<(i64,)> = read.build_query_as().fetch_all(&mut *connection).await?;
                Ok(found)
            })
        });
        posts.await?.into_iter().map(|(post,)| post_id(post)).collect()
    }

    /// Deletes the lists of these posts, unless they are archived.
    pub async fn delete_unowned_lists(&self, posts: &[PostId]) -> Result<(), Error> {
        self.ask("archive: delete lists", WRITE_TIMEOUT, async |lease| {
            on!(lease, |connection, Sql| {
                for (table, column) in LISTS {
                    let mut delete = QueryBuilder::<Sql>::new(format!("DELETE FROM {table} WHERE "));
                    push_in(&mut delete, column, posts.iter().map(|post| post.get()));
                    delete.push(" AND NOT EXISTS (SELECT 1 FROM posts WHERE posts.id = ");
                    delete.push(format!("{table}.{column} AND deleted = 0)"));
                    delete.build().execute(&mut *connection).await?;
                }
                Ok(())
            })
        })
        .await
    }
}
