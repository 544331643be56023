// The session of this window, which lasts until the window is closed.

import { useSyncExternalStore } from "react";

export interface Session {
  username: string;
  token: string;
}

interface State {
  session: Session | null;
  /** True if the server ended the last session. */
  hasEnded: boolean;
}

const KEY = "fanfold:session";
const listeners = new Set<() => void>();
let state: State = { session: stored(), hasEnded: false };

/** Restores the session from before a reload; null if there is none or it is malformed. */
function stored(): Session | null {
  try {
    const stored = JSON.parse(sessionStorage.getItem(KEY) ?? "null") as Partial<Session> | null;
    const isComplete = typeof stored?.username === "string" && typeof stored.token === "string";
    return isComplete ? (stored as Session) : null;
  } catch {
    return null;
  }
}

function setState(next: State) {
  state = next;
  if (next.session) sessionStorage.setItem(KEY, JSON.stringify(next.session));
  else sessionStorage.removeItem(KEY);
  for (const listener of listeners) listener();
}

export function session(): Session | null {
  return state.session;
}

export function beginSession(session: Session) {
  setState({ session, hasEnded: false });
}

/** Discards the token; `hasEnded` is true if the server no longer accepts it. */
export function endSession(hasEnded: boolean) {
  setState({ session: null, hasEnded });
}

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

export function useSession(): State {
  return useSyncExternalStore(subscribe, () => state);
}
