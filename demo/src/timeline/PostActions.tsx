// The buttons below a post that reply to it, quote it, repost it, like it and bookmark it, with the form that they open,
// and the link to its conversation.

import { useRef, useState } from "react";
import { type FragmentType, graphql, readFragment } from "../generated";
import { Link } from "../navigation/Link";
import { paths } from "../navigation/routes";
import { Icon } from "../ui/Icon";
import { counted } from "../ui/numbers";
import { Composer } from "./Composer";
import { QuotedPost } from "./QuotedPost";
import { ReplyForm } from "./ReplyForm";
import { ReactionButtons } from "./ReactionButtons";
import { RepostButton } from "./RepostButton";

export const PostActionsPost = graphql(`
  fragment PostActions on Post {
    id
    visibility
    replyCount
    quoteCount
    author {
      id
      displayName
      isPrivate
    }
    ...ReplyForm
    ...QuotedPost
    ...RepostButton
    ...ReactionButtons
  }
`);

interface PostActionsProps {
  post: FragmentType<typeof PostActionsPost>;
  /** Called instead of opening a form to reply, on the page of the post, which has one. */
  onReply?: () => void;
  /** See `ReactionButtons`. */
  onReact: () => () => void;
}

export function PostActions({ post, onReply, onReact }: PostActionsProps) {
  const shown = readFragment(PostActionsPost, post);
  const { id, visibility, replyCount, quoteCount, author } = shown;
  const [form, setForm] = useState<"reply" | "quote">();
  const buttons = { reply: useRef<HTMLButtonElement>(null), quote: useRef<HTMLButtonElement>(null) };
  const isOnOwnPage = onReply !== undefined;

  const toggle = (which: "reply" | "quote") => setForm(form === which ? undefined : which);
  const close = () => {
    if (form) buttons[form].current?.focus();
    setForm(undefined);
  };

  const counts = [
    replyCount > 0 && counted(replyCount, "reply", "replies"),
    quoteCount > 0 && counted(quoteCount, "quote"),
  ].filter((count) => count !== false);
  return (
    <>
      <div className="post-foot">
        <button
          ref={buttons.reply}
          type="button"
          className="button bare icon-button"
          aria-label={`Reply to ${author.displayName}`}
          aria-expanded={isOnOwnPage ? undefined : form === "reply"}
          onClick={onReply ?? (() => toggle("reply"))}
        >
          <Icon name="reply" />
        </button>
        {/* Others could not see the quoted post. */}
        {visibility === "PUBLIC" && !author.isPrivate && (
          <button
            ref={buttons.quote}
            type="button"
            className="button bare icon-button"
            aria-label={`Quote ${author.displayName}`}
            aria-expanded={form === "quote"}
            onClick={() => toggle("quote")}
          >
            <Icon name="quote" />
          </button>
        )}
        <RepostButton post={shown} />
        <ReactionButtons post={shown} onToggle={onReact} />
        {!isOnOwnPage && counts.length > 0 && (
          <Link to={paths.post(id)} className="hint">
            {counts.join(" · ")}
          </Link>
        )}
      </div>
      {form === "reply" && <ReplyForm post={shown} onClose={close} />}
      {form === "quote" && (
        <Composer
          title={`Quote ${author.displayName}`}
          label="What do you want to add?"
          action="Publish quote"
          reference={{ quoteOf: id }}
          onClose={close}
        >
          <QuotedPost post={shown} />
        </Composer>
      )}
    </>
  );
}
