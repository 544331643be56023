// The form to write a post. Each post has an idempotency key, so that a retry after a failure does not publish it twice.

import { type FormEvent, type KeyboardEvent, type ReactNode, type Ref, useState } from "react";
import { useMutation } from "urql";
import { explain } from "../api/failures";
import { useRetryingQuery } from "../api/useRetryingQuery";
import { graphql, readFragment } from "../generated";
import { ViewerQuery } from "../shell/viewerQuery";
import { Field, FieldErrors } from "../ui/Field";
import { formatCount } from "../ui/numbers";
import { useStore } from "../ui/store";
import { errorsAt, errorsElsewhere, UserErrorParts } from "../ui/userErrors";
import { drafts, type Reference } from "./drafts";

const Publish = graphql(`
  mutation Publish($input: PublishInput!) {
    publish(input: $input) {
      post {
        id
        createdAt
        author {
          id
          isViewer
        }
        ...PostCard
        ...ReferredCounts
      }
      viewer {
        id
        user {
          id
          posts(first: 1) {
            totalCount
          }
        }
      }
      userErrors {
        ...UserErrorParts
      }
    }
  }
`);

const MAX_CHARACTERS = 2_000;
/** The number of remaining characters is shown from here on. */
const SHOW_REMAINING_FROM = 200;

interface ComposerProps {
  purpose: {
    /** The accessible name of the form. */
    title: string;
    label: string;
    /** The text of the button. */
    action: string;
  };
  /** What the post refers to. */
  reference?: Reference;
  /** The text box. */
  box?: Ref<HTMLTextAreaElement>;
  /** Called when the post is published, or the user cancels; without it, the form stays. */
  onClose?: () => void;
  /** The post that it refers to, shown below the text. */
  children?: ReactNode;
}

export function Composer({ purpose, reference = {}, box, onClose, children }: ComposerProps) {
  const { data: viewing } = useRetryingQuery({ query: ViewerQuery });
  // Drafts belong to a user: the form is disabled until the username is loaded.
  const username = viewing?.viewer?.user.username;
  const draft = username && drafts.nameOf(username, reference);
  const written = useStore(drafts.store);
  const content = (draft && written[draft]?.content) || "";
  const [contentErrors, setContentErrors] = useState<string[]>([]);
  const [otherErrors, setOtherErrors] = useState<string[]>([]);
  const [{ fetching }, publish] = useMutation(Publish);
  const left = MAX_CHARACTERS - [...content].length;

  const send = async () => {
    if (fetching || !draft) return;
    setContentErrors([]);
    setOtherErrors([]);
    const idempotencyKey = drafts.keyOf(draft, content);
    const { data, error } = await publish({ input: { content, platform: "web", idempotencyKey, ...reference } });
    const userErrors = readFragment(UserErrorParts, data?.publish?.userErrors ?? []);
    if (error) setContentErrors([`${explain(error)} Your draft is saved: try again.`]);
    else if (userErrors.length > 0) {
      setContentErrors(errorsAt(userErrors, "content"));
      setOtherErrors(errorsElsewhere(userErrors, ["content"]));
    } else {
      drafts.published(draft, content);
      onClose?.();
    }
  };

  const submit = (event: FormEvent) => {
    event.preventDefault();
    void send();
  };
  const actByKey = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void send();
    if (event.key === "Escape") onClose?.();
  };

  return (
    <form className="composer" onSubmit={submit} aria-label={purpose.title}>
      <Field label={purpose.label} errors={contentErrors}>
        {(wiring) => (
          <textarea
            {...wiring}
            ref={box}
            rows={2}
            value={content}
            dir="auto"
            disabled={!username}
            autoFocus={onClose !== undefined}
            onChange={(event) => draft && drafts.write(draft, event.target.value)}
            onKeyDown={actByKey}
          />
        )}
      </Field>
      {children}
      <FieldErrors errors={otherErrors} />
      <div className="composer-foot">
        <span className={left < 0 ? "too-long" : "quiet-text"}>
          {left <= SHOW_REMAINING_FROM && `${formatCount(left)} characters left`}
        </span>
        {onClose && (
          <button type="button" className="button quiet" onClick={onClose}>
            Cancel
          </button>
        )}
        <button type="submit" className="button" aria-disabled={fetching}>
          {fetching ? "Publishing …" : purpose.action}
        </button>
      </div>
    </form>
  );
}
