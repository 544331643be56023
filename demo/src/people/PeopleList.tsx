// One of the lists of people on a profile, without an end.

import { useState } from "react";
import { useReading } from "../api/useReading";
import { readFragment } from "../generated";
import { ListEnd } from "../lists/ListEnd";
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
  const { data, fetching, stale, error, again } = useReading({
    query,
    variables: { username, after },
    // Who comes to a list sees it as it is now; who comes back to it, what is known at once.
    requestPolicy: after === undefined ? "cache-and-network" : "cache-first",
  });
  const page = readFragment(PeoplePage, data?.user?.people);
  const next = page ? (page.pageInfo.hasNextPage ? page.pageInfo.endCursor : null) : null;
  return (
    <section aria-label={heading}>
      <ul className="people">
        {page?.nodes.map((person) => (
          <PersonRow key={person.id} user={person} />
        ))}
      </ul>
      <ListEnd
        what="people"
        atEnd={page?.nodes.length === 0 ? empty : "That is all."}
        isFetching={fetching || stale}
        error={error}
        next={next}
        onMore={setAfter}
        onRetry={again}
      />
    </section>
  );
}
