// One of the viewer's lists of users, loaded page by page.

import { useState } from "react";
import { useRetryingQuery } from "../api/useRetryingQuery";
import { readFragment } from "../generated";
import { ListEnd } from "../lists/ListEnd";
import { nextPageOf } from "../lists/nextPage";
import { UserRow } from "./UserRow";
import { UserRowsPage, VIEWER_LISTS, type ViewerList } from "./viewerLists";

export function UserRows({ list }: { list: ViewerList }) {
  const [after, setAfter] = useState<string>();
  const { query, what, empty } = VIEWER_LISTS[list];
  const { data, isLoading, error, refetch } = useRetryingQuery({
    query,
    variables: { after },
    // The first page is refreshed whenever the list is opened; later pages come from the cache.
    requestPolicy: after === undefined ? "cache-and-network" : "cache-first",
  });
  const page = readFragment(UserRowsPage, data?.viewer?.users);
  return (
    <>
      <ul className="setting-rows">
        {page?.nodes.map((user) => (
          <UserRow key={user.id} user={user} list={list} />
        ))}
      </ul>
      <ListEnd
        what={what}
        atEnd={page?.nodes.length === 0 ? empty : "End of the list."}
        isFetching={isLoading}
        error={error}
        next={nextPageOf(page)}
        onMore={setAfter}
        onRetry={refetch}
      />
    </>
  );
}
