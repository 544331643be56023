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
mod query;
mod types;

use std::sync::Arc;
use std::time::Duration;

use async_graphql::{EmptySubscription, Request, SDLExportOptions, Schema, ValidationMode};
use tokio_util::task::TaskTracker;

use crate::app::App;
use crate::app::viewer::Viewer;
use crate::config::GraphqlConfig;
use crate::graphql::context::Scope;
use crate::graphql::document::{Documents, Operation};
use crate::graphql::error::{Code, GraphqlResponse, RequestError};
use crate::graphql::mutation::Mutation;
use crate::graphql::query::Query;

/// The API: documents in, answers out.
#[derive(Clone)]
pub struct Api {
    schema: Schema<Query, Mutation, EmptySubscription>,
    documents: Arc<Documents>,
    config: GraphqlConfig,
    app: App,
    /// What is finished even if nobody waits for it.
    tasks: TaskTracker,
}

/// A request as it came, its parts not looked at yet.
#[derive(Debug, Default)]
pub struct GraphqlRequest {
    /// The document.
    pub query: String,
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
        self.0.is_query()
    }
}

impl Api {
    /// The API over an application.
    #[must_use]
    pub fn new(app: App, config: GraphqlConfig) -> Self {
        let documents = Arc::new(Documents::new(&sdl(), &config));
        Self { schema: schema(), documents, config, app, tasks: TaskTracker::new() }
    }

    /// The application under the API.
    #[must_use]
    pub fn app(&self) -> &App {
        &self.app
    }

    /// Makes a request's document ready to be executed. Asks nothing of the store.
    pub fn plan(&self, incoming: GraphqlRequest) -> Result<Plan, RequestError> {
        self.documents.operation(incoming).map(Plan)
    }

    /// Executes a plan for a viewer, and waits for it as long as the configuration says. Internal errors carry
    /// `request_id`, and are logged with it.
    ///
    /// Who waits no longer takes a query away, but leaves no change half done.
    pub async fn execute(&self, plan: Plan, viewer: Viewer, request_id: &str) -> GraphqlResponse {
        let scope = Arc::new(Scope::new(self.app.clone(), viewer));
        if plan.reads() {
            self.query(plan, &scope, request_id).await
        } else {
            self.mutate(plan, scope, request_id).await
        }
    }

    async fn query(&self, plan: Plan, scope: &Arc<Scope>, request_id: &str) -> GraphqlResponse {
        let patience = self.config.query_timeout();
        let Ok(response) = tokio::time::timeout(patience, self.run(plan, scope, request_id)).await else {
            return too_slow(&took_longer(patience));
        };
        // What was read is told even if this takes long.
        scope.record_views(&self.tasks).await;
        response
    }

    async fn mutate(&self, plan: Plan, scope: Arc<Scope>, request_id: &str) -> GraphqlResponse {
        let (api, name, patience) = (self.clone(), request_id.to_owned(), self.config.mutation_timeout());
        let writing = self.tasks.spawn(async move {
            let response = api.run(plan, &scope, &name).await;
            scope.record_views(&api.tasks).await;
            response
        });
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
        let mut request = Request::new(String::new()).data(Arc::clone(scope));
        request.set_parsed_query(plan.0.document);
        error::finish(self.schema.execute(request).await, request_id)
    }

    /// Waits until all changes are made that nobody waits for any more. To be called when no requests come.
    pub async fn finish(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }
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
fn schema() -> Schema<Query, Mutation, EmptySubscription> {
    Schema::build(Query, Mutation, EmptySubscription).validation_mode(ValidationMode::Fast).finish()
}
