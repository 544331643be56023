//! The GraphQL API: a schema over the application layer.
//!
//! Types are thin: they hold `model` values and load everything else through a request-scoped [`loader`]. Not here:
//! rules (`app`) and request transport (`http`).
//!
#![doc = include_str!("README.md")]

mod context;
mod cursor;
mod directive;
mod document;
mod entries;
pub mod error;
pub mod export;
mod id;
pub(crate) mod json;
mod loader;
mod mutation;
pub mod pace;
mod page;
mod paging;
mod preloaded;
mod query;
mod selection;
mod subscription;
mod turn;
mod types;
mod usage;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use async_graphql::{Request, SDLExportOptions, ValidationMode};
use futures::FutureExt as _;
use futures::future::{BoxFuture, join};
use futures::stream::{Stream, StreamExt as _, unfold};
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

use crate::app::App;
use crate::app::charge::Charge;
use crate::app::error::Error;
use crate::app::viewer::{Caller, Viewer};
use crate::budget::{Budget, Resource};
use crate::config::{GraphqlConfig, RulesConfig};
use crate::graphql::context::Scope;
use crate::graphql::document::{Documents, Operation, OperationType, cost};
use crate::graphql::error::{Code, GraphqlResponse, RequestError};
use crate::graphql::mutation::Mutation;
use crate::graphql::pace::{Pace, Paced, Room, Space};
use crate::graphql::query::Query;
use crate::graphql::subscription::Subscription;
use crate::graphql::turn::Turns;
use crate::model::address::Address;

type Schema = async_graphql::Schema<Query, Mutation, Subscription>;

pub use crate::graphql::document::Summary;
pub use crate::graphql::document::hash::DocumentHash;
pub use crate::graphql::document::trusted::TrustedError;
pub use crate::graphql::turn::LARGE_REQUEST;

/// The GraphQL API: accepts documents and returns responses.
#[derive(Clone)]
pub struct Api {
    schema: Schema,
    documents: Arc<Documents>,
    config: GraphqlConfig,
    app: App,
    turns: Turns,
    /// Tasks that run to completion even if the client disconnects.
    tasks: TaskTracker,
}

/// A request as received, before validation.
#[derive(Debug, Default)]
pub struct GraphqlRequest {
    /// The document's text; `None` if the request contains only its hash.
    pub query: Option<String>,
    /// The document's hash, as claimed by the client.
    pub hash: Option<DocumentHash>,
    /// The name of the operation to execute; required if the document has several operations.
    pub operation_name: Option<String>,
    /// The variable values: an object, or null if there are none.
    pub variables: serde_json::Value,
}

/// An operation that is ready for execution.
pub struct Plan(Operation);

impl Plan {
    /// Returns true if the operation is a query.
    #[must_use]
    pub fn reads(&self) -> bool {
        self.0.kind == OperationType::Query
    }

    /// Returns true if the operation is a subscription.
    #[must_use]
    pub fn watches(&self) -> bool {
        self.0.kind == OperationType::Subscription
    }

    /// Returns the operation's predicted cost: roughly the number of objects it loads.
    #[must_use]
    pub fn objects(&self) -> u64 {
        self.0.costs.total()
    }

    /// Returns the approximate memory that the operation occupies while it waits, in bytes.
    #[must_use]
    pub fn weight(&self) -> usize {
        self.0.weight
    }

    /// Returns the operation's summary, for logs, metrics and traces.
    #[must_use]
    pub fn summary(&self) -> Summary {
        self.0.summary()
    }

    /// Returns true if the operation is a query whose response is the same for all callers.
    #[must_use]
    pub fn is_public(&self) -> bool {
        self.reads() && self.0.is_public
    }

    /// Rejects plans that together exceed the limits for a single operation.
    pub fn check_together<'a>(plans: impl Iterator<Item = &'a Self>) -> Result<(), RequestError> {
        cost::check_together(plans.map(|plan| &plan.0.costs))
    }
}

impl Api {
    /// Returns the hosts that users' pictures may be on.
    #[must_use]
    pub fn media_hosts(&self) -> &[String] {
        &self.app.rules().media.media_hosts
    }

