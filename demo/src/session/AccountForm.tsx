// The form that signs in with a username and password, or creates an account.

import { type FormEvent, useState } from "react";
import { Field } from "../ui/Field";
import { errorsAt, errorsElsewhere } from "../ui/userErrors";
import { useAccount } from "./useAccount";

/** The server counts UTF-8 bytes. */
const PASSWORD_RULE = "8 to 256 bytes: an English letter takes one, letters of other scripts two or more.";
const FIELDS = ["username", "password", "displayName"];

export function AccountForm() {
  const [isNew, setNew] = useState(false);
  const [username, setUsername] = useState("");
  const [password, setPassword] = useState("");
  const [displayName, setDisplayName] = useState("");
  const { isUnderWay, userErrors, failure, clearErrors, signIn, register } = useAccount();

  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isUnderWay) return;
    if (isNew) void register({ username, password, displayName: displayName || null });
    else void signIn({ username, password });
  };

  const switchMode = () => {
    clearErrors();
    setNew(!isNew);
  };

  const general = [...(failure ? [failure] : []), ...errorsElsewhere(userErrors, FIELDS)];
  return (
    <section className="card">
      <h2>{isNew ? "Create an account" : "Sign in"}</h2>
      <form className="form" onSubmit={submit}>
        <Field label="Username" hint={isNew && "2 to 30 of a–z, 0–9 and _."} errors={errorsAt(userErrors, "username")}>
          {(wiring) => (
            <input
              {...wiring}
              value={username}
              required
              autoComplete="username"
              autoCapitalize="off"
              spellCheck={false}
              onChange={(event) => setUsername(event.target.value)}
            />
          )}
        </Field>
        {isNew && (
          <Field label="Display name (optional)" errors={errorsAt(userErrors, "displayName")}>
            {(wiring) => (
              <input
                {...wiring}
                value={displayName}
                autoComplete="name"
                onChange={(event) => setDisplayName(event.target.value)}
              />
            )}
          </Field>
        )}
        <Field label="Password" hint={isNew && PASSWORD_RULE} errors={errorsAt(userErrors, "password")}>
          {(wiring) => (
            <input
              {...wiring}
              type="password"
              value={password}
              required
              autoComplete={isNew ? "new-password" : "current-password"}
              onChange={(event) => setPassword(event.target.value)}
            />
          )}
        </Field>
        <div role="alert">
          {general.map((message) => (
            <p key={message} className="field-error">
              {message}
            </p>
          ))}
        </div>
        <div className="form-foot">
          <button type="submit" className="button" aria-disabled={isUnderWay}>
            {isNew ? "Create account" : "Sign in"}
          </button>
          <button type="button" className="button bare" onClick={switchMode}>
            {isNew ? "I have an account" : "Create an account"}
          </button>
        </div>
      </form>
    </section>
  );
}
