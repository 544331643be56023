// The GraphQL client of a session, and the anonymous one, for signing in.

import { createFanfold, memoryToken } from "@fanfold/client";
import { fanfoldExchange, urqlBinding } from "@fanfold/client/urql";
import { urqlReactions } from "@fanfold/client/urql/reactions";
import { Client } from "urql";
import { connection } from "../live/connection";
import { Follow, Unfollow } from "../people/useRelationChange";
import { session } from "../session/session";
import { reactionDocuments } from "../timeline/reactions";
import { cache } from "./cache";
import { keepErrors } from "./keepErrors";

const common = { url: "/graphql", preferGetMethod: false } as const;

export type OpenClient = ReturnType<typeof openClient>;

/** Opens a client for the session with this token. */
export function openClient(token: string) {
  const fanfold = createFanfold({ url: common.url, token: memoryToken(token) });
  fanfold.signedIn.subscribe(session.expire);
  fanfold.state.subscribe(() => connection.follow(fanfold.state.get()));
  const client = new Client({ ...common, exchanges: [keepErrors(), cache(), fanfoldExchange(fanfold)] });
  const binding = {
    ...urqlBinding(fanfold, client, { follow: Follow, unfollow: Unfollow }),
    reactions: urqlReactions(client, reactionDocuments),
  };
  return { client, fanfold, binding };
}

/** Opens a client without a session. */
export const openAnonymousClient = () =>
  new Client({ ...common, exchanges: [fanfoldExchange(createFanfold({ url: common.url }))] });
