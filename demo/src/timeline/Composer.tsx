// Where one writes a post. An attempt has a key, so that sending it again after a failure does not publish it twice.

import { type FormEvent, type KeyboardEvent, useRef, useState } from "react";
import { useMutation } from "urql";
import { explain } from "../api/failures";
import { graphql, readFragment } from "../generated";
import { Field } from "../ui/Field";
import { formatCount } from "../ui/numbers";
import { randomKey } from "../ui/randomKey";
import { errorsAt, errorsElsewhere, UserErrorParts } from "../ui/userErrors";

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
  const [content, setContent] = useState("");
  const [errors, setErrors] = useState<string[]>([]);
  const [{ fetching }, publish] = useMutation(Publish);
  const attempt = useRef<{ content: string; key: string }>(null);
  const left = MOST_CHARACTERS - [...content].length;

  const keyOf = (content: string) => {
    if (attempt.current?.content !== content) attempt.current = { content, key: randomKey() };
    return attempt.current.key;
  };

  const send = async () => {
    if (fetching) return;
    setErrors([]);
    const { data, error } = await publish({ input: { content, platform: "web", idempotencyKey: keyOf(content) } });
    const refusals = readFragment(UserErrorParts, data?.publish?.userErrors ?? []);
    if (error) setErrors([`${explain(error)} Nothing is lost: try again.`]);
    else if (refusals.length > 0) {
      setErrors([...errorsAt(refusals, "content"), ...errorsElsewhere(refusals, ["content"])]);
    } else {
      attempt.current = null;
      setContent("");
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
            onChange={(event) => setContent(event.target.value)}
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
