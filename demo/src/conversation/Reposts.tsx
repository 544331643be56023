// The users who have reposted a post, the newest repost first.

import { usePages } from "../api/usePages";
import { useRefreshing } from "../api/useRefreshing";
import { graphql } from "../generated";
import { ListEnd } from "../lists/ListEnd";
import { nextPageOf } from "../lists/nextPage";
import { PersonRow } from "../people/PersonRow";

const RepostsOf = graphql(`
  query RepostsOf($postId: ID!, $after: String) {
    post(id: $postId) {
      id
      repostedBy(first: 20, after: $after) {
        nodes {
          id
          ...PersonRow
        }
        pageInfo {
          endCursor
          hasNextPage
        }
      }
    }
  }
`);

export function Reposts({ postId }: { postId: string }) {
  const { data, isLoading, error, refetch, refresh, onMore } = usePages(RepostsOf, { postId });
  useRefreshing(refresh);
  const page = data?.post?.repostedBy;
  return (
    <section aria-label="Reposts">
      <ul className="people">
        {page?.nodes.map((person) => (
          <PersonRow key={person.id} user={person} />
        ))}
      </ul>
      <ListEnd
        what="people"
        atEnd={page?.nodes.length === 0 ? "No reposts yet." : "End of the list."}
        isFetching={isLoading}
        error={error}
        next={nextPageOf(page)}
        onMore={onMore}
        onRetry={refetch}
      />
    </section>
  );
}
