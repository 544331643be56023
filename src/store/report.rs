//! Storage of open reports: one hash has their records, and a sorted set their order. A resolved report is removed.
//!
//! A record is `reporter ⇥ time ⇥ user ⇥ post ⇥ reason`; `post` is empty if the user as such is reported.
//!
//! Not here: the rules for reports (`app::moderation`).

use crate::model::clock::Timestamp;
use crate::model::id::{ReportId, UserId};
use crate::model::moderation::{Report, ReportReason, Reported};
use crate::model::page::{Direction, Page, Window};
use crate::store::command::{Command, call, command, several};
use crate::store::error::Error;
use crate::store::key::Keys;
use crate::store::script;

/// Number of open reports that a portion of a scan has, more or less.
const SCANNED: usize = 500;

/// A report that a user sends.
pub struct NewReport {
    /// The user who reports.
    pub reporter: UserId,
    /// The reported user or post.
    pub reported: Reported,
    /// Time of the report.
    pub at: Timestamp,
    /// The reason that the reporter gives.
    pub reason: ReportReason,
}

/// Returns the field of the ids that identifies who reports what.
fn field(reporter: UserId, reported: &Reported) -> String {
    match reported.post {
        Some(post) => format!("{reporter}:post:{post}"),
        None => format!("{reporter}:user:{}", reported.user),
    }
}

/// Returns the field of the number of open reports about a user.
fn about(user: UserId) -> String {
    format!("about:{user}")
}

/// Returns the field of the number of a user's open reports.
fn by(reporter: UserId) -> String {
    format!("by:{reporter}")
}

fn print(report: &NewReport) -> String {
    let NewReport { reporter, reported: Reported { user, post }, at, reason } = report;
    let post = post.map(|post| post.to_string()).unwrap_or_default();
    format!("{reporter}\t{}\t{user}\t{post}\t{}", at.as_millis(), reason.as_str())
}

fn parse(id: ReportId, record: &str) -> Option<Report> {
    let mut parts = record.splitn(5, '\t');
    let reporter = parts.next()?.parse().ok()?;
    let at = parts.next()?.parse().ok().map(Timestamp::from_millis)?;
    let user = parts.next()?.parse().ok()?;
    let post = match parts.next()? {
        "" => None,
        post => Some(post.parse().ok()?),
    };
    let reason = ReportReason::of_stored(parts.next()?);
    Some(Report { id, reporter, reported: Reported { user, post }, at, reason })
}

/// Adds a report, or replaces the reporter's open report of the same user or post. Returns its id; `None` if the
/// reporter already has `most` open reports.
pub fn add(keys: &Keys, report: &NewReport, most: u32) -> Command<Option<ReportId>> {
    let NewReport { reporter, reported, .. } = report;
    let add = call(&script::REPORT).key(&keys.next_report()).key(&keys.reports());
    let add = add.key(&keys.report_records()).key(&keys.report_ids()).key(&keys.report_counts());
    let add = add.arg(field(*reporter, reported)).arg(print(report));
    let add = add.arg(by(*reporter)).arg(about(reported.user)).arg(most);
    add.reply::<Option<u64>>().map(|id| Ok(id.and_then(ReportId::new)))
}

/// Reads an open report; `None` if there is no such report.
pub fn read(keys: &Keys, id: ReportId) -> Command<Option<Report>> {
    let read = command("HGET").key(&keys.report_records()).arg(id.get());
    let corrupt = move || Error::corrupt(format!("the record of report {id} is unreadable"));
    read.reply::<Option<String>>()
        .map(move |record| record.map(|record| parse(id, &record).ok_or_else(corrupt)).transpose())
}

/// Reads these open reports, in the same order. Leaves out those that were resolved in the meantime.
///
/// # Panics
/// If `ids` is empty.
pub fn read_all(keys: &Keys, ids: &[ReportId]) -> Command<Vec<Report>> {
    assert!(!ids.is_empty(), "at least one report is read");
    let ids = ids.to_vec();
    let read = command("HMGET").key(&keys.report_records()).args(ids.iter().map(|id| id.get()));
    read.reply::<Vec<Option<String>>>().walking(ids.len()).map(move |records| {
        let found = ids.into_iter().zip(records);
        Ok(found.filter_map(|(id, record)| parse(id, &record?)).collect())
    })
}

/// Reads a portion of the open reports, in no order, from a cursor of a scan; the first one is 0. Returns the next
/// cursor, which is 0 after the last portion. A report that is open throughout the scan is read at least once.
pub fn scan(keys: &Keys, cursor: u64) -> Command<(u64, Vec<Report>)> {
    let scan = command("HSCAN").key(&keys.report_records()).arg(cursor).arg("COUNT").arg(SCANNED);
    scan.reply::<(u64, Vec<(u64, String)>)>().walking(SCANNED).map(|(next, records)| {
        let read = |(id, record): (u64, String)| parse(ReportId::new(id)?, &record);
        Ok((next, records.into_iter().filter_map(read).collect()))
    })
}

