import { getIntrospectionQuery } from 'graphql';

// Valid and invalid documents of all kinds, each with variables. Ada follows Ben, and both have posted.

const user = (selection, before = '') => `${before}{ user(by: { username: "ada" }) { ${selection} } }`;
const withVariables = (variables, ...documents) => documents.map((document) => ({ document, variables }));

// Selections on a user.
const selections = [
  'id', 'username displayName bio createdAt isViewer', 'a: username b: username', '__typename id __typename',
  'id id id', 'followers { totalCount }', 'followers { nodes { id } } followers { nodes { username } totalCount }',
  '... { id }', '... on User { id ... { username } }', '... on Node { id }', '... on Post { content }',
  'id @skip(if: true) username', 'id @include(if: true) username @include(if: false) bio',
  'followers(first: 1) { nodes { followers { nodes { id } edges { cursor node { username } } } } }',
  'relation { status }', 'region { country { code } subdivision { name } }',
  'posts { nodes { id content author { username } } pageInfo { hasNextPage endCursor } totalCount }',
  'x: followers(first: 1) { totalCount } x: followers(first: 1) { nodes { id } }',
  'followers(first: null) { totalCount }', 'followersByRegion { totalCount sampledCount regions { count share region { country { name } } } }',
];

// Invalid selections on a user.
const faulty = [
  'nothing', 'followers', 'id { x }', 'x: id x: username', 'followers(first: 1) { totalCount } followers(first: 2) { totalCount }',
  'followers(first: "1") { totalCount }', 'followers(first: 1.5) { totalCount }', 'followers(frist: 1) { totalCount }',
  'followers(first: 1, first: 2) { totalCount }', 'followers(first: $x) { totalCount }', '...Unknown', '... on Nothing { id }',
  '... on Query { __typename }', '... on String { id }', 'id @nothing', 'id @skip', 'id @skip(if: "true")', 'id @skip(if: true) @skip(if: true)',
  'id @include(if: $no)', 'followers { nodes }', 'followers { nodes { } }', '', 'followers(first: [1, 2]) { totalCount }',
  'followers(first: {}) { totalCount }', 'followers(first: ONE) { totalCount }', 'username(x: 1)', '__schema { types { name } }',
  'id: username id', 'x: __typename x: id', 'followers { totalCount } ... { followers: following { totalCount } }',
  'id @deprecated', 'followers(first: 9999999999) { totalCount }',
];

const whole = [
  '', ' ', '#', '{', '}', '{}', '{ }', 'query', 'query {', 'query { }', '{ __typename', '{ __typename } }', '{ "x" }', '{ a: }', '{ (x: 1) }',
  '{ __typename(x: 1) }', 'query Q { __typename } query Q { __typename }', '{ __typename } { __typename }', '{ __typename } query Q { __typename }',
  'fragment F on User { id }', '{ ...F }', '{ ...F } fragment F on Query { __typename }', '{ __typename } fragment F on Query { __typename }',
  '{ ...F } fragment F on Query { ...F }', '{ ...F } fragment F on Query { ...G } fragment G on Query { ...F __typename }',
  '{ ...F } fragment F on Query { __typename } fragment F on Query { __typename }', '{ ...on } fragment on on Query { __typename }',
  '{ ...F ...F } fragment F on Query { __typename ... { a: __typename } }', '{ ...F } fragment F on User { id }', '{ ...F } fragment F on Nothing { id }',
  'type Query { x: Int }', '{ __typename } type X { y: Int }', 'mutation { nothing }', 'mutation { logout }',
  'query @skip(if: true) { __typename }', 'query Q @nothing { __typename }', '{ nodes(ids: []) { id } }', '{ nodes { id } }', '{ nodes(ids: null) { id } }',
  '{ nodes(ids: [null]) { id } }', '{ relations(userIds: []) { status } }', '{ user { id } }', '{ user(by: {}) { id } }', '{ user(by: null) { id } }',
  '{ user(by: { username: null }) { id } }', '{ user(by: { username: "a", id: "b" }) { id } }', '{ user(by: { nothing: 1 }) { id } }', '{ user(by: "ada") { id } }',
  '{ user(by: { username: "ada", username: "ada" }) { id } }', '{ user(by: { username: 7 }) { id } }', '{ user(by: { username: ada }) { id } }',
  '{ user(by: { username: """ada""" }) { id } }', '{ user(by: { username: "\\u0061da" }) { username } }', '{ user(by: { username: "\\x" }) { id } }',
  '{ user(by: { username: "a\n" }) { id } }', '{ countries { code } }', '{ visits(first: 1) { uniqueVisitors } }', '{ visits(first: 1, before: null) { day } }',
  '{ __schema { queryType { name } types { name kind } } }', '{ __type(name: "User") { name fields { name } } }', '{ __type { name } }', '{ __type(name: 7) { name } }',
  '{ viewer { user { id } } }', '{ viewer { timeline { nodes { id } } sessions { label } } }', '{ a: viewer { user { id } } b: viewer { user { id } } }',
  'query($x: Int) { __typename }', 'query($x: Nothing) { visits(first: $x) { day } }', 'query($x: User) { visits(first: $x) { day } }',
  'query($x: Int, $x: Int) { visits(first: $x) { day } }', 'query($x: String) { visits(first: $x) { day } }', 'query($x: Int! = null) { visits(first: $x) { day } }',
  'query($x: Int = "1") { visits(first: $x) { day } }', 'query($x: [Int]) { visits(first: $x) { day } }', 'query($x: Int = $y, $y: Int) { visits(first: $x) { day } }',
  'query($x: ID) { node(id: $x) { id } }', 'query($x: [ID]!) { nodes(ids: $x) { id } }', 'query($x: Boolean) { __typename @skip(if: $x) }',
  'query A { __typename } query B { ...F } fragment F on Query { visits(first: $x) { day } }',
  '{ node(id: "VXNlcjox") { __typename id ... on User { username } ... on Post { content } } }',
  '{ node(id: "VXNlcjox") { __typename ...N } } fragment N on Node { id ... on User { x: username } ... on Post { x: content } }',
  '{ nodes(ids: ["VXNlcjox"]) { id } nodes(ids: ["VXNlcjox", "VXNlcjoy"]) { id } }',
  '{ node(id: "VXNlcjox") { username } }', '{ node(id: "VXNlcjox") { ... on User { x: username } ... on Post { x: createdAt } } }',
  '{ node(id: "VXNlcjox") { ... on User { x: username } ... on Post { x: id } } }', '{ node(id: "VXNlcjox") { ... on Country { code } } }',
  '{ nodes(ids: ["VXNlcjox", "VXNlcjoy", "UG9zdDox"]) { __typename ...N id } } fragment N on Node { ... on Post { author { ...U } content } ... on User { ...U bio } } fragment U on User { username }',
];

