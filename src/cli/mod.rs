//! The commands of the `fanfold` program, and the steps that they share.
//!
//! Exit codes: 0 success; 1 failure, an invalid configuration file, or `check` or `doctor` found faults; 2 invalid
//! command line or environment; 130 interrupted. Results go to standard output, everything else to standard error.

mod archive;
mod check;
mod completions;
mod config;
mod deliver;
mod demo;
mod doctor;
mod export;
mod files;
mod healthcheck;
mod import;
mod invite;
mod man;
mod memory;
mod moderation;
mod named;
mod notify;
mod print;
mod private;
mod progress;
mod schema;
mod serve;
mod signal;
mod trace;
mod user;
mod world;

use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer};

use crate::app::{self, App};
use crate::archive::{Archive, LOG_DIRECTIVES};
use crate::cli::signal::Signals;
use crate::cli::trace::Traces;
use crate::config::{DataConfig, File, LogConfig, LogForm, ResolveError, Resolved, misspelt_variables};
use crate::http;
use crate::managed::Managed;
use crate::model::clock::SystemClock;
use crate::model::rng::Rng;
use crate::store::Store;
use crate::thread;

/// A self-hosted social graph and feed server: one GraphQL API over Redis.
///
/// `fanfold demo` creates a demo world, `fanfold serve` serves it at <http://127.0.0.1:8080>. Every option can also be
/// set in the environment, under the name shown next to it, and the server's options in a configuration file:
/// --redis-url is url in the section redis. The command line takes precedence, then the environment.
#[derive(Debug, Parser)]
#[command(name = "fanfold", version, max_term_width = 100)]
struct Cli {
    /// Configuration file [default: fanfold.toml in the data directory, if there is one].
    ///
    /// `fanfold config print --defaults` prints a file to start from.
    #[arg(long, global = true, value_name = "FILE", env = "FANFOLD_CONFIG")]
    config: Option<PathBuf>,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(Box<serve::Serve>),
    Deliver(deliver::Deliver),
    Archive(archive::Archive),
    Healthcheck(healthcheck::Healthcheck),
    Schema(schema::Schema),
    Demo(demo::Demo),
    Import(import::Import),
    User(user::User),
    Post(moderation::Post),
    Report(moderation::Report),
    Moderator(moderation::Moderators),
    Invite(invite::Invite),
    Check(check::Check),
    Memory(memory::Memory),
    Config(config::Config),
    Completions(completions::Completions),
    Man(man::Man),
    Doctor(doctor::Doctor),
}

/// The result of a command: an exit code, or an error to print.
type Outcome = Result<ExitCode, Box<dyn Error + Send + Sync>>;

/// Runs the program's command line and returns the exit code.
#[must_use]
pub fn main() -> ExitCode {
    private::begin();
    let arguments: Vec<OsString> = env::args_os().collect();
    let (cli, resolved) = match parse(&arguments) {
        Ok(parsed) => parsed,
        Err(ResolveError::Usage(error)) => return end_with(&error),
        Err(error) => return fail(&error),
    };
    warn_of_exposed(resolved.file.as_ref());
    warn_of_misspelt();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().thread_stack_size(thread::STACK).build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return fail(&error),
    };
    let outcome = runtime.block_on(async {
        match cli.command {
            Command::Serve(command) => command.run().await,
            Command::Deliver(command) => command.run().await,
            Command::Archive(command) => command.run().await,
            Command::Healthcheck(command) => command.run().await,
            Command::Schema(command) => command.run(),
            Command::Demo(command) => command.run().await,
            Command::Import(command) => command.run().await,
            Command::User(command) => command.run().await,
            Command::Post(command) => command.run().await,
            Command::Report(command) => command.run().await,
            Command::Moderator(command) => command.run().await,
            Command::Invite(command) => command.run().await,
            Command::Check(command) => command.run().await,
            Command::Memory(command) => command.run().await,
            Command::Config(command) => command.run(&resolved),
            Command::Completions(command) => command.run(),
            Command::Man(command) => command.run(),
            Command::Doctor(command) => command.run().await,
        }
    });
    outcome.unwrap_or_else(|error| fail(&*error))
}

/// Parses a command line, together with the environment and the configuration file.
fn parse(arguments: &[OsString]) -> Result<(Cli, Resolved), ResolveError> {
    let resolved = Resolved::parse(&Cli::command(), arguments)?;
    let cli = Cli::from_arg_matches(&resolved.matches)?;
    Ok((cli, resolved))
}

