// The page of the posts that the viewer likes or has bookmarked, the newest like or bookmark first.

import { usePages } from "../api/usePages";
import { useRefreshing } from "../api/useRefreshing";
import { readFragment } from "../generated";
import { PageHeading } from "../navigation/PageHeading";
import { PostPages } from "../timeline/PostPages";
import { LISTS, ReactedPostsPage as PageParts } from "./lists";

export function ReactedPostsPage({ list }: { list: keyof typeof LISTS }) {
  const { query, title, empty } = LISTS[list];
  const { page, ...reading } = usePages(query, {}, ({ viewer }) => readFragment(PageParts, viewer?.posts));
  useRefreshing(reading.refresh);
  return (
    <div className="page">
      <div className="column">
        <PageHeading title={title}>{title}</PageHeading>
        <PostPages label={title} entries={page?.edges} reading={reading} empty={empty} />
      </div>
    </div>
  );
}