    /// Opens the API over an application. Reads the files of trusted documents, if configured.
    pub fn open(app: App, config: GraphqlConfig) -> Result<Self, TrustedError> {
        let documents = Arc::new(Documents::open(&sdl(), &config)?);
        Ok(Self { schema: schema(), documents, config, app, turns: Turns::new(), tasks: TaskTracker::new() })
    }

    /// Starts a thread that reads the files of trusted documents again when one of them changes, and whenever `asked`
    /// receives a message. The new documents replace the former ones at once, unless a file is broken. The thread ends
    /// when the sender is dropped.
    pub fn keep_trusted_current(&self, asked: Receiver<()>) -> io::Result<()> {
        self.documents.keep_trusted_current(asked)
    }

    /// Returns the underlying application.
    #[must_use]
    pub fn app(&self) -> &App {
        &self.app
    }

    /// Returns the number of cached parsed documents and the number of cached persisted queries.
    #[must_use]
    pub fn cached_documents(&self) -> (usize, usize) {
        self.documents.cached()
    }

    /// Prepares a request's document for execution. Does not access the store.
    pub fn plan(&self, incoming: GraphqlRequest) -> Result<Plan, RequestError> {
        self.documents.operation(incoming).map(Plan)
    }

    /// Admits the caller with this token and address to execute these plans. Identifies and charges the caller, and
    /// returns them with their remaining rate limit. Makes as many round trips as [`App::admit`].
    pub async fn admit(
        &self,
        plans: impl Iterator<Item = &Plan>,
        token: Option<&str>,
        address: Option<Address>,
    ) -> Result<Caller, Error> {
        self.app.admit(token, address, self.charge(plans)).await
    }

    /// Admits a caller again without charging them. Fails if their session has ended since they were first admitted.
    pub async fn admit_again(&self, token: Option<&str>, caller: Caller) -> Result<Caller, Error> {
        let Caller { address, rate_limit, .. } = caller;
        Ok(Caller { rate_limit, ..self.app.admit(token, address, None).await? })
    }

