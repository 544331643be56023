// The viewer's home timeline.

import { graphql, useLazyLoadQuery } from "react-relay";

import { Badge } from "./Badge";
import type { TimelineQuery } from "./generated/TimelineQuery.graphql";

export function Timeline() {
  const { viewer } = useLazyLoadQuery<TimelineQuery>(
    graphql`
      query TimelineQuery {
        viewer {
          timeline(first: 10) {
            edges {
              node {
                id
                content
                author {
                  ...Badge_user
                }
                inReplyTo {
                  author {
                    ...Badge_user
                  }
                }
              }
            }
          }
        }
      }
    `,
    {},
  );
  return (
    <section>
      <p>timeline</p>
      <ul>
        {viewer?.timeline?.edges.map(({ node }) => (
          <li key={node.id}>
            <Badge user={node.author} />
            {node.inReplyTo && (
              <>
                {" "}
                to <Badge user={node.inReplyTo.author} />
              </>
            )}
            : {node.content}
          </li>
        )) ?? <li>could not be loaded</li>}
      </ul>
    </section>
  );
}
