// Signing out: the token is forgotten at once, and the server told, even if the page is left meanwhile.

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
  const told = fetch("/graphql", {
    method: "POST",
    keepalive: true,
    headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
    body: JSON.stringify({ query: stringifyDocument(Logout) }),
  });
  // A server that cannot be told keeps the session until it ends by itself; nobody here has its token any more.
  told.catch(() => {});
}
