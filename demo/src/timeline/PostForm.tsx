// The form for the text of a post. Each text that is sent has an idempotency key, so that a retry after a failure takes
// effect only once.

import { type FormEvent, type KeyboardEvent, type ReactNode, type Ref, useState } from "react";
import type { CombinedError } from "urql";
import { explain } from "../api/failures";
import { useRetryingQuery } from "../api/useRetryingQuery";
import { type FragmentType, readFragment } from "../generated";
import { ViewerQuery } from "../shell/viewerQuery";
import { Field, FieldErrors } from "../ui/Field";
import { formatCount } from "../ui/numbers";
import { useStore } from "../ui/store";
import { errorsAt, errorsElsewhere, UserErrorParts } from "../ui/userErrors";
import { drafts } from "./drafts";

const MAX_CHARACTERS = 2_000;
/** The number of remaining characters is shown from here on. */
const SHOW_REMAINING_FROM = 200;

export interface PostFormProps {
  /** The accessible name of the form. */
  title: string;
  /** The label of the text box. */
  label: string;
  /** The text of the button. */
  action: string;
  /** The text box. */
  box?: Ref<HTMLTextAreaElement>;
  /** Called when the text has been accepted, or the user cancels; without it, the form stays. */
  onClose?: () => void;
  /** The post that it refers to, shown below the text. */
  children?: ReactNode;
}

interface Outcome {
  error?: CombinedError;
  userErrors?: readonly FragmentType<typeof UserErrorParts>[];
}

interface SendingProps {
  /** Distinguishes the drafts of a user. */
  subject: string;
  /** The text to begin with, to which the form returns when the user cancels. */
  initial?: string;
  /** The text of the button while the text is being sent. */
  progress?: string;
  isUnderWay: boolean;
  onSend: (content: string, idempotencyKey: string) => Promise<Outcome>;
}

export function PostForm(props: PostFormProps & SendingProps) {
  const { title, label, action, progress = "Publishing …", box, onClose, children } = props;
  const { subject, initial, isUnderWay, onSend } = props;
  const { data: viewing } = useRetryingQuery({ query: ViewerQuery });
  // Drafts belong to a user: the form is disabled until the username is loaded.
  const username = viewing?.viewer?.user.username;
  const draft = username && drafts.nameOf(username, subject);
  const written = useStore(drafts.store);
  const content = (draft && written[draft]?.content) ?? initial ?? "";
  const [contentErrors, setContentErrors] = useState<string[]>([]);
  const [otherErrors, setOtherErrors] = useState<string[]>([]);
  const left = MAX_CHARACTERS - [...content].length;

  const send = async () => {
    if (isUnderWay || !draft) return;
    setContentErrors([]);
    setOtherErrors([]);
    const { error, userErrors = [] } = await onSend(content, drafts.keyOf(draft, content));
    const errors = readFragment(UserErrorParts, userErrors);
    if (error) setContentErrors([`${explain(error)} Your draft is saved: try again.`]);
    else if (errors.length > 0) {
      setContentErrors(errorsAt(errors, "content"));
      setOtherErrors(errorsElsewhere(errors, ["content"]));
    } else {
      drafts.accepted(draft, content);
      onClose?.();
    }
  };

  const cancel = () => {
    if (initial !== undefined && draft) drafts.discard(draft);
    onClose?.();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void send();
  };
  const actByKey = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void send();
    if (event.key === "Escape") cancel();
  };

  return (
    <form className="composer" onSubmit={submit} aria-label={title}>
      <Field label={label} errors={contentErrors}>
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
          <button type="button" className="button quiet" onClick={cancel}>
            Cancel
          </button>
        )}
        <button type="submit" className="button" aria-disabled={isUnderWay}>
          {isUnderWay ? progress : action}
        </button>
      </div>
    </form>
  );
}