/// Prints the help, or an error of the command line, and returns the exit code.
fn end_with(error: &clap::Error) -> ExitCode {
    // A closed pipe is not an error.
    let _ = error.print();
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(1))
}

/// Warns of variables of the environment that probably are to set an option, but do not. Names no value.
fn warn_of_misspelt() {
    for (name, near) in misspelt_variables(&Cli::command()) {
        complain(&format!("warning: no option has the variable {name}: did you mean {near}?"));
    }
}

/// Warns if a configuration file contains a password that other users of the machine can read.
fn warn_of_exposed(file: Option<&File>) {
    if let Some(file) = file.filter(|file| file.is_exposed()) {
        let path = file.path().display();
        complain(&format!("warning: others can read the passwords in {path}; set its mode to 600 or 640"));
    }
}

/// Prints an error with its chain of causes, and returns the exit code.
fn fail(error: &(dyn Error + 'static)) -> ExitCode {
    // A closed pipe is not an error: the reader of standard output may stop early, as `head` does.
    let io = error.downcast_ref::<io::Error>();
    if io.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
        return ExitCode::SUCCESS;
    }
    complain(&format!("error: {}", app::error::with_causes(error)));
    ExitCode::FAILURE
}

/// Returns an error of the application as a sentence for the operator: violated rules as they are.
fn plain(error: app::error::Error) -> Box<dyn Error + Send + Sync> {
    match error {
        app::error::Error::Rejected(app::error::Rejection::Rules(violations)) => {
            let rules: Vec<String> = violations.into_iter().map(|violation| violation.message).collect();
            rules.join(" ").into()
        }
        error => error.into(),
    }
}

/// Prints lines on standard output, all at once, since the reader may stop after the first. Fails if standard output is
/// closed or full.
fn say(text: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(format!("{text}\n").as_bytes()).and_then(|()| output.flush())
}

/// Prints a line on standard error. Ignores write errors.
fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Starts the log. Fails if a log has already been started.
fn begin_log(config: &LogConfig) -> Result<(), Box<dyn Error + Send + Sync>> {
    Ok(tracing_subscriber::registry().with(log(config)?).try_init()?)
}

/// Starts the log and the traces.
fn begin_log_and_traces(config: &LogConfig, traces: &Traces) -> Result<(), Box<dyn Error + Send + Sync>> {
    Ok(tracing_subscriber::registry().with(traces.layer()).with(log(config)?).try_init()?)
}

/// Returns the layer that writes the log.
fn log<S>(config: &LogConfig) -> Result<impl Layer<S> + use<S>, Box<dyn Error + Send + Sync>>
where
    S: tracing::Subscriber + for<'span> LookupSpan<'span>,
{
    let mut filter = EnvFilter::try_new(&config.log_filter)
        .map_err(|error| format!("--log-filter {:?} is not a filter: {error}", config.log_filter))?;
    for directive in LOG_DIRECTIVES.iter().chain(&http::LOG_DIRECTIVES) {
        filter = filter.add_directive(directive.parse()?);
    }
    if config.log_requests {
        filter = filter.add_directive("fanfold::http::log=debug".parse()?);
    }
    let log = tracing_subscriber::fmt::layer().with_writer(io::stderr).with_ansi(io::stderr().is_terminal());
    Ok(match config.log_format {
        LogForm::Text => log.boxed(),
        LogForm::Json => log.json().boxed(),
    }
    .with_filter(filter))
}

/// The open stores of a command, and the Redis server if Fanfold runs it.
struct Data {
    app: App,
    managed: Option<Managed>,
}

/// The relation between a command and a server on the same data directory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Beside {
    /// The command is the server, and fails if another server is running.
    Alone,
    /// The command may run alongside a server, and then uses the server's Redis.
    Server,
}

