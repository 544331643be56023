// A list of users, loaded page by page.

import type { FragmentType } from "../generated";
import { ListEnd, type ListReading } from "../lists/ListEnd";
import { PersonRow, type PersonRowUser } from "./PersonRow";

interface PeopleProps {
  heading: string;
  /** The text to show if there is no one. */
  empty: string;
  reading: ListReading & { page?: { nodes: readonly ({ id: string } & FragmentType<typeof PersonRowUser>)[] } };
}

export function People({ heading, empty, reading: { page, ...reading } }: PeopleProps) {
  return (
    <section aria-label={heading}>
      <ul className="people">
        {page?.nodes.map((person) => (
          <PersonRow key={person.id} user={person} />
        ))}
      </ul>
      <ListEnd what="people" reading={reading} atEnd={page?.nodes.length === 0 ? empty : "End of the list."} />
    </section>
  );
}
