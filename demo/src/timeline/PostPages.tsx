// A list of posts, loaded page by page.

import type { FragmentType } from "../generated";
import { Feed } from "../lists/Feed";
import { ListEnd, type ListReading } from "../lists/ListEnd";
import { PostCard, type PostCardPost } from "./PostCard";
import type { ReposterUser } from "./RepostedBy";

/** An entry of a list: a post, and those whose reposts put it there. */
interface PostEntry {
  node: { id: string } & FragmentType<typeof PostCardPost>;
  repostedBy?: readonly ({ id: string } & FragmentType<typeof ReposterUser>)[];
}

/** Merges the entries of each post into the first. A later repost lists a post again. */
function distinct(entries: readonly PostEntry[]): PostEntry[] {
  const posts = new Map<string, Required<PostEntry>>();
  for (const { node, repostedBy = [] } of entries) {
    const first = posts.get(node.id)?.repostedBy ?? [];
    const others = repostedBy.filter(({ id }) => first.every((user) => user.id !== id));
    posts.set(node.id, { node, repostedBy: [...first, ...others] });
  }
  return [...posts.values()];
}

interface PostPagesProps {
  label: string;
  /** The entries of the pages read so far. */
  entries?: readonly PostEntry[];
  reading: ListReading;
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
  const { label, entries = [], reading, what = "posts", empty, atEnd = "End of the list." } = props;
  return (
    <>
      <Feed label={label} isBusy={reading.isLoading}>
        {distinct(entries).map(({ node, repostedBy }, index) => (
          <PostCard
            key={node.id}
            post={node}
            repostedBy={repostedBy}
            position={index + 1}
            isBelowParent={props.areBelowParent}
          />
        ))}
      </Feed>
      <ListEnd what={what} reading={reading} atEnd={entries.length === 0 ? empty : atEnd} />
    </>
  );
}
