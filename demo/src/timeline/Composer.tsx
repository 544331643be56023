// Where one writes a post. An attempt has a key, so that sending it again after a failure does not publish it twice.

import { type FormEvent, type KeyboardEvent, useState } from "react";
import { useMutation } from "urql";
import { explain } from "../api/failures";
import { useReading } from "../api/useReading";
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
          posts(first: 1) {
            totalCount
          }
        }
        ...PostCard
      }
      userErrors {
        ...UserErrorParts
      }
    }
  }
`);

const MOST_CHARACTERS = 2_000;
/** From so many left on it is told how many. */
const TOLD_FROM = 200;

export function Composer() {
  const { data: viewing } = useReading({ query: ViewerQuery });
  // The draft is somebody's: until it is known whose, nothing can be written.
  const username = viewing?.viewer?.user.username;
  const written = useStore(drafts.store);
  const content = (username && written[username]?.content) || "";
  const [errors, setErrors] = useState<string[]>([]);
  const [{ fetching }, publish] = useMutation(Publish);
  const left = MOST_CHARACTERS - [...content].length;

  const send = async () => {
    if (fetching || !username) return;
    setErrors([]);
    const idempotencyKey = drafts.keyOf(username, content);
    const { data, error } = await publish({ input: { content, platform: "web", idempotencyKey } });
    const refusals = readFragment(UserErrorParts, data?.publish?.userErrors ?? []);
    if (error) setErrors([`${explain(error)} Nothing is lost: try again.`]);
    else if (refusals.length > 0) {
      setErrors([...errorsAt(refusals, "content"), ...errorsElsewhere(refusals, ["content"])]);
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
          {left <= TOLD_FROM && `${formatCount(left)} characters left`}
        </span>
        <button type="submit" className="button" aria-disabled={fetching}>
          {fetching ? "Publishing …" : "Publish"}
        </button>
      </div>
    </form>
  );
}
