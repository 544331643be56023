//! The user errors of all mutations of the schema: the path of each is one of the mutation's input.

use std::collections::BTreeMap;

use apollo_compiler::Schema;
use apollo_compiler::ast::{FieldDefinition, Type};
use apollo_compiler::schema::{ExtendedType, InputObjectType};
use fanfold::model::id::UserId;
use fanfold::model::moderation::ActionNote;
use fanfold::model::moderator::Moderator;
use serde_json::{Value, json};

use crate::harness::id::global;
use crate::harness::issuer::{Issuer, SigningKey, claims};
use crate::harness::post::{publish, try_publish};
use crate::harness::world::{Person, World, codes};

/// A text that is valid wherever text is expected, and nobody's password.
const TEXT: &str = "correct_horse";
const UNKNOWN: u64 = 7_700_001;

/// The mutations without user errors, each with the reason. Their wrong ids are provoked all the same.
const NEVER: [(&str, &str); 3] = [
    ("undoRepost", "without a repost, there is nothing to undo"),
    ("unlike", "without a like, there is nothing to take back"),
    ("removeBookmark", "without a bookmark, there is nothing to remove"),
];

fn user_id(number: u64) -> UserId {
    UserId::new(number).unwrap()
}

/// What the inputs of mutations name, each list beginning with what does not exist.
struct Subjects {
    users: Vec<String>,
    posts: Vec<String>,
}

impl Subjects {
    /// Returns the ids for an input field with this name.
    fn ids(&self, field: &str) -> Vec<String> {
        let mut ids = match field {
            "userId" => self.users.clone(),
            "postId" | "inReplyTo" | "quoteOf" => self.posts.clone(),
            "sessionId" => vec![global("Session", "A".repeat(16))],
            "reportId" => vec![global("Report", UNKNOWN)],
            "inviteId" => vec![global("Invite", "0".repeat(16))],
            _ => panic!("state the ids of `{field}` in this test"),
        };
        ids.extend([String::new(), "garbage".to_owned(), global("Relation", "1:2")]);
        ids
    }
}

/// The inputs of a schema's mutations, derived from their types.
struct Inputs<'a> {
    schema: &'a Schema,
    subjects: &'a Subjects,
}

impl Inputs<'_> {
    fn object(&self, ty: &Type) -> Option<&InputObjectType> {
        match &self.schema.types[ty.inner_named_type()] {
            ExtendedType::InputObject(object) => Some(object),
            _ => None,
        }
    }

    /// Returns values of an input field: first one that has the form of a valid value, and then others, many of which
    /// break a rule.
    fn values(&self, field: &str, ty: &Type) -> Vec<Value> {
        if let Some(object) = self.object(ty) {
            return self.objects(object);
        }
        match ty.inner_named_type().as_str() {
            "ID" => self.subjects.ids(field).into_iter().map(Value::from).collect(),
            "String" => vec![json!(TEXT), json!(""), json!("\u{7}"), json!("x".repeat(3_000))],
            "Int" => vec![json!(1), json!(0), json!(-1), json!(i32::MAX)],
            "Boolean" => vec![json!(false), json!(true)],
            "DateTime" => {
                vec![json!("2099-01-01T00:00:00Z"), json!("2000-01-01T00:00:00Z"), json!("garbage")]
            }
            other => match &self.schema.types[other] {
                ExtendedType::Enum(of) => of.values.keys().map(|name| json!(name.as_str())).collect(),
                _ => panic!("state values of the type {other} in this test"),
            },
        }
    }

    /// Returns objects with the required fields, each with another value of one of the fields. Of the fields of a
    /// `@oneOf` object, each has one.
    fn objects(&self, object: &InputObjectType) -> Vec<Value> {
        let is_one_of = object.directives.has("oneOf");
        let mut base = json!({});
        for (name, field) in &object.fields {
            if field.ty.is_non_null() && field.default_value.is_none() {
                base[name.as_str()] = self.values(name, &field.ty)[0].clone();
            }
        }
        let mut objects = if is_one_of { Vec::new() } else { vec![base.clone()] };
        for (name, field) in &object.fields {
            for value in self.values(name, &field.ty) {
                let mut object = base.clone();
                object[name.as_str()] = value;
                objects.push(object);
            }
        }
        objects
    }

    /// Returns true if a path leads to a field of a mutation's input.
    fn has_path(&self, mutation: &FieldDefinition, path: &[&str]) -> bool {
        let Some((argument, path)) = path.split_first() else { return false };
        let argument = mutation.arguments.iter().find(|known| known.name == *argument);
        let Some(mut ty) = argument.map(|argument| &*argument.ty) else { return false };
        path.iter().all(|name| {
            let field = self.object(ty).and_then(|object| object.fields.get(*name));
            field.inspect(|field| ty = &field.ty).is_some()
        })
    }
}

