// A post with its author and times, the posts that it refers to, and the buttons to answer it; for the viewer's own posts,
// also those to edit and delete it.

import { useId, useRef, useState } from "react";
import { type FragmentType, graphql, readFragment } from "../generated";
import { Link } from "../navigation/Link";
import { paths } from "../navigation/routes";
import { Avatar } from "../people/Avatar";
import { BlockButton } from "../people/BlockButton";
import { MuteButton } from "../people/MuteButton";
import { RelationBadge } from "../people/RelationBadge";
import { Icon } from "../ui/Icon";
import { Moment } from "../ui/Moment";
import { DeletePostButton } from "./DeletePostButton";
import { EditForm } from "./EditForm";
import { PostActions } from "./PostActions";
import { PostContent } from "./PostContent";
import { PostHistory } from "./PostHistory";
import { QuotedPost } from "./QuotedPost";
import { ReplyingTo } from "./ReplyingTo";
import { RepostedBy, type ReposterUser } from "./RepostedBy";

export const PostCardPost = graphql(`
  fragment PostCard on Post {
    id
    ...PostContent
    ...PostActions
    ...ReplyingTo
    ...EditForm
    platform
    createdAt
    editedAt
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
  const { id, platform, createdAt, editedAt, isQuote, quoteOf, author } = shown;
  const [isEditing, setEditing] = useState(false);
  const [showsHistory, setShowsHistory] = useState(false);
  const card = useRef<HTMLElement>(null);
  const editButton = useRef<HTMLButtonElement>(null);
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

  // A list of likes or bookmarks loses the post with its reaction.
  const prepareReaction = () => {
    const focusNeighbour = prepareRemoval((post) => post === card.current);
    const own = card.current;
    return () => {
      if (!own?.isConnected) focusNeighbour();
    };
  };

  const closeForm = () => {
    editButton.current?.focus();
    setEditing(false);
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
            {editedAt && (
              <>
                {" · "}
                <button
                  type="button"
                  className="quiet-link"
                  aria-expanded={showsHistory}
                  onClick={() => setShowsHistory(!showsHistory)}
                >
                  edited <Moment at={editedAt} />
                </button>
              </>
            )}
          </p>
        </div>
        {!isBelowParent && <ReplyingTo post={shown} />}
        {isEditing ? (
          <EditForm post={shown} onClose={closeForm} />
        ) : (
          <p className="post-content" id={`${labelId}-content`} dir="auto">
            <PostContent post={shown} />
          </p>
        )}
        {/* Read again after another edit. */}
        {editedAt && showsHistory && <PostHistory key={editedAt} postId={id} />}
        {quoteOf && <QuotedPost post={quoteOf} />}
        {isQuote && !quoteOf && <p className="quoted hint">The quoted post is not available.</p>}
        <PostActions post={shown} onReply={onReply} onReact={prepareReaction} />
        {author.isViewer ? (
          <>
            <button
              ref={editButton}
              type="button"
              className="button bare icon-button post-action second"
              aria-label="Edit this post"
              aria-expanded={isEditing}
              onClick={() => setEditing(!isEditing)}
            >
              <Icon name="pencil" />
            </button>
            <DeletePostButton postId={id} onDelete={() => prepareRemoval((post) => post === card.current)} />
          </>
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
