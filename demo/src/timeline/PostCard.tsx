// A post with its author and time.

import { useId, useRef } from "react";
import { type FragmentType, graphql, readFragment } from "../generated";
import { Link } from "../navigation/Link";
import { paths } from "../navigation/routes";
import { Avatar } from "../people/Avatar";
import { BlockButton } from "../people/BlockButton";
import { MuteButton } from "../people/MuteButton";
import { RelationBadge } from "../people/RelationBadge";
import { Moment } from "../ui/Moment";
import { DeletePostButton } from "./DeletePostButton";
import { PostContent } from "./PostContent";

export const PostCardPost = graphql(`
  fragment PostCard on Post {
    id
    ...PostContent
    platform
    createdAt
    author {
      id
      username
      displayName
      avatarUrl
      isViewer
      ...RelationParts
      ...RelationTarget
    }
  }
`);

interface PostCardProps {
  post: FragmentType<typeof PostCardPost>;
  /** The position in the feed, beginning with 1. */
  position: number;
}

export function PostCard({ post, position }: PostCardProps) {
  const shown = readFragment(PostCardPost, post);
  const { id, platform, createdAt, author } = shown;
  const card = useRef<HTMLElement>(null);
  const labelId = useId();

  // After a deletion or a block, moves the focus to a neighbour, so that it is not lost with the card.
  const prepareRemoval = (removes: (post: Element) => boolean) => {
    const own = card.current;
    const cards = [...(own?.parentElement?.children ?? [])];
    const place = own === null ? 0 : cards.indexOf(own);
    const isKept = (post: Element) => !removes(post);
    const neighbour = cards.slice(place).find(isKept) ?? cards.slice(0, place).findLast(isKept);
    return () => {
      const isElsewhere = document.activeElement !== document.body && !own?.contains(document.activeElement);
      if (!isElsewhere && neighbour instanceof HTMLElement) neighbour.focus();
    };
  };

  return (
    <article
      ref={card}
      className="post"
      tabIndex={0}
      aria-posinset={position}
      aria-setsize={-1}
      aria-labelledby={`${labelId}-author`}
      aria-describedby={`${labelId}-content`}
      data-post={id}
      data-author={author.id}
    >
      <Avatar {...author} />
      <div className="post-words">
        <div className="post-head">
          <p className="names">
            <Link to={paths.profile(author.username)} className="name" id={`${labelId}-author`}>
              <bdi>{author.displayName}</bdi>
            </Link>
            {author.isViewer ? <span className="badge">You</span> : <RelationBadge user={author} />}
          </p>
          <p className="hint">
            @{author.username} · <Moment at={createdAt} />
            {platform && <> · {platform}</>}
          </p>
        </div>
        <p className="post-content" id={`${labelId}-content`} dir="auto">
          <PostContent post={shown} />
        </p>
        {author.isViewer ? (
          <DeletePostButton postId={id} onDelete={() => prepareRemoval((post) => post === card.current)} />
        ) : (
          <>
            <MuteButton user={author} place="post" />
            <BlockButton
              user={author}
              place="post"
              onBlock={() => prepareRemoval((post) => post.getAttribute("data-author") === author.id)}
            />
          </>
        )}
      </div>
    </article>
  );
}
