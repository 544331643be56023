// The GraphQL client of a session, and the anonymous one, for signing in.

import { createFanfold, type Fanfold, memoryToken } from "@fanfold/client";
import { fanfoldExchange } from "@fanfold/client/urql";
import { Client, fetchExchange } from "urql";
import { connection } from "../live/connection";
import { session } from "../session/session";
import { cache } from "./cache";
import { keepErrors } from "./keepErrors";

const common = { url: "/graphql", preferGetMethod: false } as const;

export interface OpenClient {
  client: Client;
  fanfold: Fanfold;
}

/** Opens a client for the session with this token. */
export function openClient(token: string): OpenClient {
  const fanfold = createFanfold({ url: common.url, token: memoryToken(token) });
  fanfold.signedIn.subscribe(session.expire);
  fanfold.state.subscribe(() => connection.follow(fanfold.state.get()));
  const client = new Client({ ...common, exchanges: [keepErrors(), cache(), fanfoldExchange(fanfold)] });
  return { client, fanfold };
}

/** Opens a client without a session. */
export const openAnonymousClient = () => new Client({ ...common, exchanges: [fetchExchange] });
