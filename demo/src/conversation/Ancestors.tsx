// The posts above a post in its conversation, the oldest first.

import type { FragmentType } from "../generated";
import { Feed } from "../lists/Feed";
import { PostCard, type PostCardPost } from "../timeline/PostCard";

interface AncestorsProps {
  /** The nearest first. */
  posts: readonly ({ id: string } & FragmentType<typeof PostCardPost>)[];
}

export function Ancestors({ posts }: AncestorsProps) {
  return (
    <Feed label="Posts above" isBusy={false}>
      {posts.toReversed().map((post, index) => (
        <PostCard key={post.id} post={post} position={index + 1} isBelowParent={index > 0} />
      ))}
    </Feed>
  );
}
