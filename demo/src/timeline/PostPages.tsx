// A list of posts, loaded page by page.

import type { FragmentType } from "../generated";
import { Feed } from "../lists/Feed";
import { ListEnd } from "../lists/ListEnd";
import { nextPageOf } from "../lists/nextPage";
import type { Reading } from "../ui/Missing";
import { PostCard, type PostCardPost } from "./PostCard";

interface PostPagesProps {
  label: string;
  /** The pages read so far; undefined or null until there is one. */
  pages?: {
    nodes: readonly ({ id: string } & FragmentType<typeof PostCardPost>)[];
    pageInfo: { endCursor: string | null; hasNextPage: boolean };
  } | null;
  reading: Reading & { onMore: (after: string) => void };
  /** The kind of entries, such as "posts". */
  what?: string;
  /** The text to show if there are no posts. */
  empty: string;
  /** The text to show at the end of the list. */
  atEnd?: string;
  /** True if these are the replies to the post above. */
  areBelowParent?: boolean;
}

export function PostPages(props: PostPagesProps) {
  const { label, pages, reading, what = "posts", empty, atEnd = "End of the list.", areBelowParent } = props;
  const { isLoading, error, refetch, onMore } = reading;
  return (
    <>
      <Feed label={label} isBusy={isLoading}>
        {pages?.nodes.map((post, index) => (
          <PostCard key={post.id} post={post} position={index + 1} isBelowParent={areBelowParent} />
        ))}
      </Feed>
      <ListEnd
        what={what}
        atEnd={pages?.nodes.length === 0 ? empty : atEnd}
        isFetching={isLoading}
        error={error}
        next={nextPageOf(pages)}
        onMore={onMore}
        onRetry={refetch}
      />
    </>
  );
}