/// A world with what mutations can be wrong about. The first user is a moderator, and blocks another user.
async fn world(issuer: &Issuer) -> (World, Person, Subjects) {
    let world = World::with(&issuer.options()).await;
    let people = world.people(4).await;
    let [viewer, moderator, blocked, author] = people.as_slice() else { unreachable!("there are four") };
    for user in [1, 2] {
        world.app.set_moderator(&Moderator::Operator, user_id(user), true).await.unwrap();
    }
    world.follow(viewer, author).await;
    let block = "mutation ($id: ID!) { block(input: { userId: $id }) { userErrors { code } } }";
    world.data(Some(&viewer.token), block, json!({ "id": blocked.id })).await;
    let limited = json!({ "visibility": "FOLLOWERS" });
    let posts = vec![
        global("Post", UNKNOWN),
        publish(&world, viewer, "own").await,
        publish(&world, moderator, "of a moderator").await,
        publish(&world, blocked, "hidden").await,
        try_publish(&world, author, limited).await.unwrap(),
        publish(&world, author, "public").await,
    ];
    let unknown = global("User", UNKNOWN);
    let users = [&unknown, &viewer.id, &moderator.id, &blocked.id].map(String::clone).to_vec();
    (world, viewer.clone(), Subjects { users, posts })
}

/// Returns the paths of the errors in a response to a mutation; empty for an error without a path.
fn paths(response: &Value) -> Vec<Vec<String>> {
    if response.get("errors").is_some() {
        // A wrong id is no user error, but its message names the path.
        assert_eq!(codes(response), ["BAD_USER_INPUT"], "{response}");
        let message = response["errors"][0]["message"].as_str().unwrap();
        let path = message.strip_prefix('`').and_then(|message| message.split_once('`'));
        let (path, _) = path.unwrap_or_else(|| panic!("{message:?} begins with a path"));
        return vec![path.split('.').map(str::to_owned).collect()];
    }
    let path = |error: &Value| {
        let names = error["field"].as_array().cloned().unwrap_or_default();
        names.iter().map(|name| name.as_str().unwrap().to_owned()).collect()
    };
    response["data"]["mutation"]["userErrors"].as_array().unwrap().iter().map(path).collect()
}

/// The user errors of each mutation: their paths, and the number of errors with each.
type Found = BTreeMap<String, BTreeMap<Vec<String>, usize>>;

fn add(found: &mut Found, mutation: &str, response: &Value) {
    let is_user_error = response.get("errors").is_none();
    let errors = found.entry(mutation.to_owned()).or_default();
    for path in paths(response) {
        *errors.entry(path).or_default() += usize::from(is_user_error);
    }
}

/// Sends the mutations that take no input, as users for whom they fail: users who sign in with the tokens of another
/// application, and users whose recovery code the operator has issued.
async fn send_without_input(
    world: &World,
    key: &SigningKey,
    mutations: &[&FieldDefinition],
    found: &mut Found,
) {
    for (number, mutation) in (0..).zip(mutations) {
        let external = key.sign(&json!({ "alg": "ES256", "kid": "a" }), &claims("external"));
        let recovering = world.register(&format!("recovering{number}")).await;
        let user = world.app.authenticate(&recovering.token).await.unwrap().user().unwrap();
        let note = ActionNote::default();
        world.app.issue_recovery_code(&Moderator::Operator, user, note).await.unwrap();
        for token in [&external, &recovering.token] {
            let query =
                format!("mutation {{ mutation: {} {{ userErrors {{ code field }} }} }}", mutation.name);
            add(found, &mutation.name, &world.ask(Some(token), &query, Value::Null).await);
        }
    }
}

