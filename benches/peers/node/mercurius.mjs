// Mercurius on Fastify. Its compiler (JIT) compiles a query after the first execution.

import Fastify from "fastify";
import mercurius from "mercurius";

import { serve } from "./cluster.mjs";
import { context, resolvers, typeDefs } from "./graph.mjs";

await serve(async () => {
  const app = Fastify({ logger: false });
  app.register(mercurius, {
    schema: typeDefs,
    resolvers,
    jit: 1,
    context: (request) => context(request.headers.authorization),
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  return app.server.address().port;
});
