// Subscribes to changes of the viewer's relations, so that badges stay correct, whichever user or client changes them.

import { errorOf } from "@fanfold/client/urql";
import type { Client, TypedDocumentNode } from "urql";
import type { OpenClient } from "../api/client";
import { graphql } from "../generated";

const RelationChanges = graphql(`
  subscription RelationChanges {
    relationChanged {
      __typename
      viewer {
        id
        ...RequestCount
        user {
          id
          ...Counts
        }
      }
      ... on RelationChanged {
        relation {
          id
          user {
            id
            postCount
            followerCount
            ...RelationParts
            ...UserRow
          }
        }
      }
    }
  }
`);

const RelationsOf = graphql(`
  query RelationsOf($userIds: [ID!]!) {
    relations(userIds: $userIds) {
      id
      user {
        id
        ...RelationParts
      }
    }
  }
`);

/** The viewer's counts. Payloads and events have them, but missed events are not sent later. */
const ViewerCounts = graphql(`
  query ViewerCounts {
    viewer {
      id
      ...RequestCount
      user {
        id
        followingCount
        ...Counts
      }
    }
  }
`);

/** Reads a query again, from the network into the cache. */
async function refetch<Variables extends object>(
  client: Client,
  query: TypedDocumentNode<unknown, Variables>,
  variables: Variables,
): Promise<void> {
  const { error } = await client.query(query, variables, { requestPolicy: "network-only" }).toPromise();
  if (error) throw errorOf(error);
}

/** Watches the relations of the client's session, until that is closed. The cache applies the events. */
export function watchRelations({ client, fanfold, binding }: OpenClient): void {
  /** True before the first connection, when the page has just read the counts. */
  let areCountsRecent = true;
  fanfold.watchRelations({
    read: () => {
      const counts = areCountsRecent ? [] : [refetch(client, ViewerCounts, {})];
      areCountsRecent = false;
      return Promise.all([
        ...counts,
        ...binding.shown.batches().map((userIds) => refetch(client, RelationsOf, { userIds })),
      ]);
    },
    subscribe: ({ next, error: fail, connected }) =>
      client.subscription(RelationChanges, {}, { fanfold: { connected } } as object).subscribe(({ data, error }) => {
        if (data) next(data.relationChanged);
        else if (error) fail(errorOf(error));
      }).unsubscribe,
  });
}
