//! Generates expensive documents from the schema, as an attacker would.
//!
//! A document is generated from a sequence of choices: its fields, aliases and arguments. When no choices are left, the
//! document ends, so fewer and smaller choices generate a smaller document.

use std::cell::Cell;
use std::fmt::Write as _;

use apollo_compiler::ast::Type;
use apollo_compiler::schema::{ExtendedType, FieldDefinition};
use apollo_compiler::validation::Valid;
use apollo_compiler::{Node, Schema};
use serde_json::{Map, Value};

/// Maximum levels of fields, and maximum aliases, that the server accepts.
const LEVELS: usize = 11;
const ALIASES: usize = 30;
/// Maximum fields to choose. The server accepts a few hundred more.
const FIELDS: usize = 400;
/// Page sizes to choose from.
const SIZES: [u32; 6] = [100, 100, 50, 20, 7, 1];

/// Valid ids, names and cursors.
#[derive(Clone, Default)]
pub(crate) struct Pool {
    pub(crate) users: Vec<String>,
    pub(crate) posts: Vec<String>,
    pub(crate) names: Vec<String>,
    pub(crate) cursors: Vec<String>,
}

/// A document with its variables. `is_signed_in` is true if it is sent with a token.
pub(crate) struct Document {
    pub(crate) text: String,
    pub(crate) variables: Map<String, Value>,
    pub(crate) is_signed_in: bool,
}

/// A sequence of choices.
pub(crate) struct Choices<'a> {
    left: Cell<&'a [u16]>,
}

impl<'a> Choices<'a> {
    pub(crate) fn new(choices: &'a [u16]) -> Self {
        Self { left: Cell::new(choices) }
    }

    /// Chooses a number below `count`; 0 if no choices are left.
    fn below(&self, count: usize) -> usize {
        let Some((first, rest)) = self.left.get().split_first() else { return 0 };
        self.left.set(rest);
        usize::from(*first) % count.max(1)
    }

    fn of<'b, T>(&self, values: &'b [T]) -> &'b T {
        &values[self.below(values.len())]
    }

    fn are_over(&self) -> bool {
        self.left.get().is_empty()
    }
}

/// A generator of documents.
pub(crate) struct Generator {
    schema: Valid<Schema>,
    pool: Pool,
}

/// An unfinished document.
struct Draft<'a, 'c> {
    text: String,
    choices: &'a Choices<'c>,
    aliases: usize,
    fields: usize,
    /// Divisor of all page sizes.
    divisor: u32,
    /// Declarations of the variables, such as `$v0: Int`.
    declarations: Vec<String>,
    variables: Map<String, Value>,
}

impl Draft<'_, '_> {
    /// Returns a value as text of the document: a literal or, if chosen and if the value is valid JSON, a variable.
    fn pass(&mut self, ty: &str, value: String) -> String {
        match serde_json::from_str(&value) {
            Ok(json) if self.choices.below(4) == 3 => {
                let name = format!("v{}", self.declarations.len());
                self.declarations.push(format!("${name}: {ty}"));
                self.variables.insert(name.clone(), json);
                format!("${name}")
            }
            _ => value,
        }
    }
}

impl Generator {
    pub(crate) fn new(pool: &Pool) -> Self {
        let schema = Schema::parse_and_validate(fanfold::graphql::sdl(), "schema.graphql").unwrap();
        Self { schema, pool: pool.clone() }
    }

    /// Generates the chosen document, and makes its pages smaller until its cost is admissible.
    pub(crate) fn document(
        &self,
        choices: &mut Choices<'_>,
        is_admissible: impl Fn(&Document) -> bool,
    ) -> Option<Document> {
        let chosen = choices.left.get();
        [1, 2, 4, 8, 16, 32, 100].into_iter().find_map(|divisor| {
            let document = self.chosen(&Choices::new(chosen), divisor);
            is_admissible(&document).then_some(document)
        })
    }

    fn chosen(&self, choices: &Choices<'_>, divisor: u32) -> Document {
        let is_signed_in = choices.below(4) != 3;
        let is_mutation = is_signed_in && choices.below(8) == 7;
        let mut draft = Draft {
            text: String::new(),
            choices,
            aliases: 0,
            fields: 0,
            divisor,
            declarations: Vec::new(),
            variables: Map::new(),
        };
        let (kind, root) = if is_mutation { ("mutation", "Mutation") } else { ("query", "Query") };
        self.write_selections(&mut draft, root, 1);
        let Draft { text, declarations, variables, .. } = draft;
        let declared =
            if declarations.is_empty() { String::new() } else { format!("({}) ", declarations.join(", ")) };
        Document { text: format!("{kind} {declared}{text}"), variables, is_signed_in }
    }

