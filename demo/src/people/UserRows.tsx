// One of the viewer's lists of users, loaded page by page.

import { usePages } from "../api/usePages";
import { readFragment } from "../generated";
import { ListEnd } from "../lists/ListEnd";
import { UserRow } from "./UserRow";
import { UserRowsPage, VIEWER_LISTS, type ViewerList } from "./viewerLists";

export function UserRows({ list }: { list: ViewerList }) {
  const { query, what, empty } = VIEWER_LISTS[list];
  const { page, ...reading } = usePages(query, {}, ({ viewer }) => readFragment(UserRowsPage, viewer?.users));
  return (
    <>
      <ul className="setting-rows">
        {page?.nodes.map((user) => (
          <UserRow key={user.id} user={user} list={list} />
        ))}
      </ul>
      <ListEnd what={what} reading={reading} atEnd={page?.nodes.length === 0 ? empty : "End of the list."} />
    </>
  );
}
