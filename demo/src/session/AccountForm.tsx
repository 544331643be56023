// Signs in by name and password, or makes an account of them.

import { type FormEvent, useState } from "react";
import { Field } from "../ui/Field";
import { errorsAt, errorsElsewhere } from "../ui/userErrors";
import { useAccount } from "./useAccount";

/** The server counts the bytes of UTF-8. */
const PASSWORD_RULE = "8 to 256 bytes: a letter of English is one, of other scripts two or more.";
const FIELDS = ["username", "password", "displayName"];

export function AccountForm() {
  const [isNew, setNew] = useState(false);
  const [username, setUsername] = useState("");
  const [password, setPassword] = useState("");
  const [displayName, setDisplayName] = useState("");
  const { isUnderWay, refusals, failure, forget, signIn, register } = useAccount();

  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isUnderWay) return;
    if (isNew) void register({ username, password, displayName: displayName || null });
    else void signIn({ username, password });
  };

  const change = () => {
    forget();
    setNew(!isNew);
  };

  const general = [...(failure ? [failure] : []), ...errorsElsewhere(refusals, FIELDS)];
  return (
    <section className="card">
      <h2>{isNew ? "Make an account" : "Sign in by name"}</h2>
      <form className="form" onSubmit={submit}>
        <Field label="Username" hint={isNew && "2 to 30 of a–z, 0–9 and _."} errors={errorsAt(refusals, "username")}>
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
          <Field label="Name (if you like)" errors={errorsAt(refusals, "displayName")}>
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
        <Field label="Password" hint={isNew && PASSWORD_RULE} errors={errorsAt(refusals, "password")}>
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
            {isNew ? "Make it" : "Sign in"}
          </button>
          <button type="button" className="button bare" onClick={change}>
            {isNew ? "I have an account" : "I am new here"}
          </button>
        </div>
      </form>
    </section>
  );
}
