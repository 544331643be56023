// The list of the viewer's sessions.

import { useMutation } from "urql";
import { type FragmentType, graphql } from "../generated";
import { noticeFailure } from "../shell/notices";
import { SessionRow, type SessionRowSession } from "./SessionRow";

const RevokeSession = graphql(`
  mutation RevokeSession($input: RevokeSessionInput!) {
    revokeSession(input: $input) {
      revokedSessionId
      userErrors {
        ...UserErrorParts
      }
    }
  }
`);

interface SessionsProps {
  sessions: readonly ({ id: string } & FragmentType<typeof SessionRowSession>)[];
  /** Called after a session has been ended. */
  onChanged: () => void;
}

export function Sessions({ sessions, onChanged }: SessionsProps) {
  const [, revokeSession] = useMutation(RevokeSession);

  const revoke = async (sessionId: string) => {
    const { data, error } = await revokeSession({ input: { sessionId } });
    if (!noticeFailure("The session could not be ended.", error, data?.revokeSession?.userErrors)) onChanged();
  };

  return (
    <ul className="setting-rows">
      {sessions.map((session) => (
        <SessionRow key={session.id} session={session} onRevoke={() => void revoke(session.id)} />
      ))}
    </ul>
  );
}
