//! `fanfold serve`: the server.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::app::App;
use crate::cli::{Beside, Data, Outcome, Signals, begin_log, say, stop};
use crate::config::{DataConfig, HttpConfig, LogConfig};
use crate::graphql::Api;
use crate::http;

/// Serves the API, its schema and a playground.
///
/// Without --redis-url it starts a redis-server of its own in the data directory and stops it at the
/// end. Ends on SIGINT and SIGTERM, when the requests under way have been answered.
#[derive(Args, Debug)]
pub(super) struct Serve {
    #[command(flatten)]
    http: HttpConfig,
    #[command(flatten)]
    data: DataConfig,
    #[command(flatten)]
    log: LogConfig,
}

impl Serve {
    pub(super) async fn run(self) -> Outcome {
        begin_log(&self.log)?;
        let mut signals = Signals::listen();
        let address = self.http.listen;
        let cannot = |error| format!("cannot listen on {address} ({error}); choose another with --listen");
        let listener = TcpListener::bind(address).await.map_err(cannot)?;
        let Some(data) = Data::open(self.data, Beside::Alone, &mut signals).await? else {
            return Ok(ExitCode::SUCCESS);
        };
        let repairer = tokio::spawn(keep_repairing(data.app.clone()));
        let served = serve(listener, data.app, self.http, signals).await;
        repairer.abort();
        stop(data.managed).await;
        served
    }
}

/// Serves until a signal asks for the end; a second one ends the process at once.
async fn serve(listener: TcpListener, app: App, config: HttpConfig, mut signals: Signals) -> Outcome {
    let (stop_serving, stopping) = watch::channel(false);
    let router = http::router(Api::new(app), config.clone(), stopping.clone());
    say(&format!("Fanfold listens on http://{}/", listener.local_addr()?))?;
    tokio::spawn(async move {
        signals.next().await;
        tracing::info!("stopping; once more to stop at once");
        stop_serving.send_replace(true);
        signals.next().await;
        std::process::exit(130);
    });
    http::serve(listener, router, &config, stopping).await?;
    Ok(ExitCode::SUCCESS)
}

/// Runs the repairer, and begins it anew should it panic.
async fn keep_repairing(app: App) {
    loop {
        let repairer = app.clone();
        let mut rounds = JoinSet::new();
        rounds.spawn(async move { repairer.keep_repairing().await });
        rounds.join_next().await;
        tracing::error!("the repairer has stopped; it begins anew");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}