// The introspection queries of tools: without options, with each option, and with all of them.
const options = ['descriptions', 'specifiedByUrl', 'directiveIsRepeatable', 'schemaDescription', 'inputValueDeprecation', 'oneOf'];
const introspection = [[], ...options.map((option) => [option]), options].map((on) =>
  getIntrospectionQuery(Object.fromEntries(options.map((option) => [option, on.includes(option)]))));

export const documents = [
  ...introspection,
  ...selections.flatMap((one) => [user(one), user(`...F`) + ` fragment F on User { ${one} }`, user(`... on User { ${one} } id`)]),
  ...selections.flatMap((one, index) => selections.slice(index + 1, index + 3).map((other) => user(`${one} ${other}`))),
  ...selections.map((one) => user(`...F ...G ${one}`) + ` fragment F on User { ${one} } fragment G on User { ...F bio }`),
  ...faulty.flatMap((one) => [user(one), user(`...F`) + ` fragment F on User { ${one} }`]),
  ...whole,
].map((document) => ({ document, variables: {} })).concat(
  withVariables({ x: 1 }, 'query($x: Int) { visits(first: $x) { uniqueVisitors } }', 'query($x: Int!) { visits(first: $x) { uniqueVisitors } }',
    'query($x: Int = 3) { visits(first: $x) { uniqueVisitors } }', user('followers(first: $x) { totalCount }', 'query($x: Int) '),
    'query($x: Boolean!) { __typename @skip(if: $x) }'),
  withVariables({}, 'query($x: Int) { visits(first: $x) { uniqueVisitors } }', 'query($x: Int!) { visits(first: $x) { uniqueVisitors } }',
    'query($x: Int! = 2) { visits(first: $x) { uniqueVisitors } }', 'query($x: Boolean! = true) { __typename @skip(if: $x) a: __typename @include(if: $x) }',
    user('username ...F @include(if: $x) bio', 'query($x: Boolean = false) ') + ' fragment F on User { displayName }'),
  withVariables({ x: null }, 'query($x: Int) { visits(first: $x) { uniqueVisitors } }', 'query($x: Int!) { visits(first: $x) { uniqueVisitors } }',
    'query($x: Int! = 2) { visits(first: $x) { uniqueVisitors } }', 'query($x: Int = 2) { visits(first: $x) { uniqueVisitors } }'),
  withVariables({ x: 'one' }, 'query($x: Int) { visits(first: $x) { uniqueVisitors } }', 'query($x: Boolean!) { __typename @skip(if: $x) }',
    'query($x: String!) { user(by: { username: $x }) { id } }'),
  withVariables({ x: { username: 'ada' } }, 'query($x: UserBy!) { user(by: $x) { username } }', 'query($x: String!) { user(by: { username: $x }) { id } }'),
  withVariables({ x: { username: 'ada', id: 'VXNlcjox' } }, 'query($x: UserBy!) { user(by: $x) { username } }'),
  withVariables({ x: ['VXNlcjox'] }, 'query($x: [ID!]!) { nodes(ids: [$x]) { id } }', 'query($x: [String!]!) { user(by: { username: $x }) { id } }'),
  withVariables({ x: {} }, 'query($x: UserBy!) { user(by: $x) { username } }'),
  withVariables({ x: { username: null } }, 'query($x: UserBy!) { user(by: $x) { username } }'),
  withVariables({ x: { username: 'ada', nothing: 1 } }, 'query($x: UserBy!) { user(by: $x) { username } }'),
  withVariables({ x: ['VXNlcjox'] }, 'query($x: [ID!]!) { nodes(ids: $x) { __typename id } }', 'query($x: [ID]!) { nodes(ids: $x) { id } }'),
  withVariables({ x: 'VXNlcjox' }, 'query($x: [ID!]!) { nodes(ids: $x) { __typename id } }', 'query($x: ID!) { nodes(ids: [$x, $x]) { __typename id } }'),
);
