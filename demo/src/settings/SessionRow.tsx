// A session of the viewer, with a button to end it.

import { type FragmentType, graphql, readFragment } from "../generated";
import { Moment } from "../ui/Moment";

export const SessionRowSession = graphql(`
  fragment SessionRow on Session {
    createdAt
    lastSeenAt
    label
    isCurrent
  }
`);

interface SessionRowProps {
  session: FragmentType<typeof SessionRowSession>;
  onRevoke: () => void;
}

export function SessionRow({ session, onRevoke }: SessionRowProps) {
  const { createdAt, lastSeenAt, label, isCurrent } = readFragment(SessionRowSession, session);
  return (
    <li>
      <div>
        <p className="name">
          {label || "Unnamed"} {isCurrent && <span className="badge">This session</span>}
        </p>
        <p className="hint">
          Signed in <Moment at={createdAt} />, last used <Moment at={lastSeenAt} />
        </p>
      </div>
      {!isCurrent && (
        <button type="button" className="button quiet" onClick={onRevoke} aria-label={`End the session ${label}`}>
          End
        </button>
      )}
    </li>
  );
}
