//! Storage of the number of visitors on each completed day.
//!
//! Not here: counting visitors (`app::visit`).

use sqlx::QueryBuilder;

use crate::archive::dialect::Dialect as _;
use crate::archive::error::Error;
use crate::archive::pool::on;
use crate::archive::{Archive, READ_TIMEOUT, number};
use crate::budget::{self, Resource};
use crate::model::clock::Day;

impl Archive {
    /// Writes a day's number of visitors. Keeps an existing number if it is greater, because a late count may
    /// find fewer visitors.
    pub async fn write_visits(&self, day: Day, visitors: u64) -> Result<(), Error> {
        self.ask("archive: write visits", READ_TIMEOUT, async |lease| {
            on!(lease, |connection, Sql| {
                let mut insert = QueryBuilder::<Sql>::new("INSERT INTO visits (day, visitors) VALUES (");
                insert.push_bind(day.number()).push(", ").push_bind(number(visitors)).push(")");
                insert.push(Sql::KEEP_GREATER_VISITS);
                insert.build().execute(&mut *connection).await?;
                Ok(())
            })
        })
        .await
    }

    /// Returns the number of visitors on each of at most `limit` recorded days up to `newest`, newest first.
    pub async fn visits(&self, newest: Day, limit: usize) -> Result<Vec<(Day, u64)>, Error> {
        budget::spend(Resource::Statements, 1)?;
        let visits: Vec<(i64, i64)> = self
            .ask("archive: visits", READ_TIMEOUT, async |lease| {
                on!(lease, |connection, Sql| {
                    let mut read = QueryBuilder::<Sql>::new("SELECT day, visitors FROM visits WHERE day <= ");
                    read.push_bind(newest.number()).push(" ORDER BY day DESC LIMIT ");
                    read.push_bind(number(limit as u64));
                    Ok(read.build_query_as::<(i64, i64)>().fetch_all(&mut *connection).await?)
                })
            })
            .await?;
        let visits = visits.into_iter();
        Ok(visits.map(|(day, visitors)| (Day::from_number(day), visitors.unsigned_abs())).collect())
    }
}
