// A post with its author and time, the posts that it refers to, and the buttons to answer it.

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
import { PostActions } from "./PostActions";
import { PostContent } from "./PostContent";
import { QuotedPost } from "./QuotedPost";
import { ReplyingTo } from "./ReplyingTo";
import { RepostedBy, type ReposterUser } from "./RepostedBy";

export const PostCardPost = graphql(`
  fragment PostCard on Post {
    id
    ...PostContent
    ...PostActions
    ...ReplyingTo
    platform
    createdAt
    isQuote
    quoteOf {
      id
      ...QuotedPost
    }
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
  /** The users whose reposts put it into the list, newest repost first. */
  repostedBy?: readonly FragmentType<typeof ReposterUser>[];
  /** The position in the feed, beginning with 1; none outside of a feed. */
  position?: number;
  /** True if the post to which it replies is shown above. */
  isBelowParent?: boolean;
  /** See `PostActions`. */
  onReply?: () => void;
}

export function PostCard({ post, repostedBy = [], position, isBelowParent = false, onReply }: PostCardProps) {
  const shown = readFragment(PostCardPost, post);
  const { id, platform, createdAt, isQuote, quoteOf, author } = shown;
  const card = useRef<HTMLElement>(null);
  const labelId = useId();
  const isRepost = repostedBy.length > 0;

  // After a deletion or a block, moves the focus to a neighbour, so that it is not lost with the card.
  const prepareRemoval = (removes: (post: Element) => boolean) => {
    const own = card.current;
    const cards = [...(own?.parentElement?.querySelectorAll(":scope > article") ?? [])];
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
      aria-setsize={position && -1}
      aria-labelledby={`${labelId}-author`}
      aria-describedby={isRepost ? `${labelId}-reposted ${labelId}-content` : `${labelId}-content`}
      data-post={id}
      data-author={author.id}
    >
      {isRepost && <RepostedBy id={`${labelId}-reposted`} users={repostedBy} />}
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
            @{author.username} ·{" "}
            <Link to={paths.post(id)} className="quiet-link">
              <Moment at={createdAt} />
            </Link>
            {platform && <> · {platform}</>}
          </p>
        </div>
        {!isBelowParent && <ReplyingTo post={shown} />}
        <p className="post-content" id={`${labelId}-content`} dir="auto">
          <PostContent post={shown} />
        </p>
        {quoteOf && <QuotedPost post={quoteOf} />}
        {isQuote && !quoteOf && <p className="quoted hint">The quoted post is not available.</p>}
        <PostActions post={shown} onReply={onReply} />
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
