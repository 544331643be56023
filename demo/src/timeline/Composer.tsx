// The form to write a post. Each post has an idempotency key, so that a retry after a failure does not publish it twice.

import { type FormEvent, type KeyboardEvent, useState } from "react";
import { useMutation } from "urql";
import { explain } from "../api/failures";
import { useRetryingQuery } from "../api/useRetryingQuery";
import { graphql, readFragment } from "../generated";
import { ViewerQuery } from "../shell/viewerQuery";
import { Field } from "../ui/Field";
import { formatCount } from "../ui/numbers";
import { useStore } from "../ui/store";
import { errorsAt, errorsElsewhere, UserErrorParts } from "../ui/userErrors";
import { drafts } from "./drafts";

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

export function Composer() {
  const { data: viewing } = useRetryingQuery({ query: ViewerQuery });
  // Drafts belong to a user: the form is disabled until the username is loaded.
  const username = viewing?.viewer?.user.username;
  const written = useStore(drafts.store);
  const content = (username && written[username]?.content) || "";
  const [errors, setErrors] = useState<string[]>([]);
  const [{ fetching }, publish] = useMutation(Publish);
  const left = MAX_CHARACTERS - [...content].length;

  const send = async () => {
    if (fetching || !username) return;
    setErrors([]);
    const idempotencyKey = drafts.keyOf(username, content);
    const { data, error } = await publish({ input: { content, platform: "web", idempotencyKey } });
    const userErrors = readFragment(UserErrorParts, data?.publish?.userErrors ?? []);
    if (error) setErrors([`${explain(error)} Your draft is saved: try again.`]);
    else if (userErrors.length > 0) {
      setErrors([...errorsAt(userErrors, "content"), ...errorsElsewhere(userErrors, ["content"])]);
    } else {
      drafts.published(username, content);
    }
  };

  const submit = (event: FormEvent) => {
    event.preventDefault();
    void send();
  };
  const sendByKey = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void send();
  };

  return (
    <form className="composer" onSubmit={submit} aria-label="Write a post">
      <Field label="What do you want to say?" errors={errors}>
        {(wiring) => (
          <textarea
            {...wiring}
            rows={2}
            value={content}
            dir="auto"
            disabled={!username}
            onChange={(event) => username && drafts.write(username, event.target.value)}
            onKeyDown={sendByKey}
          />
        )}
      </Field>
      <div className="composer-foot">
        <span className={left < 0 ? "too-long" : "quiet-text"}>
          {left <= SHOW_REMAINING_FROM && `${formatCount(left)} characters left`}
        </span>
        <button type="submit" className="button" aria-disabled={fetching}>
          {fetching ? "Publishing …" : "Publish"}
        </button>
      </div>
    </form>
  );
}
