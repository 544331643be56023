//! Prepares documents for execution: the steps from bytes to an operation that is safe to execute.
//!
//! 1. Check the bytes before parsing them ([`lexer`]).
//! 2. Remove its descriptions ([`description`]), and parse it.
//! 3. Check its size with its fragments spread ([`expand`]).
//! 4. Validate it and cache the result.
//! 5. Select the operation and coerce its variables.
//! 6. Build its executable form, check its arguments and compute its cost ([`operation`]).
//!
//! None of these steps accesses the store.
//!
//! # Why
//! async-graphql executes well-formed documents correctly, but must not receive unchecked documents. Its parser
//! recurses as deeply as the document nests. Its executor treats a duplicate selection as two fields and a missing
//! variable as null. Another library, apollo-compiler, therefore validates documents. That library implements all rules
//! of the specification except those in [`rules`] and [`usage`]. The size checks ensure that it never receives a large
//! document.
//!
//! Not here: resolvers (`query`, `mutation`).

mod argument;
pub(super) mod cost;
mod description;
pub(super) mod entry;
mod expand;
pub(super) mod hash;
pub(super) mod lexer;
mod lines;
mod operation;
mod persisted;
mod public;
mod rules;
mod size;
pub(super) mod trusted;
mod usage;

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use apollo_compiler::diagnostic::Diagnostic;
pub(super) use apollo_compiler::executable::OperationType;
use apollo_compiler::parser::Parser;
use apollo_compiler::request::coerce_variable_values;
use apollo_compiler::response::{GraphQLError, JsonValue};
use apollo_compiler::validation::{DiagnosticData, DiagnosticList, Valid};
use apollo_compiler::{ExecutableDocument, Name, Schema};
use async_graphql::parser::types as executed;
use async_graphql::{Number, Pos, ServerError};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::config::{GraphqlConfig, Switch};
use crate::graphql::GraphqlRequest;
use crate::graphql::document::cost::Costs;
use crate::graphql::document::description::without_descriptions;
use crate::graphql::document::entry::EntryCosts;
use crate::graphql::document::hash::DocumentHash;
use crate::graphql::document::lines::Lines;
use crate::graphql::document::operation::Builder;
use crate::graphql::document::persisted::{Named, Persisted};
use crate::graphql::document::trusted::TrustedError;
use crate::graphql::error::{Code, RequestError, coded};
use crate::thread;

/// Maximum number of errors reported for a document.
const MOST_ERRORS: usize = 8;
/// Maximum estimated memory use of cached documents, in bytes.
const CACHE_BYTES: u64 = 32 << 20;
/// Expected number of cached documents.
const CACHE_DOCUMENTS: usize = 2_000;
/// The parser's recursion limit, above any nesting that passes the guard.
const RECURSION: usize = 100;

/// The parser's token limit. The parser and the guard count tokens differently, but any document that passes the guard
/// stays below this limit.
const TOKENS: usize = 20_000;

/// Interval at which the files of trusted documents are checked for changes.
const TRUSTED_INTERVAL: Duration = Duration::from_secs(1);

/// The schema, with caches of documents.
pub(super) struct Documents {
    schema: Valid<Schema>,
    cache: Cache<Box<str>, Arc<Document>, Bytes>,
    persisted: Persisted,
    cost_limit: u64,
    has_introspection: bool,
}

/// A parsed and validated document.
struct Document {
    executable: Valid<ExecutableDocument>,
    lines: Lines,
    /// True if the document is one of the operator's trusted documents.
    is_trusted: bool,
}

/// A summary of an operation, for logs, metrics and traces.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The kind: `query`, `mutation` or `subscription`, or `batch` for several operations.
    pub kind: &'static str,
    name: Option<Name>,
    /// The predicted cost: roughly the number of objects.
    pub cost: u64,
}

impl Summary {
    /// The kind of a batch of operations.
    pub const BATCH: &str = "batch";

    /// Returns the operation's name; `None` for a batch or an unnamed operation.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the summary of a batch of operations.
    pub fn of_batch(operations: impl Iterator<Item = Self>) -> Self {
        let cost = operations.fold(0, |sum: u64, operation| sum.saturating_add(operation.cost));
        Self { kind: Self::BATCH, name: None, cost }
    }
}

