//! `fanfold serve`: the server.

use std::process::ExitCode;

use clap::Args;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::cli::{Beside, Data, Outcome, begin_log, interrupted, stop};
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
        let address = self.http.listen;
        let cannot = |error| format!("cannot listen on {address} ({error}); choose another with --listen");
        let listener = TcpListener::bind(address).await.map_err(cannot)?;
        let data = Data::open(self.data, Beside::Alone).await?;
        let app = data.app.clone();
        let repairer = tokio::spawn(async move { app.keep_repairing().await });

        let (stop_serving, stopping) = watch::channel(false);
        let router = http::router(Api::new(data.app), self.http.clone(), stopping.clone());
        println!("Fanfold listens on http://{}/", listener.local_addr()?);
        tokio::spawn(async move {
            interrupted().await;
            tracing::info!("stopping");
            stop_serving.send_replace(true);
        });
        let served = http::serve(listener, router, &self.http, stopping).await;
        repairer.abort();
        stop(data.managed).await;
        served?;
        Ok(ExitCode::SUCCESS)
    }
}
