// A list of users, loaded page by page.

import type { FragmentType } from "../generated";
import { ListEnd } from "../lists/ListEnd";
import type { Reading } from "../ui/Missing";
import { PersonRow, type PersonRowUser } from "./PersonRow";

interface PeopleProps {
  heading: string;
  /** The text to show if there is no one. */
  empty: string;
  reading: Reading & {
    page?: {
      nodes: readonly ({ id: string } & FragmentType<typeof PersonRowUser>)[];
      pageInfo: { hasNextPage: boolean };
    };
    onMore: () => void;
  };
}

export function People({ heading, empty, reading: { page, isLoading, error, refetch, onMore } }: PeopleProps) {
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
        hasMore={page?.pageInfo.hasNextPage}
        onMore={onMore}
        onRetry={refetch}
      />
    </section>
  );
}
