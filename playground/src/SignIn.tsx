// The sign-in panel: for the users of the demo world, and all others.

import type { GraphiQLPlugin } from "@graphiql/react";
import { useState, type FormEvent } from "react";

import { request } from "./fetcher";
import { beginSession, endSession, useSession, type Session } from "./session";

/** Some of the users that `fanfold demo` creates, and their default password. */
const DEMO_USERS = ["ada", "elif_lopez", "chen_rahman", "chidi_obrien", "amara_mbeki", "olga_cohen"];
const DEMO_PASSWORD = "demo-password";

const LOGIN = `mutation Login($username: String!, $password: String!) {
  login(input: { username: $username, password: $password, label: "playground" }) {
    token
    userErrors { message }
  }
}`;

interface Login {
  login: { token: string | null; userErrors: { message: string }[] } | null;
}

async function signIn(username: string, password: string) {
  const { login } = await request<Login>(LOGIN, { username, password });
  if (!login?.token) throw new Error(login?.userErrors[0]?.message ?? "The server did not respond.");
  beginSession({ username, token: login.token });
}

/** Discards the token at once, even if the server cannot be reached. */
async function signOut({ token }: Session) {
  endSession(false);
  await request("mutation Logout { logout { userErrors { message } } }", {}, token).catch(() => undefined);
}

/** Copies the token, for use in other clients. */
async function copy(token: string) {
  await navigator.clipboard.writeText(token);
}

function SignInPanel() {
  const { session, hasEnded } = useSession();
  const [failure, setFailure] = useState("");
  const [isBusy, setBusy] = useState(false);
  const attempt = async (work: () => Promise<void>) => {
    setBusy(true);
    setFailure("");
    await work().catch((error: Error) => setFailure(error.message));
    setBusy(false);
  };
  return (
    <section className="panel" aria-labelledby="sign-in-title">
      <h2 id="sign-in-title">Sign in</h2>
      {session ? (
        <>
          <p>
            Requests are sent as <strong>{session.username}</strong>. An <code>Authorization</code> header in the header
            editor takes precedence.
          </p>
          <button type="button" onClick={() => void attempt(() => copy(session.token))}>
            Copy the token
          </button>
          <button type="button" disabled={isBusy} onClick={() => void attempt(() => signOut(session))}>
            Sign out
          </button>
        </>
      ) : (
        <SignInForm isBusy={isBusy} onSubmit={(name, password) => void attempt(() => signIn(name, password))} />
      )}
      <p role="alert">{failure || (hasEnded && "Your session has ended. Sign in again.")}</p>
    </section>
  );
}

interface SignInFormProps {
  isBusy: boolean;
  onSubmit: (username: string, password: string) => void;
}

function SignInForm({ isBusy, onSubmit }: SignInFormProps) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    onSubmit(String(fields.get("username")), String(fields.get("password")));
  };
  return (
    <form onSubmit={submit}>
      <p>Choose a user of the demo world, or enter a username and password.</p>
      <label>
        Username
        <input name="username" list="demo-users" defaultValue={DEMO_USERS[0]} autoComplete="off" required />
      </label>
      <datalist id="demo-users">
        {DEMO_USERS.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <label>
        Password
        <input name="password" type="password" defaultValue={DEMO_PASSWORD} autoComplete="off" required />
      </label>
      <button type="submit" disabled={isBusy}>
        Sign in
      </button>
    </form>
  );
}

function Icon() {
  return (
    <svg viewBox="0 0 24 24" fill="none" stroke="currentColor" strokeWidth="1.7" strokeLinecap="round">
      <circle cx="12" cy="8" r="4" />
      <path d="M4.5 20.5c0-4 3.3-6.5 7.5-6.5s7.5 2.5 7.5 6.5" />
    </svg>
  );
}

export const SIGN_IN_PLUGIN: GraphiQLPlugin = { title: "Sign in", icon: Icon, content: SignInPanel };
