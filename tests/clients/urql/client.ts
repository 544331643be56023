// urql with its normalised cache: queries and mutations over HTTP, subscriptions over a WebSocket.

import { createFanfold, type Fanfold } from "@fanfold/client";
import { fanfoldCache, fanfoldExchange } from "@fanfold/client/urql";
import { Client } from "@urql/core";
import { cacheExchange, type UpdateResolver } from "@urql/exchange-graphcache";
import type { ResultOf } from "gql.tada";
import WebSocket from "ws";

import { Own, type Publish } from "./documents";

/** Puts a published post on top of its author's list, if the list is cached. */
const prependPost: UpdateResolver<ResultOf<typeof Publish>> = ({ publish }, _variables, cache) => {
  const edge = publish?.postEdge;
  if (!edge) return;
  cache.updateQuery({ query: Own }, (own) => {
    own?.viewer?.user.posts?.edges.unshift(edge);
    return own;
  });
};

export interface Session {
  client: Client;
  fanfold: Fanfold;
}

/** Opens a client, in whose session a user can sign in. */
export function openSession(url: string): Session {
  const fanfold = createFanfold({ url, webSocket: WebSocket });
  const cache = cacheExchange(fanfoldCache({ updates: { Mutation: { publish: prependPost } } }));
  const client = new Client({ url, preferGetMethod: false, exchanges: [cache, fanfoldExchange(fanfold)] });
  return { client, fanfold };
}
