// The earlier versions of a post, the newest first.

import { useRetryingQuery } from "../api/useRetryingQuery";
import { graphql } from "../generated";
import { Missing } from "../ui/Missing";
import { Moment } from "../ui/Moment";

const EditsOf = graphql(`
  query EditsOf($postId: ID!) {
    post(id: $postId) {
      id
      edits {
        content
        writtenAt
      }
    }
  }
`);

export function PostHistory({ postId }: { postId: string }) {
  const { data, ...reading } = useRetryingQuery({
    query: EditsOf,
    variables: { postId },
    requestPolicy: "cache-and-network",
  });
  const edits = data?.post?.edits;
  return (
    <section className="history" aria-label="Earlier versions">
      {edits ? (
        <ol>
          {edits.map(({ content, writtenAt }) => (
            <li key={writtenAt}>
              <p className="hint">
                <Moment at={writtenAt} />
              </p>
              <p className="history-content" dir="auto">
                {content}
              </p>
            </li>
          ))}
        </ol>
      ) : (
        <Missing what="the earlier versions" reading={reading} />
      )}
    </section>
  );
}
