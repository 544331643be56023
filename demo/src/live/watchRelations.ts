// Subscribes to changes of the viewer's relations, so that badges stay correct, whichever user or client changes them.

import type { Client } from "urql";
import { graphql, readFragment } from "../generated";
import type { RelationPartsFragment } from "../generated/graphql";
import { RelationParts } from "../people/relation";
import { connection } from "./connection";
import { keepWatching } from "./keepWatching";
import { shownUsers } from "./shownUsers";

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

/** Maximum number of ids per request. */
const MAX_IDS = 100;

/** Refetches the relations of all shown users: missed events are not sent later. */
async function refreshShown(client: Client): Promise<void> {
  const ids = shownUsers.ids();
  for (let start = 0; start < ids.length; start += MAX_IDS) {
    const userIds = ids.slice(start, start + MAX_IDS);
    await client.query(RelationsOf, { userIds }, { requestPolicy: "network-only" });
  }
}

const readCounts = (client: Client, requestPolicy: "cache-only" | "network-only") =>
  client.query(ViewerCounts, {}, { requestPolicy }).toPromise();

/** Refetches the viewer's counts; returns true if they follow as many users as in the cache. */
async function followsAsMany(client: Client): Promise<boolean> {
  const cached = await readCounts(client, "cache-only");
  const current = await readCounts(client, "network-only");
  const [before, after] = [cached, current].map(({ data }) => data?.viewer?.user.followingCount ?? null);
  return before !== null && before === after;
}

/** Returns the time of the viewer's follow if it is the latest change of the relation; null if the user's is. */
function followedJustNow(relation: RelationPartsFragment["relation"]): string | null {
  const { followingSince = null, followerSince = null } = relation ?? {};
  if (followingSince === null || followerSince === null) return followingSince;
  return Date.parse(followingSince) >= Date.parse(followerSince) ? followingSince : null;
}

interface RelationsWatcher {
  /** Called when the viewer follows a user, in this or another client. */
  onFollowed: (userId: string, since: string) => void;
  /** Called when the viewer unmutes a user, in this or another client. */
  onUnmuted: () => void;
  /** Called if the viewer may have followed or unfollowed users in another client, and the events were missed. */
  onMissed: () => void;
}

interface RelationsWatch {
  /** Handles a change that this client has made. */
  onChanged: (user: RelationPartsFragment, wasMuted?: boolean) => void;
  stop: () => void;
}

export function watchRelations(client: Client, { onFollowed, onUnmuted, onMissed }: RelationsWatcher): RelationsWatch {
  /** The users known to be muted. */
  const muted = new Set<string>();
  const onChanged = ({ id, relation }: RelationPartsFragment, wasMuted = muted.has(id)) => {
    const since = followedJustNow(relation);
    if (since !== null) onFollowed(id, since);
    if (relation?.mutedSince) muted.add(id);
    else muted.delete(id);
    if (wasMuted && !relation?.mutedSince) onUnmuted();
  };
  /** Refetches what missed events would have changed. */
  const refetchMissed = () => {
    void refreshShown(client);
    void followsAsMany(client).then((isUnchanged) => {
      if (!isUnchanged) onMissed();
    });
  };
  const stopWatching = keepWatching({
    begin: () => client.subscription(RelationChanges, {}),
    onData: ({ relationChanged: event }) => {
      if (event.__typename === "RelationChanged") onChanged(readFragment(RelationParts, event.relation.user));
      else if (event.__typename === "RelationsReset") refetchMissed();
    },
  });
  const stopFollowing = connection.store.subscribe(() => {
    if (connection.store.get() === "back") refetchMissed();
  });
  return {
    onChanged,
    stop: () => {
      stopWatching();
      stopFollowing();
    },
  };
}
