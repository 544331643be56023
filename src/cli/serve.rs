//! `fanfold serve`: runs the server.

use std::error::Error;
use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use clap::Args;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::app::App;
use crate::cli::archive::keep_archiving;
use crate::cli::deliver::keep_delivering;
use crate::cli::files;
use crate::cli::signal::nothing_to_reload;
use crate::cli::trace::Traces;
use crate::cli::{
    Beside, Data, Outcome, Signals, begin_log, begin_log_and_traces, keep, notify, say, stop_on_signal,
    work_until,
};
use crate::config::{
    DutyConfig, GraphqlConfig, HttpConfig, ListenAddress, ListenConfig, ServerConfig, Switch,
};
use crate::graphql::Api;
use crate::http::{self, Listener, Listeners};
use crate::worker::{self, Workers};

/// Timeout for flushing the last traces, unless `--http-shutdown-timeout` is shorter.
const LAST_TRACES: Duration = Duration::from_secs(3);

/// Serves the API, its schema and the web pages.
///
/// Without --redis-url, the server starts its own redis-server in the data directory, and stops it at exit. On SIGINT
/// and SIGTERM, the server finishes the requests in progress and exits. On SIGHUP, it reads the files of trusted
/// documents again.
#[derive(Args, Debug)]
pub(super) struct Serve {
    #[command(flatten)]
    config: ServerConfig,
}

impl Serve {
    pub(super) async fn run(self) -> Outcome {
        let traces = self.config.trace.collector().map(Traces::begin).transpose()?;
        match &traces {
            Some(traces) => begin_log_and_traces(&self.config.log, traces)?,
            None => begin_log(&self.config.log)?,
        }
        http::begin_figures();
        let timeout = self.config.http.shutdown_timeout().min(LAST_TRACES);
        let served = self.serve().await;
        if let Some(traces) = traces {
            traces.finish(timeout).await;
        }
        served
    }

    async fn serve(self) -> Outcome {
        let (mut signals, reloads) = listen(&self.config.graphql);
        let threads = self.config.http.http_threads.map_or_else(worker::processors, usize::from);
        let files = files::for_connections(&self.config.data, threads);
        let workers =
            Workers::start(threads).map_err(|error| format!("cannot start {threads} threads: {error}"))?;
        let listeners = bind(&self.config.http.addresses).await?;
        let Some(data) = Data::open(self.config.data, Beside::Alone, &mut signals).await? else {
            return Ok(ExitCode::SUCCESS);
        };
        let Some(data) = data.with_archive(&mut signals).await? else {
            return Ok(ExitCode::SUCCESS);
        };
        if let Err(error) = data.app.open_jwt().await {
            data.close().await;
            return Err(error.into());
        }
        // The first requests must not depend on Redis accepting connections at that moment.
        workers.on_each(|| connect(data.app.clone())).await;
        let api = match open_api(data.app.clone(), self.config.graphql, reloads) {
            Ok(api) => api,
            Err(error) => {
                data.close().await;
                return Err(error);
            }
        };
        let (stop_serving, stopping) = watch::channel(false);
        let stop_serving = Arc::new(stop_serving);
        let duties = begin_duties(&self.config.duties, &data.app, &stopping);
        tokio::spawn(stop_on_signal(signals, Arc::clone(&stop_serving)));
        let served = serve(listeners, api, self.config.http, &workers, files, stopping).await;
        // The server may also have stopped without a signal.
        stop_serving.send_replace(true);
        end_duties(duties).await;
        data.close().await;
        served
    }
}

/// Listens for signals. The receiver gets a message for each SIGHUP that asks to read the trusted documents again.
fn listen(config: &GraphqlConfig) -> (Signals, Receiver<()>) {
    let (reload, reloads) = sync_channel(1);
    if config.trusted_files().is_empty() {
        return (Signals::of_service(nothing_to_reload), reloads);
    }
    let reload = move || {
        // If the channel is full, the message in it covers this signal.
        let _ = reload.try_send(());
    };
    (Signals::of_service(reload), reloads)
}

fn open_api(
    app: App,
    config: GraphqlConfig,
    reloads: Receiver<()>,
) -> Result<Api, Box<dyn Error + Send + Sync>> {
    let api = Api::open(app, config)?;
    api.keep_trusted_current(reloads)?;
    Ok(api)
}