#[tokio::test]
async fn the_path_of_every_user_error_is_one_of_the_input() {
    let key = SigningKey::p256();
    let issuer = Issuer::start(&[key.jwk("a")]);
    let (world, viewer, subjects) = world(&issuer).await;
    let schema = Schema::parse_and_validate(fanfold::graphql::sdl(), "schema.graphql").unwrap();
    let inputs = Inputs { schema: &schema, subjects: &subjects };
    let fields = &schema.types["Mutation"].as_object().unwrap().fields;
    let mutations: Vec<&FieldDefinition> = fields.values().map(|field| &***field).collect();
    let (without, with): (Vec<_>, Vec<_>) =
        mutations.iter().copied().partition(|mutation| mutation.arguments.is_empty());
    let mut found = Found::new();
    for mutation in &with {
        let [argument] = mutation.arguments.as_slice() else { panic!("{} takes one input", mutation.name) };
        let (name, ty) = (&argument.name, &argument.ty);
        let query = format!(
            "mutation ($input: {ty}) {{ mutation: {}({name}: $input) {{ userErrors {{ code field }} }} }}",
            mutation.name
        );
        for input in inputs.values(name, ty) {
            add(
                &mut found,
                &mutation.name,
                &world.ask(Some(&viewer.token), &query, json!({ "input": input })).await,
            );
        }
    }
    send_without_input(&world, &key, &without, &mut found).await;
    let mut faults = Vec::new();
    for mutation in mutations {
        let errors = found.get(mutation.name.as_str()).cloned().unwrap_or_default();
        // An error without a path is about no single field; but each mutation with an input has others as well.
        let has_path = |path: &Vec<String>| path.is_empty() == mutation.arguments.is_empty();
        let count: usize = errors.iter().filter(|(path, _)| has_path(path)).map(|(_, count)| count).sum();
        let is_exempt = NEVER.iter().any(|(name, _)| *name == mutation.name.as_str());
        if (count == 0) != is_exempt || !errors.keys().any(has_path) {
            faults.push(format!("{}: {count} user errors were provoked", mutation.name));
        }
        for path in errors.keys().filter(|path| !path.is_empty()) {
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            if !inputs.has_path(mutation, &path) {
                faults.push(format!("{}: its input has no {path:?}", mutation.name));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[tokio::test]
async fn what_a_user_cannot_do_to_themselves_is_named() {
    let world = World::new().await;
    let viewer = world.register("ada").await;
    let post = publish(&world, &viewer, "own").await;
    let user = json!({ "userId": viewer.id });
    for (mutation, input, field, message) in [
        ("follow", &user, "userId", "You cannot follow yourself."),
        ("unfollow", &user, "userId", "You cannot unfollow yourself."),
        ("removeFollower", &user, "userId", "You cannot remove yourself from your followers."),
        ("acceptFollowRequest", &user, "userId", "You cannot accept a follow request from yourself."),
        ("rejectFollowRequest", &user, "userId", "You cannot reject a follow request from yourself."),
        ("mute", &user, "userId", "You cannot mute yourself."),
        ("unmute", &user, "userId", "You cannot unmute yourself."),
        ("block", &user, "userId", "You cannot block yourself."),
        ("unblock", &user, "userId", "You cannot unblock yourself."),
        (
            "report",
            &json!({ "target": user, "reason": "spam" }),
            "target.userId",
            "You cannot report yourself.",
        ),
        (
            "report",
            &json!({ "target": { "postId": post }, "reason": "spam" }),
            "target.postId",
            "You cannot report yourself.",
        ),
    ] {
        let kind = format!("{}{}", mutation[..1].to_uppercase(), &mutation[1..]);
        let query = format!(
            "mutation ($input: {kind}Input!) {{ {mutation}(input: $input) {{ userErrors {{ code field message }} }} }}"
        );
        let data = world.data(Some(&viewer.token), &query, json!({ "input": input })).await;
        let path: Vec<&str> = std::iter::once("input").chain(field.split('.')).collect();
        let error = json!({ "code": "SELF", "field": path, "message": message });
        assert_eq!(data[mutation]["userErrors"], json!([error]), "{mutation}");
    }
}
