// Watches how others and the viewer stand, so that badges stay right whoever changes it, and wherever.

import type { Client } from "urql";
import { graphql } from "../generated";
import { connection } from "./connection";
import { keepWatching } from "./keepWatching";
import { shownUsers } from "./shownUsers";

const RelationChanges = graphql(`
  subscription RelationChanges {
    relationChanged {
      user {
        id
        followers(first: 1) {
          totalCount
        }
        ...Standing
      }
    }
  }
`);

const RelationsOf = graphql(`
  query RelationsOf($userIds: [ID!]!) {
    relations(userIds: $userIds) {
      user {
        id
        ...Standing
      }
    }
  }
`);

const OwnCounts = graphql(`
  query OwnCounts {
    viewer {
      user {
        id
        ...Counts
      }
    }
  }
`);

/** Most ids that are asked for at once. */
const MOST_IDS = 100;

/** Reads again how many follow the viewer, whom it follows, and what it has posted. */
export const refreshOwnCounts = (client: Client) =>
  client.query(OwnCounts, {}, { requestPolicy: "network-only" }).toPromise();

/** Reads again how all who are shown stand: events of the time without a connection are not told later. */
async function refreshShown(client: Client): Promise<void> {
  const ids = shownUsers.ids();
  for (let start = 0; start < ids.length; start += MOST_IDS) {
    const userIds = ids.slice(start, start + MOST_IDS);
    await client.query(RelationsOf, { userIds }, { requestPolicy: "network-only" });
  }
  await refreshOwnCounts(client);
}

export function watchRelations(client: Client): () => void {
  const stopWatching = keepWatching({
    begin: () => client.subscription(RelationChanges, {}),
    onData: () => void refreshOwnCounts(client),
  });
  const stopFollowing = connection.store.subscribe(() => {
    if (connection.store.get() === "back") void refreshShown(client);
  });
  return () => {
    stopWatching();
    stopFollowing();
  };
}