/// An operation that is safe to execute.
pub(super) struct Operation {
    pub(super) kind: OperationType,
    name: Option<Name>,
    pub(super) document: executed::ExecutableDocument,
    pub(super) costs: Costs,
    pub(super) entries: Arc<EntryCosts>,
    /// True if no selected field depends on the viewer.
    pub(super) is_public: bool,
    /// Approximate memory that the operation occupies while it waits, in bytes.
    pub(super) weight: usize,
}

impl Operation {
    pub(super) fn summary(&self) -> Summary {
        Summary { kind: self.kind.name(), name: self.name.clone(), cost: self.costs.total() }
    }
}

/// An estimator of a cached document's memory use. A parsed document is several times as large as its text.
#[derive(Clone)]
struct Bytes;

impl Weighter<Box<str>, Arc<Document>> for Bytes {
    fn weight(&self, text: &Box<str>, _: &Arc<Document>) -> u64 {
        2_000 + 40 * text.len() as u64
    }
}

impl Documents {
    /// Builds the schema and reads the trusted documents. Fails if a trusted document is invalid.
    ///
    /// # Panics
    /// Panics if this crate's own schema is invalid.
    pub(super) fn open(sdl: &str, config: &GraphqlConfig) -> Result<Self, TrustedError> {
        // The library does not support this introspection field yet.
        let sdl = format!("{sdl}\nextend type __Type {{ isOneOf: Boolean }}\n");
        let schema = Schema::parse_and_validate(sdl, "schema.graphql");
        let schema = schema.unwrap_or_else(|error| panic!("the schema is valid: {}", error.errors));
        let cache = Cache::with_weighter(CACHE_DOCUMENTS, CACHE_BYTES, Bytes);
        let has_introspection = config.graphql_introspection == Switch::On;
        let persisted = Persisted::open(config, |text| read(&schema, text))?;
        Ok(Self { schema, cache, persisted, cost_limit: config.graphql_cost_limit, has_introspection })
    }

