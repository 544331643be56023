//! From bytes to an operation that is safe to execute.
//!
//! 1. A guard looks at the bytes, before any parser does ([`lexer`]).
//! 2. The document is parsed.
//! 3. It is counted how large it is with its fragments spread ([`expand`]).
//! 4. It is validated. What has come so far is remembered.
//! 5. The operation that is meant is chosen, and its variables are coerced.
//! 6. What is executed is built from it, its arguments are checked, and its cost is counted ([`operation`]).
//!
//! A request that is refused in any of these has asked nothing of the store.
//!
//! # Why
//! async-graphql executes a well-formed document as it should, but it is no front door: its parser recurses as deep as
//! a document does, it takes what is selected twice for two fields, and a variable that was not given for null. So the
//! library that validates is another one, which keeps all rules of the specification, and it is shown nothing large.
//!
//! Not here: what fields do (`query`, `mutation`).

mod argument;
mod cost;
mod expand;
pub(super) mod lexer;
mod lines;
mod operation;
mod rules;
mod usage;

use std::sync::Arc;

use apollo_compiler::diagnostic::Diagnostic;
use apollo_compiler::executable::OperationType;
use apollo_compiler::parser::Parser;
use apollo_compiler::request::coerce_variable_values;
use apollo_compiler::response::{GraphQLError, JsonValue};
use apollo_compiler::validation::{DiagnosticData, DiagnosticList, Valid};
use apollo_compiler::{ExecutableDocument, Schema};
use async_graphql::parser::types as executed;
use async_graphql::{Number, Pos, ServerError};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::config::{GraphqlConfig, Switch};
use crate::graphql::GraphqlRequest;
use crate::graphql::document::cost::Costs;
use crate::graphql::document::lines::Lines;
use crate::graphql::document::operation::Builder;
use crate::graphql::error::{Code, RequestError, coded};

/// Most faults of a document that are told.
const MOST_ERRORS: usize = 8;
/// Bytes that remembered documents may take, by estimate.
const CACHE_BYTES: u64 = 32 << 20;
/// How many documents are expected to be remembered.
const CACHE_DOCUMENTS: usize = 2_000;
/// How deep the parser may recurse: deeper than the guard lets anything nest.
const RECURSION: usize = 100;

/// How many tokens the parser reads: more than the guard lets through, in the way that it counts.
const TOKENS: usize = 20_000;

/// What knows the schema, and remembers documents.
pub(super) struct Documents {
    schema: Valid<Schema>,
    cache: Cache<Box<str>, Arc<Document>, Bytes>,
    cost_limit: u64,
    has_introspection: bool,
}

/// A document that keeps all the rules.
struct Document {
    executable: Valid<ExecutableDocument>,
    lines: Lines,
}

/// An operation that is safe to execute.
pub(super) struct Operation {
    kind: OperationType,
    pub(super) document: executed::ExecutableDocument,
}

impl Operation {
    /// Whether it is a query.
    pub(super) fn is_query(&self) -> bool {
        self.kind == OperationType::Query
    }
}

/// How many bytes a remembered document takes: its tree is some times as large as its text.
#[derive(Clone)]
struct Bytes;

impl Weighter<Box<str>, Arc<Document>> for Bytes {
    fn weight(&self, text: &Box<str>, _: &Arc<Document>) -> u64 {
        2_000 + 40 * text.len() as u64
    }
}

impl Documents {
    /// # Panics
    /// If the schema, which is our own, is none.
    pub(super) fn new(sdl: &str, config: &GraphqlConfig) -> Self {
        // What introspection can tell that the library does not know of yet.
        let sdl = format!("{sdl}\nextend type __Type {{ isOneOf: Boolean }}\n");
        let schema = Schema::parse_and_validate(sdl, "schema.graphql");
        let schema = schema.unwrap_or_else(|error| panic!("the schema is valid: {}", error.errors));
        let cache = Cache::with_weighter(CACHE_DOCUMENTS, CACHE_BYTES, Bytes);
        let has_introspection = config.graphql_introspection == Switch::On;
        Self { schema, cache, cost_limit: config.graphql_cost_limit, has_introspection }
    }