    /// Writes some fields of a type, at least one of them without subfields.
    fn write_selections(&self, draft: &mut Draft<'_, '_>, ty: &str, level: usize) {
        draft.text.push_str("{ ");
        if let Some(ExtendedType::Interface(_)) = self.schema.types.get(ty) {
            let objects = self.schema.types.values().filter_map(ExtendedType::as_object);
            for object in objects.filter(|object| object.implements_interfaces.contains(ty)) {
                write!(draft.text, "... on {} ", object.name).unwrap();
                self.write_selections(draft, &object.name, level);
            }
        } else if let Some(ExtendedType::Union(union)) = self.schema.types.get(ty) {
            for member in &union.members {
                write!(draft.text, "... on {} ", member.as_str()).unwrap();
                self.write_selections(draft, member.as_str(), level);
            }
        } else if let Some(object) = self.schema.get_object(ty) {
            let fields: Vec<&FieldDefinition> =
                object.fields.values().map(|field| &***field).filter(|field| is_usable(ty, field)).collect();
            let composite =
                |field: &&FieldDefinition| !self.schema.types[field.ty.inner_named_type()].is_leaf();
            let deep: Vec<&FieldDefinition> = fields.iter().copied().filter(composite).collect();
            let mut used: Vec<&str> = Vec::new();
            let count = 1 + draft.choices.below(5);
            for _ in 0..count {
                // Fields with subfields cost most.
                let is_deep = !deep.is_empty() && level < LEVELS && draft.choices.below(3) > 0;
                let field = *draft.choices.of(if is_deep { &deep } else { &fields });
                let is_leaf = self.schema.types[field.ty.inner_named_type()].is_leaf();
                if draft.fields >= FIELDS
                    || (draft.choices.are_over() && !is_leaf)
                    || (!is_leaf && level >= LEVELS)
                {
                    continue;
                }
                // Repeats the field under aliases, which a cache or a count by field would miss.
                let times = if draft.choices.below(3) == 2 { 1 + draft.choices.below(ALIASES) } else { 1 };
                for _ in 0..times {
                    self.write_field(draft, ty, field, &mut used, level);
                }
            }
        }
        draft.text.push_str("__typename } ");
    }

    fn write_field<'a>(
        &self,
        draft: &mut Draft<'_, '_>,
        ty: &str,
        field: &'a FieldDefinition,
        used: &mut Vec<&'a str>,
        level: usize,
    ) {
        let name = field.name.as_str();
        if used.contains(&name) {
            if draft.aliases == ALIASES {
                return;
            }
            draft.aliases += 1;
            write!(draft.text, "a{}: ", draft.aliases).unwrap();
        } else {
            used.push(name);
        }
        draft.fields += 1;
        draft.text.push_str(name);
        self.write_arguments(draft, ty, field);
        let inner = field.ty.inner_named_type();
        if self.schema.types[inner].is_leaf() {
            draft.text.push(' ');
        } else {
            self.write_selections(draft, inner.as_str(), level + 1);
        }
    }

    fn write_arguments(&self, draft: &mut Draft<'_, '_>, ty: &str, field: &FieldDefinition) {
        let mut arguments: Vec<(String, String)> = Vec::new();
        if field.arguments.iter().any(|argument| argument.name == "after") {
            let size = (draft.choices.of(&SIZES) / draft.divisor).max(1);
            let is_backward = draft.choices.below(4) == 3;
            let (many, from) = if is_backward { ("last", "before") } else { ("first", "after") };
            arguments.push((many.to_owned(), size.to_string()));
            if draft.choices.below(2) == 1 && !self.pool.cursors.is_empty() {
                arguments.push((from.to_owned(), format!("{:?}", draft.choices.of(&self.pool.cursors))));
            }
        } else {
            let given = field.arguments.iter().filter_map(|argument| {
                let value = self.value(draft, ty, field, &argument.name, &argument.ty)?;
                Some((argument.name.to_string(), value))
            });
            arguments.extend(given);
        }
        if arguments.is_empty() {
            return;
        }
        let arguments: Vec<String> = arguments
            .into_iter()
            .map(|(name, value)| {
                let declared =
                    field.arguments.iter().find(|argument| argument.name == name.as_str()).unwrap();
                format!("{name}: {}", draft.pass(&declared.ty.to_string(), value))
            })
            .collect();
        write!(draft.text, "({})", arguments.join(", ")).unwrap();
    }

    fn value(
        &self,
        draft: &Draft<'_, '_>,
        ty: &str,
        field: &FieldDefinition,
        name: &str,
        of: &Node<Type>,
    ) -> Option<String> {
        let Pool { users, posts, names, .. } = &self.pool;
        let choices = draft.choices;
        let any =
            |choices: &Choices<'_>| if choices.below(2) == 0 { choices.of(users) } else { choices.of(posts) };
        Some(match (ty, field.name.as_str(), name) {
            (_, _, "first") => (choices.of(&SIZES) / draft.divisor).max(1).to_string(),
            (_, _, "days") => (1 + choices.below(30)).to_string(),
            ("Query", "nodes", "ids") => {
                let count = (choices.of(&SIZES) / draft.divisor).max(1);
                // Often repeats a single id.
                let is_same = choices.below(2) == 0;
                let first = any(choices);
                let ids: Vec<String> =
                    (0..count).map(|_| format!("{:?}", if is_same { first } else { any(choices) })).collect();
                format!("[{}]", ids.join(", "))
            }
            ("Query", "relations", _) => {
                let count = (choices.of(&SIZES) / draft.divisor).max(1);
                let ids: Vec<String> = (0..count).map(|_| format!("{:?}", choices.of(users))).collect();
                format!("[{}]", ids.join(", "))
            }
            ("Query", "node", _) => format!("{:?}", any(choices)),
            ("Query", "post", _) => format!("{:?}", choices.of(posts)),
            (_, _, "by") if choices.below(2) == 0 => format!("{{ username: {:?} }}", choices.of(names)),
            (_, _, "by") => format!("{{ id: {:?} }}", choices.of(users)),
            ("Mutation", "follow" | "unfollow" | "removeFollower", _) => {
                format!("{{ userId: {:?} }}", choices.of(users))
            }
            ("Mutation", "updateProfile", _) => "{ bio: \"Somebody.\" }".to_owned(),
            _ if of.is_non_null() => unreachable!("{ty}.{} takes `{name}`", field.name),
            _ => return None,
        })
    }
}

/// Returns true if a field can be requested repeatedly with the same effect.
fn is_usable(ty: &str, field: &FieldDefinition) -> bool {
    ty != "Mutation"
        || matches!(field.name.as_str(), "follow" | "unfollow" | "removeFollower" | "updateProfile")
}