impl Data {
    /// Connects to the Redis server at the configured URL, or to one that it starts in the data directory. If a signal
    /// arrives first, stops the server that it started and returns `None`.
    async fn open(
        DataConfig { mut redis, rules, archive }: DataConfig,
        beside: Beside,
        signals: &mut Signals,
    ) -> Result<Option<Self>, Box<dyn Error + Send + Sync>> {
        // An empty environment variable counts as unset.
        redis.redis_url = redis.redis_url.filter(|url| !url.expose().is_empty());
        private::close(&redis.data_dir);
        let archive = Archive::new(&archive, &redis.data_dir)?;
        let manage = async {
            match (&redis.redis_url, beside) {
                (Some(_), _) => Ok(None),
                (None, Beside::Alone) => Managed::start(&redis.data_dir).await.map(Some),
                (None, Beside::Server) => Managed::join(&redis.data_dir).await.map(Some),
            }
        };
        let managed = tokio::select! {
            managed = manage => managed?,
            () = signals.next() => return Ok(None),
        };
        if let Some(managed) = &managed {
            redis.redis_url = Some(managed.url().clone());
        }
        let opened = tokio::select! {
            opened = Store::open(&redis) => Some(opened),
            () = signals.next() => None,
        };
        if let Some(Ok(store)) = opened {
            let (clock, rng) = (Arc::new(SystemClock), Rng::from_system());
            let app = App::new(store, archive, clock, rng, rules);
            return Ok(Some(Self { app, managed }));
        }
        stop(managed).await;
        match opened {
            Some(Err(error)) => Err(error.into()),
            _ => Ok(None),
        }
    }

    /// Opens the archive. A wrong configuration is an error. An unreachable archive is not, since hot data can be
    /// served without the archive. Returns `None` if a signal arrives first.
    async fn with_archive(self, signals: &mut Signals) -> Result<Option<Self>, Box<dyn Error + Send + Sync>> {
        let opened = tokio::select! {
            opened = self.app.open_archive() => Some(opened),
            () = signals.next() => None,
        };
        match opened {
            Some(Ok(())) => Ok(Some(self)),
            Some(Err(error)) if error.is_archive_away() => {
                let error = &error as &dyn Error;
                tracing::warn!(error, "the archive is unavailable; old posts are left out until it recovers");
                Ok(Some(self))
            }
            Some(Err(error)) => {
                self.close().await;
                Err(error.into())
            }
            None => {
                self.close().await;
                Ok(None)
            }
        }
    }

    /// Opens the stores, runs `work` until it ends or a signal interrupts it, and closes the stores.
    async fn work(config: DataConfig, work: impl AsyncFnOnce(&App) -> Outcome) -> Outcome {
        let mut signals = Signals::listen();
        let Some(opened) = Self::open(config, Beside::Server, &mut signals).await? else {
            return Ok(interrupted());
        };
        let outcome = tokio::select! {
            outcome = work(&opened.app) => outcome,
            () = signals.next() => Ok(interrupted()),
        };
        opened.close().await;
        outcome
    }

    /// Closes the archive, and stops the Redis server if Fanfold runs it.
    async fn close(self) {
        self.app.close_archive().await;
        stop(self.managed).await;
    }
}

fn interrupted() -> ExitCode {
    complain("interrupted; run the command again to resume");
    ExitCode::from(130)
}

async fn stop(managed: Option<Managed>) {
    if let Some(managed) = managed {
        managed.stop().await;
    }
}

/// Runs `work` repeatedly until `stopping` turns true. After a panic, restarts it a second later.
async fn keep<W>(what: &'static str, stopping: watch::Receiver<bool>, work: impl Fn() -> W)
where
    W: Future<Output = ()> + Send + 'static,
{
    while !*stopping.borrow() {
        let mut worker = JoinSet::new();
        worker.spawn(work());
        if let Some(Err(_panic)) = worker.join_next().await {
            tracing::error!(what, "a worker panicked and will be restarted");
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
}

/// Runs `work`, which does not end by itself, and cancels it when `stopping` turns true.
async fn work_until(stopping: watch::Receiver<bool>, work: impl Future<Output = ()>) {
    tokio::select! {
        () = work => {}
        () = stopped(stopping) => {}
    }
}

/// Waits until `stopping` turns true, or its sender is dropped.
async fn stopped(mut stopping: watch::Receiver<bool>) {
    drop(stopping.wait_for(|stopping| *stopping).await);
}

/// Stops the service on a signal. A second signal ends the process at once.
async fn stop_on_signal(mut signals: Signals, stopping: Arc<watch::Sender<bool>>) {
    signals.next().await;
    tracing::info!("stopping; send another signal to stop at once");
    notify::stopping();
    stopping.send_replace(true);
    signals.next().await;
    std::process::exit(130);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_collector_no_spans_are_created_for_it() {
        let config =
            LogConfig { log_format: LogForm::Text, log_requests: true, log_filter: "info".to_owned() };
        let subscriber = tracing_subscriber::registry().with(log(&config).unwrap());
        tracing::subscriber::with_default(subscriber, || {
            assert!(tracing::trace_span!("redis").is_disabled());
            assert!(!tracing::error_span!("request").is_disabled());
        });
    }
}
