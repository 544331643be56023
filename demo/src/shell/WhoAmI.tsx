// The signed-in user, and the button to sign out.

import { useSession } from "@fanfold/client/react";
import { useRetryingQuery } from "../api/useRetryingQuery";
import { Avatar } from "../people/Avatar";
import { session } from "../session/session";
import { Icon } from "../ui/Icon";
import { ViewerQuery } from "./viewerQuery";

export function WhoAmI() {
  const { data } = useRetryingQuery({ query: ViewerQuery });
  const { signOut } = useSession();
  const user = data?.viewer?.user;
  const leave = () => {
    session.end();
    signOut();
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
      <button type="button" className="button quiet icon-button" onClick={leave} aria-label="Sign out">
        <Icon name="leave" />
      </button>
    </div>
  );
}
