// The buttons that like and bookmark a post, or take that back: shown optimistically; a rejected change is rolled back and
// reported.

import { type ReactionButton, useBookmark, useLike } from "@fanfold/client/react";
import type { ReactNode } from "react";
import { type FragmentType, graphql, readFragment } from "../generated";
import { notices } from "../shell/notices";
import { Icon, type IconName } from "../ui/Icon";
import { counted, formatCount } from "../ui/numbers";

export const ReactionButtonsPost = graphql(`
  fragment ReactionButtons on Post {
    id
    likeCount
    viewerHasLiked
    viewerHasBookmarked
    author {
      id
      displayName
    }
  }
`);

interface ReactionToggleProps {
  reaction: ReactionButton;
  icon: IconName;
  label: string;
  /** The notice of a failure to add the reaction, and to take it back. */
  failures: readonly [string, string];
  onToggle: ReactionButtonsProps["onToggle"];
  children?: ReactNode;
}

function ReactionToggle({ reaction, icon, label, failures, onToggle, children }: ReactionToggleProps) {
  const { isSet, toggle } = reaction;
  const change = async () => {
    const onSettled = onToggle();
    const error = await toggle();
    if (error) notices.show(`${failures[isSet ? 1 : 0]} ${error}`);
    onSettled();
  };
  return (
    <button
      type="button"
      className="button bare icon-button counting filling"
      aria-label={label}
      aria-pressed={isSet}
      onClick={() => void change()}
    >
      <Icon name={icon} />
      {children}
    </button>
  );
}

interface ReactionButtonsProps {
  post: FragmentType<typeof ReactionButtonsPost>;
  /** Called before a change; returns what is called once it has been accepted or rejected. */
  onToggle: () => () => void;
}

export function ReactionButtons({ post, onToggle }: ReactionButtonsProps) {
  const shown = readFragment(ReactionButtonsPost, post);
  const like = useLike(shown);
  const bookmark = useBookmark(shown);
  const { displayName } = shown.author;
  const count = like.count > 0 ? `: ${counted(like.count, "like")}` : "";
  return (
    <>
      <ReactionToggle
        reaction={like}
        icon="heart"
        label={`Like ${displayName}${count}`}
        failures={["The post could not be liked.", "The like could not be taken back."]}
        onToggle={onToggle}
      >
        {like.count > 0 && formatCount(like.count)}
      </ReactionToggle>
      <ReactionToggle
        reaction={bookmark}
        icon="bookmark"
        label={`Bookmark ${displayName}`}
        failures={["The post could not be bookmarked.", "The bookmark could not be removed."]}
        onToggle={onToggle}
      />
    </>
  );
}