    /// Returns the charge for these plans; `None` if there is no rate limit.
    fn charge<'a>(&self, plans: impl Iterator<Item = &'a Plan>) -> Option<Charge> {
        // A plan that loads no objects still costs one token.
        self.charge_of(plans.map(|Plan(operation)| operation.costs.total().max(1)).sum())
    }

    /// Returns the charge for this cost; `None` if there is no rate limit.
    fn charge_of(&self, cost: u64) -> Option<Charge> {
        let number = |cost| u32::try_from(cost).unwrap_or(u32::MAX);
        let per_minute = self.config.graphql_rate_limit?;
        let capacity = per_minute.max(number(self.config.graphql_cost_limit));
        // A charge never exceeds the bucket's capacity.
        Some(Charge { cost: number(cost).min(capacity), capacity, per_minute })
    }

    /// Charges the caller for usage beyond the predicted cost, in the background.
    fn charge_afterwards(&self, viewer: &Viewer, address: Option<Address>, excess: u64) {
        let Some(charge) = self.charge_of(excess).filter(|charge| charge.cost > 0) else { return };
        let (app, viewer) = (self.app.clone(), viewer.clone());
        self.tasks.spawn(async move { app.charge_afterwards(&viewer, address, charge).await });
    }

    /// Charges an address for a rejected document. The charge grows with the document's length, because longer
    /// documents take longer to read. The address is charged because the sender is not authenticated yet, and an
    /// unverified token must not be charged.
    pub fn charge_rejected(&self, address: Option<Address>, bytes: usize) {
        const BYTES: u64 = 1_024;
        self.charge_afterwards(&Viewer::Anonymous, address, 1 + bytes as u64 / BYTES);
    }

    /// Executes a plan for an admitted caller if they have enough tokens left, within the configured timeout. Internal
    /// errors contain `request_id` and are logged with it.
    ///
    /// Dropping this future cancels a query; a mutation runs to completion.
    pub async fn execute(&self, plan: Plan, caller: Caller, request_id: &str) -> GraphqlResponse {
        let (budget, cost) = (self.budget(), plan.0.costs.total());
        let (viewer, address) = (caller.viewer.clone(), caller.address);
        let response = self.execute_within(&budget, plan, caller, request_id).await;
        self.settle(&budget, cost, &viewer, address);
        response
    }

    /// Runs `work`, which parses and plans a request of this size, in bytes. If it is large, first waits for a turn and
    /// then runs on its own thread. Fails if the wait exceeds the query timeout.
    pub async fn plan_in_turn<T: Send + 'static>(
        &self,
        bytes: usize,
        address: Option<Address>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, RequestError> {
        if bytes <= LARGE_REQUEST {
            return Ok(work());
        }
        let turn = self.in_time(self.turns.wait(address)).await?;
        Ok(turn.run(async move { work() }.boxed()).await)
    }

    /// Runs `work`, which executes operations of this total cost and serializes their responses. Expensive work first
    /// waits for a turn and then runs on its own thread. Fails if the wait exceeds the query timeout.
    pub async fn in_turn<T: Send + 'static>(
        &self,
        cost: u64,
        address: Option<Address>,
        work: BoxFuture<'static, T>,
    ) -> Result<T, RequestError> {
        let turn = self.in_time(self.turns.enter(cost, address)).await?;
        Ok(turn.run(work).await)
    }

    /// Waits for what an operation needs before it can run. Fails if the wait exceeds the query timeout.
    pub async fn in_time<T>(&self, wait: impl Future<Output = T>) -> Result<T, RequestError> {
        let timeout = self.config.query_timeout();
        let waited = tokio::time::timeout(timeout, wait).await;
        waited.map_err(|_elapsed| RequestError::new(Code::Timeout, took_longer(timeout)))
    }

    /// Returns a budget for one operation, or for several operations that share it.
    #[must_use]
    pub fn budget(&self) -> Arc<Budget> {
        let RulesConfig { relation, timeline, .. } = self.app.rules();
        let GraphqlConfig { budget, graphql_cost_limit, .. } = &self.config;
        Budget::new(budget.limits(
            *graphql_cost_limit,
            relation.relation_follow_limit,
            timeline.timeline_strategy,
        ))
    }

    /// Records how much of the budget the operations used. Charges the caller for usage beyond the predicted cost.
    pub fn settle(&self, budget: &Budget, cost: u64, viewer: &Viewer, address: Option<Address>) {
        usage::record(cost, budget);
        self.charge_afterwards(viewer, address, budget.cost(cost).saturating_sub(cost));
    }

    /// Executes a plan like [`Self::execute`], but without settling it and within a budget that other operations may
    /// share.
    pub async fn execute_within(
        &self,
        budget: &Arc<Budget>,
        plan: Plan,
        caller: Caller,
        request_id: &str,
    ) -> GraphqlResponse {
        if let Err(error) = check_rate_limit(&caller) {
            return GraphqlResponse::Rejected(error);
        }
        let app = if plan.reads() { self.app.for_query(&caller.viewer) } else { self.app.clone() };
        let scope = Arc::new(Scope::new(app, caller, Arc::clone(budget), Arc::clone(&plan.0.entries)));
        let summary = plan.summary();
        let span = tracing::trace_span!(
            "execute",
            "graphql.operation.type" = summary.kind,
            "graphql.operation.name" = summary.name()
        );
        let execute = async {
            if plan.reads() {
                self.query(plan, &scope, request_id).await
            } else {
                self.mutate(plan, scope, request_id).await
            }
        };
        execute.instrument(span).await
    }

    async fn query(&self, plan: Plan, scope: &Arc<Scope>, request_id: &str) -> GraphqlResponse {
        let timeout = self.config.query_timeout();
        let running = async {
            tokio::select! {
                response = self.run(plan, scope, request_id) => Ok(response),
                // The fields that are still being resolved would spend what the others could not.
                exceeded = scope.budget().over() => Err(exceeded),
            }
        };
        let Ok(response) = tokio::time::timeout(timeout, running).await else {
            return too_slow(&took_longer(timeout));
        };
        // Outside the timeout: slow recording of views must not discard the response.
        scope.record_views(&self.tasks).await;
        // A partial response could be mistaken for a complete response.
        match (response, scope.budget().exceeded()) {
            (Ok(response), None) => response,
            (Ok(_), Some(exceeded)) | (Err(exceeded), _) => {
                error::over(&exceeded, scope.budget().limit_of(Resource::ResponseBytes))
            }
        }
    }

    async fn mutate(&self, plan: Plan, scope: Arc<Scope>, request_id: &str) -> GraphqlResponse {
        let (api, name, timeout) = (self.clone(), request_id.to_owned(), self.config.mutation_timeout());
        let writing = async move {
            let noting = api.app.note_write(scope.viewer());
            let ((), response) = join(noting, api.run(plan, &scope, &name)).await;
            scope.record_views(&api.tasks).await;
            response
        };
        let writing = self.tasks.spawn(writing.in_current_span());
        match tokio::time::timeout(timeout, writing).await {
            Ok(Ok(response)) => response,
            Ok(Err(_panic)) => GraphqlResponse::Rejected(RequestError::internal(request_id)),
            Err(_elapsed) => {
                too_slow(&format!("{} It is still running and may yet take effect.", took_longer(timeout)))
            }
        }
    }

    async fn run(&self, plan: Plan, scope: &Arc<Scope>, request_id: &str) -> GraphqlResponse {
        let limit = scope.budget().limit_of(Resource::ResponseBytes);
        error::finish(self.schema.execute(request(plan, scope)).await, request_id, limit)
    }

    /// Executes a subscription for an admitted caller if they have enough tokens left. The stream yields a response for
    /// each event. Each event takes a place on the connection before it is read, and is charged like an operation, but
    /// to a bucket of its own.
    ///
    /// A response without data ends the stream. The corresponding event was not delivered; a client that resumes after
    /// the previous event receives it.
    ///
    /// The caller of this method must drop the stream when the session ends.
    pub fn subscribe(
        &self,
        plan: Plan,
        caller: Caller,
        request_id: &str,
        room: Option<Room>,
    ) -> Result<impl Stream<Item = Paced> + Send + use<>, RequestError> {
        check_rate_limit(&caller)?;
        let (viewer, address) = (caller.viewer.clone(), caller.address);
        let charge = self.charge(std::iter::once(&plan));
        let space = Space { room, turns: self.turns.clone(), address, cost: plan.objects() };
        let pace = Arc::new(Pace::new(self.app.clone(), viewer, charge, space));
        let budget = self.budget();
        let limit = budget.limit_of(Resource::ResponseBytes);
        let scope = Arc::new(Scope::new(self.app.clone(), caller, budget, Arc::clone(&plan.0.entries)));
        let request_id = request_id.to_owned();
        let events = self.schema.execute_stream(request(plan, &scope).data(Arc::clone(&pace)));
        let answers = events.map(move |response| error::finish(response, &request_id, limit));
        Ok(unfold(Some((Box::pin(answers), pace)), async |state| {
            let (mut answers, pace) = state?;
            let answer = answers.next().await?;
            let (place, turn) = pace.pass_on();
            let rest = (!answer.has_no_data()).then_some((answers, pace));
            Some((Paced { answer, place, turn }, rest))
        }))
    }

    /// Waits until all background tasks, such as the mutations of disconnected clients, have completed. Call this
    /// method once no more requests arrive.
    pub async fn finish(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// Rejects a caller who has too few tokens left.
pub fn check_rate_limit(caller: &Caller) -> Result<(), RequestError> {
    match caller.rate_limit.and_then(|limit| Some((limit, limit.wait?))) {
        Some((rate_limit, wait)) => Err(RequestError::rate_limited(rate_limit, wait)),
        None => Ok(()),
    }
}

fn request(plan: Plan, scope: &Arc<Scope>) -> Request {
    let mut request = Request::new(String::new()).data(Arc::clone(scope));
    request.set_parsed_query(plan.0.document);
    request
}

fn took_longer(timeout: Duration) -> String {
    let seconds = timeout.as_secs();
    format!("The operation took longer than {seconds} second{}.", if seconds == 1 { "" } else { "s" })
}

fn too_slow(message: &str) -> GraphqlResponse {
    GraphqlResponse::Rejected(RequestError::new(Code::Timeout, message))
}

/// Returns the schema in the schema definition language: the contract with clients.
#[must_use]
pub fn sdl() -> String {
    let options =
        SDLExportOptions::new().include_specified_by().use_space_ident().prefer_single_line_descriptions();
    let sdl = schema().sdl_with_options(options);
    format!("{}\n", sdl.trim_end())
}

/// Builds the schema. The library performs only minimal validation, because documents are fully validated before they
/// reach it.
fn schema() -> Schema {
    let schema = Schema::build(Query, Mutation::default(), Subscription);
    schema.register_output_type::<Code>().validation_mode(ValidationMode::Fast).finish()
}
