//! How it is asked: the GraphQL schema over the application.
//!
//! Types are thin: they hold values of `model`, and what they do not hold they ask a request-scoped
//! [`loader`] for. Not here: rules (`app`), or how a request arrives (`http`).

mod connection;
mod context;
mod cursor;
mod document;
pub mod error;
mod id;
mod loader;
mod mutation;
pub mod pace;
mod query;
mod subscription;
mod turn;
mod types;
mod usage;

use std::sync::Arc;
use std::time::Duration;

use async_graphql::{Request, SDLExportOptions, ValidationMode};
use futures::future::BoxFuture;
use futures::stream::{Stream, StreamExt as _, unfold};
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

use crate::app::App;
use crate::app::error::Error;
use crate::app::rate_limit::Charge;
use crate::app::viewer::{Asker, Viewer};
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
pub use crate::graphql::document::persisted::{DocumentHash, TrustedError};

/// The API: documents in, answers out.
#[derive(Clone)]
pub struct Api {
    schema: Schema,
    documents: Arc<Documents>,
    config: GraphqlConfig,
    app: App,
    turns: Turns,
    /// What is finished even if nobody waits for it.
    tasks: TaskTracker,
}

/// A request as it came, its parts not looked at yet.
#[derive(Debug, Default)]
pub struct GraphqlRequest {
    /// The document; `None` if it is named by its hash alone.
    pub query: Option<String>,
    /// What the client says is the hash of the document.
    pub hash: Option<DocumentHash>,
    /// Which of its operations; needed if it has several.
    pub operation_name: Option<String>,
    /// Values for its variables: an object, or null for none.
    pub variables: serde_json::Value,
}

/// An operation that is ready to be executed.
pub struct Plan(Operation);

impl Plan {
    /// Whether it is a query.
    #[must_use]
    pub fn reads(&self) -> bool {
        self.0.kind == OperationType::Query
    }

    /// Whether it is a subscription.
    #[must_use]
    pub fn watches(&self) -> bool {
        self.0.kind == OperationType::Subscription
    }

    /// About how many objects it asks for.
    #[must_use]
    pub fn objects(&self) -> u64 {
        self.0.costs.total()
    }

    /// How many selections it has, those in fragments counted wherever they are spread: what it takes of memory.
    #[must_use]
    pub fn selections(&self) -> usize {
        pace::selections(&self.0.document)
    }

    /// What is told of it.
    #[must_use]
    pub fn summary(&self) -> Summary {
        self.0.summary()
    }

    /// Whether it is a query whose answer is the same whoever asks.
    #[must_use]
    pub fn is_public(&self) -> bool {
        self.reads() && self.0.is_public
    }

    /// Refuses plans that together ask for more than one may.
    pub fn check_together<'a>(plans: impl Iterator<Item = &'a Self>) -> Result<(), RequestError> {
        cost::check_together(plans.map(|plan| &plan.0.costs))
    }
}

impl Api {
    /// The API over an application. Reads the file of the documents that are to be trusted, if one is configured.
    pub fn open(app: App, config: GraphqlConfig) -> Result<Self, TrustedError> {
        let documents = Arc::new(Documents::open(&sdl(), &config)?);
        Ok(Self { schema: schema(), documents, config, app, turns: Turns::new(), tasks: TaskTracker::new() })
    }

    /// The application under the API.
    #[must_use]
    pub fn app(&self) -> &App {
        &self.app
    }

    /// How many documents are remembered as they were parsed, and how many texts by their hash.
    #[must_use]
    pub fn remembered_documents(&self) -> (usize, usize) {
        self.documents.remembered()
    }

    /// Makes a request's document ready to be executed. Asks nothing of the store.
    pub fn plan(&self, incoming: GraphqlRequest) -> Result<Plan, RequestError> {
        self.documents.operation(incoming).map(Plan)
    }

    /// Who asks with this token, from this address, for plans to be executed, and what is left to it when it has been
    /// charged for them. Round trips as for [`App::admit`].
    pub async fn admit(
        &self,
        plans: impl Iterator<Item = &Plan>,
        token: Option<&str>,
        address: Option<Address>,
    ) -> Result<Asker, Error> {
        self.app.admit(token, address, self.charge(plans)).await
    }