    /// Prepares a request's operation by running all steps. Does not access the store.
    pub(super) fn operation(&self, request: GraphqlRequest) -> Result<Operation, RequestError> {
        let document = match (&request.query, request.hash) {
            (Some(text), hash) => self.sent(text, hash)?,
            (None, Some(hash)) => self.named(hash)?,
            (None, None) => return Err(RequestError::new(Code::BadRequest, "The request has no document.")),
        };
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
            has_introspection: self.has_introspection || document.is_trusted,
            is_public: true,
            bytes: 0,
            selections: 0,
            entries: EntryCosts::new(),
        };
        let kind = operation.operation_type;
        let document = builder.build(kind, &operation.selection_set)?;
        let name = operation.name.clone();
        let weight = builder.weight();
        let Builder { costs, is_public, entries, .. } = builder;
        Ok(Operation { kind, name, document, costs, entries: Arc::new(entries), is_public, weight })
    }

    /// Starts a thread that reads the files of trusted documents again when one of them changes, and whenever `asked`
    /// receives a message. The thread ends when the sender is dropped. Does nothing if no files are configured.
    pub(super) fn keep_trusted_current(self: &Arc<Self>, asked: Receiver<()>) -> io::Result<()> {
        if !self.persisted.trusted().has_files() {
            return Ok(());
        }
        let documents = Arc::clone(self);
        thread::spawn("documents", move || {
            loop {
                match asked.recv_timeout(TRUSTED_INTERVAL) {
                    Ok(()) => documents.refresh_trusted(true),
                    Err(RecvTimeoutError::Timeout) => documents.refresh_trusted(false),
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        })
    }

    fn refresh_trusted(&self, is_asked: bool) {
        let refresh = || self.persisted.trusted().refresh(is_asked, |text| read(&self.schema, text));
        // A panic must not end the thread: the files would never be read again.
        if catch_unwind(AssertUnwindSafe(refresh)).is_err() {
            tracing::error!("reading the trusted documents panicked; the former documents stay in use");
        }
    }

    /// Returns the number of cached parsed documents and the number of cached persisted queries.
    pub(super) fn cached(&self) -> (usize, usize) {
        (self.cache.len(), self.persisted.cached())
    }

    /// Returns the document of a request that contains the document's text. If the request also contains the hash and
    /// the document is valid, caches the text under the hash.
    fn sent(&self, text: &str, named: Option<DocumentHash>) -> Result<Arc<Document>, RequestError> {
        if named.is_none() && !self.persisted.trusted().has_files() {
            return self.document(text);
        }
        // A document too large to parse is too large to hash.
        lexer::guard(text).map_err(RequestError::violation)?;
        let hash = DocumentHash::of(text);
        if named.is_some_and(|named| named != hash) {
            let message = "The hash is not the SHA-256 of the document.";
            return Err(RequestError::new(Code::BadRequest, message));
        }
        if let Some(trusted) = self.persisted.trusted().find(hash) {
            return Ok(trusted);
        }
        self.persisted.admit_others()?;
        let document = self.document(text)?;
        if named.is_some() {
            self.persisted.remember(hash, text);
        }
        Ok(document)
    }

    /// Returns the document with this hash.
    fn named(&self, hash: DocumentHash) -> Result<Arc<Document>, RequestError> {
        match self.persisted.find(hash)? {
            Named::Trusted(document) => Ok(document),
            Named::Remembered(text) => self.document(&text),
        }
    }

    fn document(&self, text: &str) -> Result<Arc<Document>, RequestError> {
        if let Some(document) = self.cache.get(text) {
            return Ok(document);
        }
        let document = Arc::new(read(&self.schema, text)?);
        self.cache.insert(text.into(), Arc::clone(&document));
        Ok(document)
    }
}

/// Parses and validates a document.
fn read(schema: &Valid<Schema>, text: &str) -> Result<Document, RequestError> {
    lexer::guard(text).map_err(RequestError::violation)?;
    let text = without_descriptions(text);
    let parsed = Parser::new().recursion_limit(RECURSION).token_limit(TOKENS).parse_ast(&*text, "document");
    // Later errors are mostly consequences of the first error.
    let document = parsed.map_err(|error| rejected(Code::ParseFailed, 1, &error.errors))?;
    expand::guard(&document)?;
    rules::check(&document)?;
    let invalid = |errors: &DiagnosticList| rejected(Code::ValidationFailed, MOST_ERRORS, errors);
    // Unknown names are reported alone, because other errors may be their consequences.
    let executable = document.to_executable(schema).map_err(|error| invalid(&error.errors))?;
    let executable = executable.validate(schema).map_err(|error| invalid(&error.errors))?;
    usage::check(schema, &executable)?;
    Ok(Document { executable, lines: Lines::of(&text), is_trusted: false })
}

/// Converts whole numbers to integers: 3.0 and 3 are the same number in JSON, and some languages serialize 3 as 3.0.
fn make_whole(value: &mut JsonValue) {
    match value {
        JsonValue::Number(number) if number.is_f64() => {
            // A whole number is formatted without a decimal point.
            let whole = number.as_f64().and_then(|number| number.to_string().parse::<i64>().ok());
            *number = whole.map_or_else(|| number.clone(), Number::from);
        }
        JsonValue::Array(values) => values.iter_mut().for_each(make_whole),
        JsonValue::Object(fields) => fields.values_mut().for_each(make_whole),
        _ => {}
    }
}

/// Converts at most `most` of the library's errors about an invalid document.
fn rejected(code: Code, most: usize, diagnostics: &DiagnosticList) -> RequestError {
    let error = |diagnostic: Diagnostic<'_, DiagnosticData>| {
        let GraphQLError { message, locations, .. } = diagnostic.to_json();
        let mut error = ServerError::new(sentence(&message), None);
        error.locations =
            locations.iter().map(|place| Pos { line: place.line, column: place.column }).collect();
        coded(error, code)
    };
    RequestError { code, errors: diagnostics.iter().take(most).map(error).collect(), retry_after: None }
}

/// Formats one of the library's messages as a sentence.
fn sentence(message: &str) -> String {
    let mut characters = message.trim_end_matches('.').chars();
    let first = characters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", characters.as_str())
}
