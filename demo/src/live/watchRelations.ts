// Watches how others and the viewer stand, so that badges stay right whoever changes it, and wherever.

import type { Client } from "urql";
import { graphql, readFragment } from "../generated";
import type { StandingFragment } from "../generated/graphql";
import { Standing } from "../people/standing";
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
        following(first: 1) {
          totalCount
        }
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
}

/** Reads again how many the viewer follows, and tells whether it is as many as was known. */
async function followsAsMany(client: Client): Promise<boolean> {
  const known = await client.query(OwnCounts, {}, { requestPolicy: "cache-only" });
  const current = await refreshOwnCounts(client);
  const [before, after] = [known, current].map(({ data }) => data?.viewer?.user.following.totalCount);
  return before !== undefined && before === after;
}

/** Since when the viewer follows somebody, if that is what has changed last; else the other one has changed it. */
function followedJustNow(relation: StandingFragment["relation"]): string | null {
  const { followingSince = null, followerSince = null } = relation ?? {};
  if (followingSince === null || followerSince === null) return followingSince;
  return Date.parse(followingSince) >= Date.parse(followerSince) ? followingSince : null;
}

interface RelationsWatcher {
  /** The viewer has begun to follow somebody, here or elsewhere. */
  onFollowed: (userId: string, since: string) => void;
  /** The viewer has followed or unfollowed somebody elsewhere while there was no connection, or may have. */
  onMissed: () => void;
}

export function watchRelations(client: Client, { onFollowed, onMissed }: RelationsWatcher): () => void {
  const stopWatching = keepWatching({
    begin: () => client.subscription(RelationChanges, {}),
    onData: ({ relationChanged: { user } }) => {
      void refreshOwnCounts(client);
      const since = followedJustNow(readFragment(Standing, user).relation);
      if (since !== null) onFollowed(user.id, since);
    },
  });
  const stopFollowing = connection.store.subscribe(() => {
    if (connection.store.get() !== "back") return;
    void refreshShown(client);
    void followsAsMany(client).then((isSo) => {
      if (!isSo) onMissed();
    });
  });
  return () => {
    stopWatching();
    stopFollowing();
  };
}
