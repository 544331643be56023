// Who is signed in, in this window, for as long as it is open.

import { useSyncExternalStore } from "react";

export interface Session {
  username: string;
  token: string;
}

interface State {
  session: Session | null;
  /** Whether the last session was ended by the server. */
  hasEnded: boolean;
}

const KEY = "fanfold:session";
const listeners = new Set<() => void>();
let state: State = { session: kept(), hasEnded: false };

/** What was kept when the page was loaded before, if it is of the form that it should be. */
function kept(): Session | null {
  try {
    const kept = JSON.parse(sessionStorage.getItem(KEY) ?? "null") as Partial<Session> | null;
    const isWhole = typeof kept?.username === "string" && typeof kept.token === "string";
    return isWhole ? (kept as Session) : null;
  } catch {
    return null;
  }
}

function become(next: State) {
  state = next;
  if (next.session) sessionStorage.setItem(KEY, JSON.stringify(next.session));
  else sessionStorage.removeItem(KEY);
  for (const listener of listeners) listener();
}

export function session(): Session | null {
  return state.session;
}

export function beginSession(session: Session) {
  become({ session, hasEnded: false });
}

/** Forgets the token; `hasEnded` says that it is good for nothing any more. */
export function endSession(hasEnded: boolean) {
  become({ session: null, hasEnded });
}

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

export function useSession(): State {
  return useSyncExternalStore(subscribe, () => state);
}
