//! `fanfold archive`: moves old posts to the archive, and reports on the archive.

use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Subcommand};
use futures::future::join;
use tokio::sync::watch;

use crate::app::App;
use crate::app::archive::{SILENT_AFTER, Transit};
use crate::cli::signal::nothing_to_reload;
use crate::cli::{
    Beside, Data, Outcome, Signals, begin_log, keep, notify, say, stop_on_signal, stopped, work_until,
};
use crate::config::{DataConfig, LogConfig};

/// Archives old posts, and reports the archive's state.
#[derive(Args, Debug)]
pub(super) struct Archive {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(Run),
    Status(Status),
    Adopt(Adopt),
}

/// Moves old posts and the visitor counts of past days from Redis to the archive.
///
/// Servers do this themselves, unless they run with --archive-in-server off. Any number of these processes may run,
/// with or without servers. If a process stops, another finishes its work. Exits on SIGINT and SIGTERM.
#[derive(Args, Debug)]
struct Run {
    /// Exit when nothing is left to archive.
    #[arg(long, env = "FANFOLD_ARCHIVE_UNTIL_EMPTY")]
    until_empty: bool,

    #[command(flatten)]
    data: DataConfig,
    #[command(flatten)]
    log: LogConfig,
}

/// Reports how many posts and days are waiting to be archived, and how many posts have been archived.
#[derive(Args, Debug)]
struct Status {
    #[command(flatten)]
    data: DataConfig,
}

/// Switches to another archive after the former archive was lost permanently.
///
/// Posts that are only in the former archive can no longer be read, even if that archive is found again. Stop all
/// servers before you run this command.
#[derive(Args, Debug)]
struct Adopt {
    #[command(flatten)]
    data: DataConfig,
}

impl Archive {
    pub(super) async fn run(self) -> Outcome {
        match self.command {
            Command::Run(command) => command.run().await,
            Command::Status(command) => Data::work(command.data, status).await,
            Command::Adopt(command) => Data::work(command.data, adopt).await,
        }
    }
}

impl Run {
    async fn run(self) -> Outcome {
        begin_log(&self.log)?;
        if self.until_empty {
            return Data::work(self.data, drain).await;
        }
        let mut signals = Signals::of_service(nothing_to_reload);
        let Some(data) = Data::open(self.data, Beside::Server, &mut signals).await? else {
            return Ok(ExitCode::SUCCESS);
        };
        let Some(data) = data.with_archive(&mut signals).await? else {
            return Ok(ExitCode::SUCCESS);
        };
        let (stop_archiving, stopping) = watch::channel(false);
        say(&format!("Fanfold archives ({})", data.app.archive_address()))?;
        notify::ready();
        tokio::spawn(stop_on_signal(signals, Arc::new(stop_archiving)));
        tokio::spawn(notify::keep_alive(None));
        keep_archiving(data.app.clone(), stopping).await;
        data.close().await;
        Ok(ExitCode::SUCCESS)
    }
}

async fn drain(app: &App) -> Outcome {
    app.mover().drain(SILENT_AFTER).await?;
    app.close_days().await?;
    status(app).await
}

async fn status(app: &App) -> Outcome {
    let Transit { pending, moving, oldest, moved, unmovable } = app.transit().await?;
    let place = app.archive_address();
    let oldest = oldest.as_secs();
    say(&format!(
        "archive:           {place}\n\
         posts waiting:     {pending}\n\
         posts on the way:  {moving}\n\
         oldest of them:    {oldest} s\n\
         posts rejected:    {unmovable}\n\
         posts archived:    {moved}"
    ))?;
    say(&format!("days waiting:      {}", app.days_to_close().await?))?;
    say(&format!("posts there now:   {}", app.archived_count().await?))?;
    Ok(ExitCode::SUCCESS)
}

async fn adopt(app: &App) -> Outcome {
    app.adopt_archive().await?;
    say(&format!(
        "from now on, old posts are in this archive: {}\n\
         `fanfold check --repair` counts each user's posts in it",
        app.archive_address()
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Runs a mover and archives past days until `stopping` turns true.
pub(super) async fn keep_archiving(app: App, stopping: watch::Receiver<bool>) {
    let until = stopping.clone();
    let moving = keep("archive", stopping.clone(), || app.mover().work(stopped(until.clone())));
    let closing = keep("visits", stopping, || {
        let (app, until) = (app.clone(), until.clone());
        async move { work_until(until, app.keep_closing_days()).await }
    });
    join(moving, closing).await;
}
