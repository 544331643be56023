//! `fanfold check`: checks stored data for consistency.

use std::process::ExitCode;

use clap::Args;

use crate::app::App;
use crate::app::check::{Finding, Findings, USERS_AT_A_TIME};
use crate::app::error::Error;
use crate::cli::{Data, Outcome, progress, say};
use crate::config::DataConfig;

/// Checks stored data for consistency.
///
/// Compares both copies of every follow, request to follow and block; usernames with users; creation times and
/// visibilities of recent posts with their records; lists of replies and quotes with these posts; and counts of
/// archived posts with the archive. Also reports follows across a block, requests to public accounts, posts whose
/// delivery was given up, and posts that the archive rejected. May run alongside a server. The exit code is 1 if a
/// fault was found and not repaired.
#[derive(Args, Debug)]
pub(super) struct Check {
    /// Repair faults: a user's list of followed users takes precedence, usernames without a user are freed, and failed
    /// deliveries and rejected posts are retried.
    #[arg(long, env = "FANFOLD_CHECK_REPAIR")]
    repair: bool,

    #[command(flatten)]
    data: DataConfig,
}

impl Check {
    pub(super) async fn run(self) -> Outcome {
        let repair = self.repair;
        Data::work(self.data, async |app| report(app, repair).await).await
    }
}

/// Checks the data, repairs it if requested, and then checks again. Faults that remain after a repair count as
/// failures.
async fn report(app: &App, repair: bool) -> Outcome {
    let found = check(app, repair).await?;
    let left = if repair && found.faults() > 0 { check(app, false).await? } else { found };
    let verdict = match (found.faults(), left.faults()) {
        (0, _) if found[Finding::Unfinished] > 0 => {
            "no faults; operations in progress or interrupted are finished by a server within a minute, or by \
             `fanfold check --repair` after that"
                .to_owned()
        }
        (0, _) => "all is well".to_owned(),
        (found, 0) => format!("all of these {found} faults were repaired"),
        (_, left) if repair => format!("{left} faults could not be repaired"),
        (found, _) => format!("{found} faults were found; `fanfold check --repair` repairs them"),
    };
    say(&format!("{}{verdict}", print(&found)))?;
    Ok(if left.faults() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints a line for each finding, with the counts in one column.
fn print(findings: &Findings) -> String {
    let width = Finding::ALL.iter().map(|finding| finding.text().len()).max().unwrap_or_default() + 2;
    let line =
        |(finding, count): (Finding, u64)| format!("{:width$}{count}\n", format!("{}:", finding.text()));
    findings.iter().map(line).collect()
}

async fn check(app: &App, repair: bool) -> Result<Findings, Error> {
    let mut findings = app.check_intents(repair).await?;
    let shards = app.name_shards();
    let bar = progress::bar("names", shards.into());
    for shard in 0..shards {
        findings += app.check_names(shard, repair).await?;
        findings += app.check_subjects(shard, repair).await?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    let last = app.last_user_id().await?;
    let bar = progress::bar("users", last);
    for first in (1..=last).step_by(usize::try_from(USERS_AT_A_TIME).unwrap_or(usize::MAX)) {
        findings += app.check_users(first, repair).await?;
        bar.inc(USERS_AT_A_TIME);
    }
    bar.finish_and_clear();
    findings += check_archive(app, repair).await?;
    Ok(findings)
}

/// Checks the archived posts, if there are any.
async fn check_archive(app: &App, repair: bool) -> Result<Findings, Error> {
    let mut findings = Findings::default();
    if app.transit().await?.moved == 0 {
        return Ok(findings);
    }
    let bar = progress::bar("archived posts", app.last_post_id().await?);
    let mut next = Some(0);
    while let Some(after) = next {
        bar.set_position(after);
        let found;
        (found, next) = app.check_archived_posts(after, repair).await?;
        findings += found;
    }
    let mut next = Some(0);
    while let Some(after) = next {
        bar.set_position(after);
        let found;
        (found, next) = app.check_archived_lists(after, repair).await?;
        findings += found;
    }
    bar.finish_and_clear();
    Ok(findings)
}
