// The list of the viewer's sessions.

import { useMutation } from "urql";
import { explain } from "../api/failures";
import { type FragmentType, graphql, readFragment } from "../generated";
import { notices } from "../shell/notices";
import { UserErrorParts } from "../ui/userErrors";
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
    const userErrors = readFragment(UserErrorParts, data?.revokeSession?.userErrors ?? []);
    const reason = error ? explain(error) : userErrors.map(({ message }) => message).join(" ");
    if (reason) notices.show(`The session could not be ended. ${reason}`);
    else onChanged();
  };

  return (
    <ul className="setting-rows">
      {sessions.map((session) => (
        <SessionRow key={session.id} session={session} onRevoke={() => void revoke(session.id)} />
      ))}
    </ul>
  );
}
