// The panel that signs in: as one of the demo world's users, or as anybody else.

import type { GraphiQLPlugin } from "@graphiql/react";
import { useState, type FormEvent } from "react";

import { ask } from "./fetcher";
import { beginSession, endSession, useSession, type Session } from "./session";

/** Some of whom `fanfold demo` makes, and the password that it gives them unless told otherwise. */
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
  const { login } = await ask<Login>(LOGIN, { username, password });
  if (!login?.token) throw new Error(login?.userErrors[0]?.message ?? "The server has not answered.");
  beginSession({ username, token: login.token });
}

/** The token is forgotten at once, also if the server cannot be told. */
async function signOut({ token }: Session) {
  endSession(false);
  await ask("mutation Logout { logout { userErrors { message } } }", {}, token).catch(() => undefined);
}

/** For other clients. */
async function copy(token: string) {
  await navigator.clipboard.writeText(token);
}

function SignInPanel() {
  const { session, hasEnded } = useSession();
  const [said, setSaid] = useState("");
  const [isBusy, setBusy] = useState(false);
  const attempt = async (work: () => Promise<void>) => {
    setBusy(true);
    setSaid("");
    await work().catch((error: Error) => setSaid(error.message));
    setBusy(false);
  };
  return (
    <section className="panel" aria-labelledby="sign-in-title">
      <h2 id="sign-in-title">Sign in</h2>
      {session ? (
        <>
          <p>
            Everything you send is sent as <strong>{session.username}</strong>. A header <code>Authorization</code> in
            the header editor counts more.
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
      <p role="alert">{said || (hasEnded && "Your session has ended. Sign in again.")}</p>
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
      <p>Choose somebody of the demo world, or write a name and a password.</p>
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
