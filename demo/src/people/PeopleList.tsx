// A list of users on a profile, loaded page by page.

import { useState } from "react";
import { useRetryingQuery } from "../api/useRetryingQuery";
import { readFragment } from "../generated";
import { ListEnd } from "../lists/ListEnd";
import { nextPageOf } from "../lists/nextPage";
import type { PeopleTab } from "../navigation/routes";
import { LISTS, PeoplePage } from "./lists";
import { PersonRow } from "./PersonRow";

interface PeopleListProps {
  username: string;
  list: PeopleTab;
}

export function PeopleList({ username, list }: PeopleListProps) {
  const [after, setAfter] = useState<string>();
  const { query, heading, empty } = LISTS[list];
  const { data, isLoading, error, refetch } = useRetryingQuery({
    query,
    variables: { username, after },
    // The first page is refreshed whenever the list is opened; later pages come from the cache.
    requestPolicy: after === undefined ? "cache-and-network" : "cache-first",
  });
  const page = readFragment(PeoplePage, data?.user?.people);
  return (
    <section aria-label={heading}>
      <ul className="people">
        {page?.nodes.map((person) => (
          <PersonRow key={person.id} user={person} />
        ))}
      </ul>
      <ListEnd
        what="people"
        atEnd={page?.nodes.length === 0 ? empty : "End of the list."}
        isFetching={isLoading}
        error={error}
        next={nextPageOf(page)}
        onMore={setAfter}
        onRetry={refetch}
      />
    </section>
  );
}
