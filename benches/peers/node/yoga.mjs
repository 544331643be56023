// GraphQL Yoga on Node's HTTP server. It caches parsed and validated documents by default.

import { createServer } from "node:http";

import { createSchema, createYoga } from "graphql-yoga";

import { serve } from "./cluster.mjs";
import { context, resolvers, typeDefs } from "./graph.mjs";

await serve(async () => {
  const yoga = createYoga({
    schema: createSchema({ typeDefs, resolvers }),
    context: ({ request }) => context(request.headers.get("authorization")),
    parserAndValidationCache: true,
    logging: false,
    maskedErrors: false,
    graphiql: false,
    landingPage: false,
  });
  const server = createServer(yoga);
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  return server.address().port;
});
