// Signs out: discards the token at once, and revokes the session on the server, even if the page is closed meanwhile.

import { stringifyDocument } from "urql";
import { graphql } from "../generated";
import { session } from "./session";

const Logout = graphql(`
  mutation Logout {
    logout {
      userErrors {
        message
      }
    }
  }
`);

export function signOut(): void {
  const { token } = session.store.get();
  session.end();
  const request = fetch("/graphql", {
    method: "POST",
    keepalive: true,
    headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
    body: JSON.stringify({ query: stringifyDocument(Logout) }),
  });
  // If the request fails, the session stays valid until it expires, but its token is discarded here.
  request.catch(() => {});
}