/// Opens a worker's connections to Redis. If that fails, its first request tries again.
async fn connect(app: App) {
    if let Err(error) = app.store().connect().await {
        tracing::warn!(error = &error as &dyn Error, "a worker could not connect to Redis");
    }
}

/// Starts to listen. Connections wait until the server is ready.
async fn bind(addresses: &ListenConfig) -> Result<Listeners, Box<dyn Error + Send + Sync>> {
    let main = bind_one(&addresses.http_listen, "--http-listen").await?;
    // If the default port is in use, the server does not choose another: a probe would reach another server.
    let admin = match addresses.admin() {
        Some(address) => Some(bind_one(&address, "--http-admin-listen").await?),
        None => None,
    };
    Ok(Listeners { main, admin })
}

async fn bind_one(address: &ListenAddress, option: &str) -> Result<Listener, String> {
    let bound = Listener::bind(address).await;
    bound.map_err(|error| format!("cannot listen on {address} ({error}); choose another with {option}"))
}

/// Returns the lines that name a server's addresses.
fn introduction(listeners: &Listeners) -> io::Result<String> {
    let main = format!("Fanfold listens on {}", shown(&listeners.main.address()?));
    let Some(admin) = &listeners.admin else { return Ok(main) };
    Ok(format!("{main}\nMetrics and probes are on {}", shown(&admin.address()?)))
}

fn shown(address: &ListenAddress) -> String {
    match address {
        ListenAddress::Tcp(address) => format!("http://{address}/"),
        ListenAddress::Unix(_) => address.to_string(),
    }
}

async fn serve(
    listeners: Listeners,
    api: Api,
    config: HttpConfig,
    workers: &Workers,
    files: usize,
    stopping: watch::Receiver<bool>,
) -> Outcome {
    say(&introduction(&listeners)?)?;
    notify::ready();
    tokio::select! {
        () = http::serve(listeners, api, config, workers, files, stopping) => {}
        () = notify::keep_alive(Some(workers)) => {}
    }
    Ok(ExitCode::SUCCESS)
}

/// Starts a server's background work.
fn begin_duties(config: &DutyConfig, app: &App, stopping: &watch::Receiver<bool>) -> JoinSet<()> {
    let mut duties = JoinSet::new();
    let (repairer, until) = (app.clone(), stopping.clone());
    duties.spawn(keep("repair", stopping.clone(), move || {
        let (repairer, until) = (repairer.clone(), until.clone());
        async move { work_until(until, repairer.keep_repairing()).await }
    }));
    let (accounts, until) = (app.clone(), stopping.clone());
    duties.spawn(keep("accounts", stopping.clone(), move || {
        let (accounts, until) = (accounts.clone(), until.clone());
        async move { Box::pin(work_until(until, accounts.keep_working_on_accounts())).await }
    }));
    let (converter, until) = (app.clone(), stopping.clone());
    duties.spawn(keep("convert", stopping.clone(), move || {
        let (converter, until) = (converter.clone(), until.clone());
        async move { Box::pin(work_until(until, converter.keep_converting_entries())).await }
    }));
    let (listening, until) = (app.clone(), stopping.clone());
    duties.spawn(keep("listen", stopping.clone(), move || {
        let (app, until) = (listening.clone(), until.clone());
        async move { Box::pin(work_until(until, app.keep_listening())).await }
    }));
    let (keys, until) = (app.clone(), stopping.clone());
    duties.spawn(keep("fetch JWT keys", stopping.clone(), move || {
        let (app, until) = (keys.clone(), until.clone());
        async move { work_until(until, app.keep_jwt_keys_current()).await }
    }));
    if config.delivery_in_server == Switch::On {
        duties.spawn(keep_delivering(app.clone(), stopping.clone()));
    }
    if config.archive_in_server == Switch::On {
        duties.spawn(keep_archiving(app.clone(), stopping.clone()));
    }
    duties
}

/// Waits up to a second for background work to hand back unfinished jobs. Other processes take over the rest.
async fn end_duties(mut duties: JoinSet<()>) {
    let ended = async { while duties.join_next().await.is_some() {} };
    // Dropping the set aborts tasks that have not ended in time.
    drop(tokio::time::timeout(Duration::from_secs(1), ended).await);
}
