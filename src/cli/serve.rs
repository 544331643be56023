//! `fanfold serve`: the server.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::app::App;
use crate::cli::deliver::keep_delivering;
use crate::cli::{Beside, Data, Outcome, Signals, begin_log, say, stop, stop_on_signal};
use crate::config::{DataConfig, DeliveryConfig, HttpConfig, LogConfig, Switch};
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
    delivery: DeliveryConfig,
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
        let (stop_serving, stopping) = watch::channel(false);
        let stop_serving = Arc::new(stop_serving);
        let repairer = tokio::spawn(keep_repairing(data.app.clone()));
        let delivering = (self.delivery.deliver == Switch::On)
            .then(|| tokio::spawn(keep_delivering(data.app.clone(), stopping.clone())));
        tokio::spawn(stop_on_signal(signals, Arc::clone(&stop_serving)));
        let served = serve(listener, data.app, self.http, stopping).await;
        // Also if serving has ended by itself.
        stop_serving.send_replace(true);
        repairer.abort();
        if let Some(mut delivering) = delivering {
            // What is not given back in this time is taken over.
            if tokio::time::timeout(Duration::from_secs(1), &mut delivering).await.is_err() {
                delivering.abort();
            }
        }
        stop(data.managed).await;
        served
    }
}

async fn serve(
    listener: TcpListener,
    app: App,
    config: HttpConfig,
    stopping: watch::Receiver<bool>,
) -> Outcome {
    let router = http::router(Api::new(app), config.clone(), stopping.clone());
    say(&format!("Fanfold listens on http://{}/", listener.local_addr()?))?;
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
