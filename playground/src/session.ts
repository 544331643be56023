// Who is signed in, in this window, for as long as it is open.

import { useSyncExternalStore } from "react";

export interface Session {
  username: string;
  token: string;
}

const KEY = "fanfold:session";
const listeners = new Set<() => void>();
let current = read();

function read(): Session | null {
  const text = sessionStorage.getItem(KEY);
  return text === null ? null : (JSON.parse(text) as Session);
}

export function session(): Session | null {
  return current;
}

export function setSession(session: Session | null) {
  current = session;
  if (session) sessionStorage.setItem(KEY, JSON.stringify(session));
  else sessionStorage.removeItem(KEY);
  for (const listener of listeners) listener();
}

export function useSession(): Session | null {
  const subscribe = (listener: () => void) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  };
  return useSyncExternalStore(subscribe, session);
}