/// Reads a page of the ids of open reports, newest first.
pub fn page(keys: &Keys, window: &Window<ReportId>) -> Command<Page<ReportId>> {
    let reports = keys.reports();
    let (older, newer) = (("ZREVRANGEBYSCORE", "-inf"), ("ZRANGEBYSCORE", "+inf"));
    let ((ahead, end), (behind, start)) = match window.direction {
        Direction::Forward => (older, newer),
        Direction::Backward => (newer, older),
    };
    let from = window.from.map_or_else(|| start.to_owned(), |from| format!("({from}"));
    let ahead = command(ahead).key(&reports).arg(from).arg(end).arg("LIMIT").arg(0).arg(window.size + 1);
    // Without a position, nothing is behind the page: no id is 0.
    let from = window.from.map_or(0, ReportId::get);
    let end = if window.from.is_some() { start } else { "0" };
    let behind = command(behind).key(&reports).arg(from).arg(end).arg("LIMIT").arg(0).arg(1);
    let window = *window;
    let read = several::<(Vec<u64>, Vec<u64>)>(&[ahead, behind]).walking(window.size);
    read.map(move |(ahead, behind)| {
        let ids = ahead.into_iter().filter_map(ReportId::new).collect();
        Ok(Page::beyond(&window, ids, !behind.is_empty()))
    })
}

/// Returns the number of open reports.
pub fn count(keys: &Keys) -> Command<u64> {
    command("ZCARD").key(&keys.reports()).reply()
}

/// Returns the numbers of open reports about these users and their posts, in the same order.
///
/// # Panics
/// If `users` is empty.
pub fn counts_about(keys: &Keys, users: &[UserId]) -> Command<Vec<u64>> {
    assert!(!users.is_empty(), "the reports about at least one user are counted");
    let read = command("HMGET").key(&keys.report_counts()).args(users.iter().map(|user| about(*user)));
    let read = read.reply::<Vec<Option<u64>>>().walking(users.len());
    read.map(|counts| Ok(counts.into_iter().map(Option::unwrap_or_default).collect()))
}

/// Returns the number of a user's open reports, and of open reports about the user and the user's posts.
pub fn concerning(keys: &Keys, user: UserId) -> Command<u64> {
    let read = command("HMGET").key(&keys.report_counts()).arg(by(user)).arg(about(user));
    read.reply::<(Option<u64>, Option<u64>)>()
        .map(|(by, about)| Ok(by.unwrap_or_default() + about.unwrap_or_default()))
}

/// Removes an open report. Returns false if it was removed before.
pub fn resolve(keys: &Keys, report: &Report) -> Command<bool> {
    let Report { id, reporter, reported, .. } = report;
    let resolve = call(&script::RESOLVE_REPORT).key(&keys.reports()).key(&keys.report_records());
    let resolve = resolve.key(&keys.report_ids()).key(&keys.report_counts()).arg(id.get());
    resolve.arg(field(*reporter, reported)).arg(by(*reporter)).arg(about(reported.user)).reply()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::id::PostId;

    #[test]
    fn the_format_of_a_report_is_part_of_the_stored_data() {
        let id = |number| UserId::new(number).unwrap();
        let reason = ReportReason::parse("spam\tand\nlies").unwrap();
        let at = Timestamp::from_millis(5);
        for (post, record, name) in [
            (None, "7\t5\t9\t\tspam\tand\nlies", "7:user:9"),
            (PostId::new(12), "7\t5\t9\t12\tspam\tand\nlies", "7:post:12"),
        ] {
            let (reporter, reported) = (id(7), Reported { user: id(9), post });
            let report = NewReport { reporter, reported, at, reason: reason.clone() };
            assert_eq!((print(&report).as_str(), field(reporter, &reported).as_str()), (record, name));
            let number = ReportId::new(3).unwrap();
            let read = Report { id: number, reporter, reported, at, reason: reason.clone() };
            assert_eq!(parse(number, record), Some(read));
        }
        let invisible = parse(ReportId::new(3).unwrap(), "7\t5\t9\t\t\u{3164}").unwrap();
        assert_eq!(invisible.reason.as_str(), "\u{3164}", "of a version that accepted it");
        for record in ["", "7\t5\t9", "7\tx\t9\t\tspam"] {
            assert_eq!(parse(ReportId::new(3).unwrap(), record), None, "{record:?}");
        }
    }
}
