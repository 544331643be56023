//! `fanfold check`: whether what is stored hangs together.

use std::process::ExitCode;

use clap::Args;

use crate::app::App;
use crate::app::check::{Findings, USERS_AT_A_TIME};
use crate::cli::{Beside, Data, Outcome, progress};
use crate::config::DataConfig;

/// Looks whether what is stored hangs together.
///
/// Compares both directions of every follow, and usernames with users. May run beside a server. Ends
/// with exit code 1 if it found something that was not repaired.
#[derive(Args, Debug)]
pub(super) struct Check {
    /// Mend what is found: the list of those followed decides, and names that lead nowhere are freed.
    #[arg(long)]
    repair: bool,

    #[command(flatten)]
    data: DataConfig,
}

impl Check {
    pub(super) async fn run(self) -> Outcome {
        let repair = self.repair;
        let data = Data::open(self.data, Beside::Server).await?;
        data.work(async |app| Ok(report(check(app, repair).await?, repair))).await
    }
}

async fn check(app: &App, repair: bool) -> Result<Findings, crate::app::error::Error> {
    let mut findings = app.check_intents(repair).await?;
    let shards = app.name_shards();
    let bar = progress::bar("names", shards.into());
    for shard in 0..shards {
        findings += app.check_names(shard, repair).await?;
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
    Ok(findings)
}

fn report(findings: Findings, repair: bool) -> ExitCode {
    let Findings { users, edges, torn_edges, dangling_edges, wrong_names, unfinished } = findings;
    println!("users:                       {users}");
    println!("follows:                     {edges}");
    println!("follows that are torn:       {torn_edges}");
    println!("follows of no user:          {dangling_edges}");
    println!("names that lead elsewhere:   {wrong_names}");
    println!("operations under way:        {unfinished}");
    match (findings.faults(), repair) {
        (0, _) => println!("all is well"),
        (faults, true) => println!("{faults} faults were repaired"),
        (faults, false) => {
            println!("{faults} faults were found; `fanfold check --repair` mends them");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