    /// Goes through all steps. Asks nothing of the store.
    pub(super) fn operation(&self, request: GraphqlRequest) -> Result<Operation, RequestError> {
        let document = self.document(&request.query)?;
        let operation = document.executable.operations.get(request.operation_name.as_deref());
        let operation = operation.map_err(|error| {
            RequestError::new(Code::ValidationFailed, sentence(&error.message().to_string()))
        })?;
        let mut variables = JsonValue::from(request.variables);
        make_whole(&mut variables);
        let none = apollo_compiler::response::JsonMap::new();
        let given = variables.as_object().unwrap_or(&none);
        let variables = coerce_variable_values(&self.schema, operation, given)
            .map_err(|error| RequestError::new(Code::BadUserInput, sentence(&error.message().to_string())))?;
        let mut builder = Builder {
            schema: &self.schema,
            document: &document,
            variables: &variables,
            costs: Costs::new(self.cost_limit),
            has_introspection: self.has_introspection,
            bytes: 0,
        };
        let kind = operation.operation_type;
        Ok(Operation { kind, document: builder.build(kind, &operation.selection_set)? })
    }

    fn document(&self, text: &str) -> Result<Arc<Document>, RequestError> {
        if let Some(document) = self.cache.get(text) {
            return Ok(document);
        }
        let document = Arc::new(self.read(text)?);
        self.cache.insert(text.into(), Arc::clone(&document));
        Ok(document)
    }

    fn read(&self, text: &str) -> Result<Document, RequestError> {
        lexer::guard(text).map_err(RequestError::refusal)?;
        let parsed = Parser::new().recursion_limit(RECURSION).token_limit(TOKENS).parse_ast(text, "document");
        // What follows the first fault is mostly its consequence.
        let document = parsed.map_err(|error| refused(Code::ParseFailed, 1, &error.errors))?;
        expand::guard(&document)?;
        rules::check(&document)?;
        let invalid = |errors: &DiagnosticList| refused(Code::ValidationFailed, MOST_ERRORS, errors);
        // What names nothing in the schema is told by itself: other faults may be its consequences.
        let executable = document.to_executable(&self.schema).map_err(|error| invalid(&error.errors))?;
        let executable = executable.validate(&self.schema).map_err(|error| invalid(&error.errors))?;
        usage::check(&self.schema, &executable)?;
        Ok(Document { executable, lines: Lines::of(text) })
    }
}

/// Writes whole numbers as such: 3.0 and 3 are one number in JSON, and some languages write the former.
fn make_whole(value: &mut JsonValue) {
    match value {
        JsonValue::Number(number) if number.is_f64() => {
            // A number that is whole is printed without a point.
            let whole = number.as_f64().and_then(|number| number.to_string().parse::<i64>().ok());
            *number = whole.map_or_else(|| number.clone(), Number::from);
        }
        JsonValue::Array(values) => values.iter_mut().for_each(make_whole),
        JsonValue::Object(fields) => fields.values_mut().for_each(make_whole),
        _ => {}
    }
}

/// What the library says of a document that is none, of so many of its faults.
fn refused(code: Code, most: usize, diagnostics: &DiagnosticList) -> RequestError {
    let error = |diagnostic: Diagnostic<'_, DiagnosticData>| {
        let GraphQLError { message, locations, .. } = diagnostic.to_json();
        let mut error = ServerError::new(sentence(&message), None);
        error.locations =
            locations.iter().map(|place| Pos { line: place.line, column: place.column }).collect();
        coded(error, code)
    };
    RequestError { code, errors: diagnostics.iter().take(most).map(error).collect(), retry_after: None }
}

/// What a library says, as a sentence.
fn sentence(message: &str) -> String {
    let mut characters = message.trim_end_matches('.').chars();
    let first = characters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", characters.as_str())
}
