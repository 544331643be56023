// The rules for the schema: the recommended ones, Relay's, and some more. ESLint must run at the root of the repository,
// as `npm run lint:schema` does.

import graphql from "@graphql-eslint/eslint-plugin";

const more = {
  // Fields and values too: the schema is the reference of the API.
  "require-description": [
    "error",
    {
      types: true,
      rootField: true,
      DirectiveDefinition: true,
      FieldDefinition: true,
      InputValueDefinition: true,
      EnumValueDefinition: true,
      // The type of an input describes it.
      ignoredSelectors: ["[name.value=input]", "[parent.kind=DirectiveDefinition]"],
    },
  ],
  "input-name": ["error", { checkInputType: true, caseSensitiveInputType: false }],
  "no-scalar-result-type-on-mutation": "error",
  "require-deprecation-date": "error",
  "require-nullable-fields-with-oneof": "error",
  "require-nullable-result-in-root": "error",
};

const exceptions = {
  // The schema is printed from the source: short descriptions on one line, longer ones as a block.
  "description-style": "off",
  // `username` is one word, not a field name with the prefix `user`.
  "no-typename-prefix": "off",
  // Lists of user errors, of countries and of objects by id are bounded, and need no pages. Accounts, reports, invites and
  // the log are read through `Viewer.moderation` only, not by `node`.
  "relay-edge-types": ["error", { listTypeCanWrapOnlyEdgeType: false, shouldImplementNode: false }],
  "strict-id-in-types": [
    "error",
    {
      exceptions: {
        suffixes: ["Payload", "Connection", "Edge", "Segment"],
        types: [
          // Values without identity, never refetched.
          ...["Country", "Hashtag", "PageInfo", "Region", "Subdivision", "UserError"],
          // Metrics computed per request.
          ...["Audience", "DailyVisits", "FollowersByRegion", "RateLimit", "RegionShare"],
          // Parts of a post, and of the viewer.
          ...["Delivery", "PostEdit", "Moderation", "PendingRecovery"],
          // Events. Those of a timeline are identified by a cursor to resume after.
          ...["PostAdded", "PostRemoved", "RepostRemoved", "TimelineEvent", "TimelineReset"],
          ...["RelationChanged", "RelationEvent", "RelationsReset"],
        ],
      },
    },
  ],
};

/** Returns a rule that ignores these names. */
const except = (rule, names) => ({
  ...rule,
  create: (context) =>
    Object.fromEntries(
      Object.entries(rule.create(context)).map(([selector, check]) => [
        selector,
        (node) => names.includes(node.value) || check(node),
      ]),
    ),
});

const rules = {
  ...graphql.rules,
  // `ErrorCode` is the type of `extensions.code`, which is outside of the schema.
  "no-unreachable-types": except(graphql.rules["no-unreachable-types"], ["ErrorCode"]),
};

const named = (rules) =>
  Object.fromEntries(Object.entries(rules).map(([name, setting]) => [`@graphql-eslint/${name}`, setting]));

export default [
  {
    files: ["**/*.graphql"],
    linterOptions: { reportUnusedDisableDirectives: "error" },
    languageOptions: { parser: graphql.parser, parserOptions: { graphQLConfig: { schema: "schema.graphql" } } },
    plugins: { "@graphql-eslint": { ...graphql, rules } },
    rules: {
      ...graphql.configs["flat/schema-recommended"].rules,
      ...graphql.configs["flat/schema-relay"].rules,
      ...named(more),
      ...named(exceptions),
    },
  },
];
