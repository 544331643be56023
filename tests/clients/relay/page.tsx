// A page in a DOM without a browser.

import "./dom";

import { act, type ReactNode, Suspense } from "react";
import { createRoot } from "react-dom/client";
import { RelayEnvironmentProvider } from "react-relay";
import type { Environment } from "relay-runtime";

import { pause } from "../steps";

/** Shows a page; returns the function that closes it. */
export function render(environment: Environment, page: ReactNode): () => void {
  const root = createRoot(document.body);
  act(() =>
    root.render(
      <RelayEnvironmentProvider environment={environment}>
        <Suspense fallback="">{page}</Suspense>
      </RelayEnvironmentProvider>,
    ),
  );
  return () => act(() => root.unmount());
}

/** Returns the text of the page. */
export function text(): string {
  return [...document.querySelectorAll("p, li")].map((line) => line.textContent).join("\n");
}

/** Clicks the first button of this name, if there is one. */
export function click(name: string): void {
  const button = document.querySelector<HTMLButtonElement>(`button[name="${name}"]`);
  if (button) act(() => button.click());
}

/** Waits for a moment, in which the page may change. */
export const wait = (): Promise<void> => act(pause);

/** Runs a program, and ends it: Relay caches the queries of a closed page for some minutes, and keeps it alive. */
export function run(program: (...options: string[]) => Promise<void>): void {
  program(...process.argv.slice(2)).then(
    () => process.exit(0),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
}