    /// The same asker, if its session has not ended since; it is not charged again.
    pub async fn admit_again(&self, token: Option<&str>, asker: Asker) -> Result<Asker, Error> {
        let Asker { address, rate_limit, .. } = asker;
        Ok(Asker { rate_limit, ..self.app.admit(token, address, None).await? })
    }

    /// What plans cost, of what one may ask for in a minute; `None` if that is not limited.
    fn charge<'a>(&self, plans: impl Iterator<Item = &'a Plan>) -> Option<Charge> {
        // Also what asks for no object is a request.
        self.charge_of(plans.map(|Plan(operation)| operation.costs.total().max(1)).sum())
    }

    /// A charge of so much; `None` if what may be asked for is not limited.
    fn charge_of(&self, cost: u64) -> Option<Charge> {
        let number = |cost| u32::try_from(cost).unwrap_or(u32::MAX);
        let per_minute = self.config.graphql_rate_limit?;
        let capacity = per_minute.max(number(self.config.graphql_cost_limit));
        // What may be asked for at all is never more than there may be.
        Some(Charge { cost: number(cost).min(capacity), capacity, per_minute })
    }

    /// Charges what was used beyond what was predicted, without waiting for it.
    fn charge_afterwards(&self, viewer: &Viewer, address: Option<Address>, excess: u64) {
        let Some(charge) = self.charge_of(excess).filter(|charge| charge.cost > 0) else { return };
        let (app, viewer) = (self.app.clone(), viewer.clone());
        self.tasks.spawn(async move { app.charge_afterwards(&viewer, address, charge).await });
    }

    /// Charges an address for a document that was rejected: by its length, on which the work of reading it depends. Who
    /// sent it is not known yet, and a token that no one has verified must not be charged.
    pub fn charge_rejected(&self, address: Option<Address>, bytes: usize) {
        const BYTES: u64 = 1_024;
        self.charge_afterwards(&Viewer::Anonymous, address, 1 + bytes as u64 / BYTES);
    }

    /// Executes a plan for who was admitted, if there was enough left, and waits for it as long as the configuration
    /// says. Internal errors carry `request_id`, and are logged with it.
    ///
    /// Who waits no longer takes a query away, but leaves no change half done.
    pub async fn execute(&self, plan: Plan, asker: Asker, request_id: &str) -> GraphqlResponse {
        let (budget, cost) = (self.budget(), plan.0.costs.total());
        let (viewer, address) = (asker.viewer.clone(), asker.address);
        let response = self.execute_within(&budget, plan, asker, request_id).await;
        self.settle(&budget, cost, &viewer, address);
        response
    }

    /// Runs `work`, which executes and prints operations of this total cost. Expensive work waits for a turn, at most as
    /// long as the timeout of a query, and runs on a thread of its own.
    pub async fn in_turn<T: Send + 'static>(
        &self,
        cost: u64,
        address: Option<Address>,
        work: BoxFuture<'static, T>,
    ) -> Result<T, RequestError> {
        let patience = self.config.query_timeout();
        let Ok(turn) = tokio::time::timeout(patience, self.turns.enter(cost, address)).await else {
            return Err(RequestError::new(Code::Timeout, took_longer(patience)));
        };
        Ok(turn.run(work).await)
    }

    /// A budget for an operation, or for several that share it.
    #[must_use]
    pub fn budget(&self) -> Arc<Budget> {
        let RulesConfig { relation, timeline, .. } = self.app.rules();
        Budget::new(self.config.budget.limits(relation.relation_follow_limit, timeline.timeline_strategy))
    }

    /// Records what operations have used of their budget, and charges for what that is beyond their predicted cost.
    pub fn settle(&self, budget: &Budget, cost: u64, viewer: &Viewer, address: Option<Address>) {
        usage::record(cost, budget);
        self.charge_afterwards(viewer, address, budget.cost().saturating_sub(cost));
    }

    /// The same as [`Self::execute`], not yet settled, within a budget that other operations may share.
    pub async fn execute_within(
        &self,
        budget: &Arc<Budget>,
        plan: Plan,
        asker: Asker,
        request_id: &str,
    ) -> GraphqlResponse {
        if let Err(error) = check_rate_limit(&asker) {
            return GraphqlResponse::Refused(error);
        }
        let scope = Arc::new(Scope::new(self.app.clone(), asker, Arc::clone(budget)));
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
        let patience = self.config.query_timeout();
        let Ok(response) = tokio::time::timeout(patience, self.run(plan, scope, request_id)).await else {
            return too_slow(&took_longer(patience));
        };
        // What was read is told even if this takes long.
        scope.record_views(&self.tasks).await;
        // A part of what was asked for would pass for the whole.
        match scope.budget().exceeded() {
            Some(exceeded) => error::over(&exceeded, scope.budget().limit_of(Resource::ResponseBytes)),
            None => response,
        }
    }

    async fn mutate(&self, plan: Plan, scope: Arc<Scope>, request_id: &str) -> GraphqlResponse {
        let (api, name, patience) = (self.clone(), request_id.to_owned(), self.config.mutation_timeout());
        let writing = async move {
            let response = api.run(plan, &scope, &name).await;
            scope.record_views(&api.tasks).await;
            response
        };
        let writing = self.tasks.spawn(writing.in_current_span());
        match tokio::time::timeout(patience, writing).await {
            Ok(Ok(response)) => response,
            Ok(Err(_panic)) => GraphqlResponse::Refused(RequestError::internal(request_id)),
            Err(_elapsed) => too_slow(&format!(
                "{} It is still under way, and may yet take effect.",
                took_longer(patience)
            )),
        }
    }

    async fn run(&self, plan: Plan, scope: &Arc<Scope>, request_id: &str) -> GraphqlResponse {
        let limit = scope.budget().limit_of(Resource::ResponseBytes);
        error::finish(self.schema.execute(request(plan, scope)).await, request_id, limit)
    }

    /// Executes a subscription for who was admitted, if there was enough left: an answer for each event, until it is
    /// dropped. Each is charged like an operation, and takes a place on the connection, before it is read. An answer
    /// without data is the last: its event was not told, and whoever goes on from the one before is told it. Who asks here
    /// sees to it that it ends when the session does.
    pub fn subscribe(
        &self,
        plan: Plan,
        asker: Asker,
        request_id: &str,
        room: Option<Room>,
    ) -> Result<impl Stream<Item = Paced> + Send + use<>, RequestError> {
        check_rate_limit(&asker)?;
        let (viewer, address) = (asker.viewer.clone(), asker.address);
        let charge = self.charge(std::iter::once(&plan));
        let space = Space { room, turns: self.turns.clone(), address, cost: plan.objects() };
        let pace = Arc::new(Pace::new(self.app.clone(), viewer, charge, space));
        let budget = self.budget();
        let limit = budget.limit_of(Resource::ResponseBytes);
        let scope = Arc::new(Scope::new(self.app.clone(), asker, budget));
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

    /// Waits until all changes are made that nobody waits for any more. To be called when no requests come.
    pub async fn finish(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// Refuses what there is not enough left for.
pub fn check_rate_limit(asker: &Asker) -> Result<(), RequestError> {
    match asker.rate_limit.and_then(|limit| Some((limit, limit.wait?))) {
        Some((rate_limit, wait)) => Err(RequestError::rate_limited(rate_limit, wait)),
        None => Ok(()),
    }
}

fn request(plan: Plan, scope: &Arc<Scope>) -> Request {
    let mut request = Request::new(String::new()).data(Arc::clone(scope));
    request.set_parsed_query(plan.0.document);
    request
}

fn took_longer(patience: Duration) -> String {
    let seconds = patience.as_secs();
    format!("The operation took longer than {seconds} second{}.", if seconds == 1 { "" } else { "s" })
}

fn too_slow(message: &str) -> GraphqlResponse {
    GraphqlResponse::Refused(RequestError::new(Code::Timeout, message))
}

/// The schema in the schema definition language: the contract with clients.
#[must_use]
pub fn sdl() -> String {
    let options =
        SDLExportOptions::new().include_specified_by().use_space_ident().prefer_single_line_descriptions();
    let sdl = schema().sdl_with_options(options);
    format!("{}\n", sdl.trim_end())
}

/// What is executed was validated before, on the document as it came.
fn schema() -> Schema {
    Schema::build(Query, Mutation, Subscription).validation_mode(ValidationMode::Fast).finish()
}
