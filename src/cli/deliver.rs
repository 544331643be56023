//! `fanfold deliver`: delivers posts to home timelines, in a process of its own.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use futures::future::join_all;
use tokio::sync::watch;

use crate::app::App;
use crate::cli::signal::nothing_to_reload;
use crate::cli::{Beside, Data, Outcome, Signals, begin_log, keep, notify, say, stop_on_signal, stopped};
use crate::config::{DataConfig, LogConfig};

/// Delivers posts to home timelines.
///
/// Servers do this themselves, unless they run with --delivery-in-server off. Any number of these processes may run,
/// with or without servers, on any machine that can reach Redis. If a process stops, another finishes its work. Exits
/// on SIGINT and SIGTERM.
#[derive(Args, Debug)]
pub(super) struct Deliver {
    /// Exit when nothing is left to deliver.
    #[arg(long, env = "FANFOLD_DELIVER_UNTIL_EMPTY")]
    until_empty: bool,

    #[command(flatten)]
    data: DataConfig,
    #[command(flatten)]
    log: LogConfig,
}

impl Deliver {
    pub(super) async fn run(self) -> Outcome {
        begin_log(&self.log)?;
        if self.until_empty {
            return Data::work(self.data, drain).await;
        }
        let mut signals = Signals::of_service(nothing_to_reload);
        let Some(data) = Data::open(self.data, Beside::Server, &mut signals).await? else {
            return Ok(ExitCode::SUCCESS);
        };
        let (stop_delivering, stopping) = watch::channel(false);
        say("Fanfold delivers")?;
        notify::ready();
        tokio::spawn(stop_on_signal(signals, Arc::new(stop_delivering)));
        tokio::spawn(notify::keep_alive(None));
        keep_delivering(data.app.clone(), stopping).await;
        data.close().await;
        Ok(ExitCode::SUCCESS)
    }
}

async fn drain(app: &App) -> Outcome {
    /// Timeout after which a silent worker is presumed dead, and its jobs are taken over.
    const IDLE: Duration = Duration::from_secs(5);
    for mut worker in app.workers() {
        worker.drain(IDLE).await?;
    }
    let backlog = app.backlog().await?;
    say(&format!("left for later: {}\ngiven up:       {}", backlog.jobs + backlog.sweeps, backlog.failed))?;
    Ok(ExitCode::SUCCESS)
}

/// Runs a worker for each partition until `stopping` turns true.
pub(super) async fn keep_delivering(app: App, stopping: watch::Receiver<bool>) {
    let work = |partition| {
        let (app, until) = (app.clone(), stopping.clone());
        keep("delivery", stopping.clone(), move || app.worker(partition).apart().work(stopped(until.clone())))
    };
    join_all((0..app.delivery_partitions()).map(work)).await;
}
