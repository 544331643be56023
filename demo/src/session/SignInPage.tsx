// The sign-in page: sign in as a user of the demo world or with an account, or create one.

import { useEffect, useMemo, useRef } from "react";
import { Provider } from "urql";
import { openAnonymousClient } from "../api/client";
import { Logo } from "../shell/Logo";
import { useStore } from "../ui/store";
import { AccountForm } from "./AccountForm";
import { session } from "./session";
import { SuggestedUsers } from "./SuggestedUsers";

export function SignInPage() {
  const client = useMemo(openAnonymousClient, []);
  const { message } = useStore(session.store);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = "Sign in · Fanfold";
    if (message) heading.current?.focus();
  }, [message]);
  return (
    <Provider value={client}>
      <main className="sign-in">
        <div className="sign-in-welcome">
          <Logo />
          <h1 ref={heading} tabIndex={-1}>
            Fanfold
          </h1>
          <p>Follow people, see how each of them relates to you, and read an endless timeline.</p>
        </div>
        {message && (
          <p className="sign-in-message" role="alert">
            {message}
          </p>
        )}
        <SuggestedUsers />
        <AccountForm />
      </main>
    </Provider>
  );
}
