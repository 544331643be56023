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

use async_graphql::parser::parse_query;
use async_graphql::parser::types::{ExecutableDocument, OperationType, VariableDefinition};
use async_graphql::{
    EmptySubscription, Name, Request, SDLExportOptions, Schema, Value as ConstValue, Variables,
};

use crate::app::App;
use crate::app::viewer::Viewer;
use crate::graphql::context::Scope;
use crate::graphql::document::lexer;
use crate::graphql::error::{Code, GraphqlResponse, RequestError};
use crate::graphql::mutation::Mutation;
use crate::graphql::query::Query;

/// How deep a document may nest. The introspection of code generators and playgrounds goes to 15.
const MOST_LEVELS: usize = 16;

/// The API: documents in, answers out.
#[derive(Clone)]
pub struct Api {
    schema: Schema<Query, Mutation, EmptySubscription>,
    app: App,
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

/// A request whose document has been parsed: ready to be executed.
pub struct Plan(Request);

impl Plan {
    /// Whether an operation of the document may change something.
    #[must_use]
    pub fn writes(&mut self) -> bool {
        let document = self.0.parsed_query();
        document.is_ok_and(|document| {
            document.operations.iter().any(|(_, operation)| operation.node.ty == OperationType::Mutation)
        })
    }
}

impl Api {
    /// The API over an application.
    #[must_use]
    pub fn new(app: App) -> Self {
        Self { schema: schema(), app }
    }

    /// The application under the API.
    #[must_use]
    pub fn app(&self) -> &App {
        &self.app
    }

    /// Parses a request's document, once it is known to be small enough. Asks nothing of the store.
    pub fn plan(incoming: GraphqlRequest) -> Result<Plan, RequestError> {
        lexer::guard(&incoming.query).map_err(RequestError::refusal)?;
        let document = parse_query(&incoming.query).map_err(|error| RequestError::parse(&error))?;
        let mut request = Request::new(String::new()).variables(Variables::from_json(incoming.variables));
        request.operation_name = incoming.operation_name;
        check_variables(&document, &request)?;
        request.set_parsed_query(document);
        Ok(Plan(request))
    }

    /// Executes a plan for a viewer. Internal errors carry `request_id`, and are logged with it.
    pub async fn execute(&self, Plan(request): Plan, viewer: Viewer, request_id: &str) -> GraphqlResponse {
        let scope = Arc::new(Scope::new(self.app.clone(), viewer));
        let response = self.schema.execute(request.data(Arc::clone(&scope))).await;
        scope.record_views().await;
        error::finish(response, request_id)
    }
}

/// Every variable that must have a value has one: else some fields would run, and others not.
fn check_variables(document: &ExecutableDocument, request: &Request) -> Result<(), RequestError> {
    let chosen = |(name, _): &(Option<&Name>, _)| match &request.operation_name {
        Some(wanted) => name.is_some_and(|name| name == wanted),
        None => true,
    };
    // Which operation is meant is checked elsewhere; here it is the one that can be.
    let Some((_, operation)) = document.operations.iter().find(chosen) else {
        return Ok(());
    };
    for definition in &operation.node.variable_definitions {
        let VariableDefinition { name, var_type, default_value, .. } = &definition.node;
        let is_missing = match request.variables.get(&name.node) {
            None => default_value.is_none(),
            Some(value) => *value == ConstValue::Null,
        };
        if is_missing && !var_type.node.nullable {
            return Err(RequestError::new(
                Code::BadUserInput,
                format!("The variable `${}` of type {} must have a value.", name.node, var_type.node),
            ));
        }
    }
    Ok(())
}

/// The schema in the schema definition language: the contract with clients.
#[must_use]
pub fn sdl() -> String {
    let options =
        SDLExportOptions::new().include_specified_by().use_space_ident().prefer_single_line_descriptions();
    let sdl = schema().sdl_with_options(options);
    format!("{}\n", sdl.trim_end())
}

fn schema() -> Schema<Query, Mutation, EmptySubscription> {
    Schema::build(Query, Mutation, EmptySubscription).limit_depth(MOST_LEVELS).finish()
}
