// A list of users on a profile.

import { usePages } from "../api/usePages";
import { readFragment } from "../generated";
import type { PeopleTab } from "../navigation/routes";
import { LISTS, PeoplePage } from "./lists";
import { People } from "./People";

interface PeopleListProps {
  username: string;
  list: PeopleTab;
}

export function PeopleList({ username, list }: PeopleListProps) {
  const { query, heading, empty } = LISTS[list];
  const reading = usePages(query, { username }, ({ user }) => readFragment(PeoplePage, user?.people));
  return <People heading={heading} empty={empty} reading={reading} />;
}
