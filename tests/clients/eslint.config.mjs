// The rules that the schema keeps: the recommended ones, those of Relay, and some more. Run at the root of the
// repository: `npm run lint:schema` does.

import graphql from "@graphql-eslint/eslint-plugin";

const more = {
  // Fields and values too: whoever reads the schema has no other manual.
  "require-description": [
    "error",
    {
      types: true,
      rootField: true,
      DirectiveDefinition: true,
      FieldDefinition: true,
      InputValueDefinition: true,
      EnumValueDefinition: true,
      // What an input is for, its type says.
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
  // The schema is printed from the source: a description of one line stands in one line, a longer one in a block.
  "description-style": "off",
  // `username` is one word: it does not repeat that it is a user's.
  "no-typename-prefix": "off",
  // Lists of refusals, of countries and of what was asked for by id have an end, and need no pages.
  "relay-edge-types": ["error", { listTypeCanWrapOnlyEdgeType: false }],
  "strict-id-in-types": [
    "error",
    {
      exceptions: {
        suffixes: ["Payload", "Connection", "Edge"],
        types: [
          // Values: they are what they say, and nobody asks for one of them again.
          ...["Country", "PageInfo", "Region", "Subdivision", "UserError"],
          // What is counted at the moment of asking.
          ...["Audience", "DailyVisits", "FollowersByRegion", "RateLimit", "RegionShare", "VisitorShare"],
          // What belongs to the one post or user that it is reached by.
          ...["Delivery", "Relation", "Viewer"],
          // Events have a cursor to go on from.
          ...["PostAdded", "PostRemoved"],
        ],
      },
    },
  ],
};

const named = (rules) =>
  Object.fromEntries(Object.entries(rules).map(([name, setting]) => [`@graphql-eslint/${name}`, setting]));

export default [
  {
    files: ["**/*.graphql"],
    linterOptions: { reportUnusedDisableDirectives: "error" },
    languageOptions: { parser: graphql.parser, parserOptions: { graphQLConfig: { schema: "schema.graphql" } } },
    plugins: { "@graphql-eslint": graphql },
    rules: {
      ...graphql.configs["flat/schema-recommended"].rules,
      ...graphql.configs["flat/schema-relay"].rules,
      ...named(more),
      ...named(exceptions),
    },
  },
];
