// Who is signed in, and the way out.

import { useMutation, useQuery } from "urql";
import { graphql } from "../generated";
import { Avatar } from "../people/Avatar";
import { session } from "../session/session";
import { Icon } from "../ui/Icon";
import { ViewerQuery } from "./viewerQuery";

const Logout = graphql(`
  mutation Logout {
    logout {
      userErrors {
        message
      }
    }
  }
`);

export function WhoAmI() {
  const [{ data }] = useQuery({ query: ViewerQuery });
  const [, logout] = useMutation(Logout);
  const user = data?.viewer?.user;

  // The token is forgotten even if the server cannot be told.
  const signOut = async () => {
    await logout({});
    session.end();
  };

  return (
    <div className="who-am-i">
      {user && (
        <>
          <Avatar {...user} size="small" />
          <span className="who-am-i-names">
            <bdi className="name">{user.displayName}</bdi>
            <span className="username">@{user.username}</span>
          </span>
        </>
      )}
      <button type="button" className="button quiet icon-button" onClick={() => void signOut()} aria-label="Sign out">
        <Icon name="leave" />
      </button>
    </div>
  );
}
