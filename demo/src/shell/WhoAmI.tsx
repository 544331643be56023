// Who is signed in, and the way out.

import { useReading } from "../api/useReading";
import { Avatar } from "../people/Avatar";
import { signOut } from "../session/signOut";
import { Icon } from "../ui/Icon";
import { ViewerQuery } from "./viewerQuery";

export function WhoAmI() {
  const { data } = useReading({ query: ViewerQuery });
  const user = data?.viewer?.user;

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
      <button type="button" className="button quiet icon-button" onClick={signOut} aria-label="Sign out">
        <Icon name="leave" />
      </button>
    </div>
  );
}
