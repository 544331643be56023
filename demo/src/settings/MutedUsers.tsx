// The users whom the viewer mutes, loaded page by page, each with a button to unmute them.

import { useState } from "react";
import { useRetryingQuery } from "../api/useRetryingQuery";
import { graphql } from "../generated";
import { ListEnd } from "../lists/ListEnd";
import { nextPageOf } from "../lists/nextPage";
import { MutedUser } from "./MutedUser";

const Muted = graphql(`
  query Muted($after: String) {
    viewer {
      id
      muted(first: 20, after: $after) {
        nodes {
          id
          ...MutedUser
        }
        pageInfo {
          startCursor
          endCursor
          hasNextPage
        }
      }
    }
  }
`);

export function MutedUsers() {
  const [after, setAfter] = useState<string>();
  const { data, isLoading, error, refetch } = useRetryingQuery({
    query: Muted,
    variables: { after },
    // The first page is refreshed whenever the list is opened; later pages come from the cache.
    requestPolicy: after === undefined ? "cache-and-network" : "cache-first",
  });
  const muted = data?.viewer?.muted;
  return (
    <>
      <ul className="setting-rows">
        {muted?.nodes.map((user) => (
          <MutedUser key={user.id} user={user} />
        ))}
      </ul>
      <ListEnd
        what="muted users"
        atEnd={muted?.nodes.length === 0 ? "You mute no one." : "End of the list."}
        isFetching={isLoading}
        error={error}
        next={nextPageOf(muted)}
        onMore={setAfter}
        onRetry={refetch}
      />
    </>
  );
}
