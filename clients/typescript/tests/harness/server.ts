// A server of a test's own, which it can kill and start again.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** The program of the server. */
const PROGRAM = process.env["FANFOLD_PROGRAM"] ?? "";

/** The reason to skip the tests that start a server; false if they can. */
export const skipServer = PROGRAM ? false : "FANFOLD_PROGRAM is not set";

export interface OwnServer {
  /** The URL of the API, which stays the same. */
  readonly url: string;
  /** Kills the process, and no other: its Redis server is left running. */
  kill(): Promise<void>;
  /** Starts the server again, on the same port and with the same data. */
  start(): Promise<void>;
  /** Ends the server and its Redis server, and removes the data. */
  stop(): Promise<void>;
}

/** Starts a server with data of its own. */
export async function startServer(): Promise<OwnServer> {
  const data = mkdtempSync(join(tmpdir(), "fanfold-client-"));
  let program: ChildProcess | undefined;
  let origin = "http://127.0.0.1:0/";
  const start = async () => {
    const options = ["--http-listen", new URL(origin).host, "--http-admin-listen", "off"];
    const process = spawn(PROGRAM, ["serve", "--data-dir", data, "--http-trusted-proxies", "127.0.0.1", ...options], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    program = process;
    for await (const line of createInterface({ input: process.stdout })) {
      const url = /^Fanfold listens on (\S+)$/.exec(line)?.[1];
      if (!url) continue;
      origin = url;
      return;
    }
    throw new Error("The server has ended before it listens.");
  };
  const end = async (signal: NodeJS.Signals) => {
    if (!program || program.exitCode !== null || program.signalCode !== null) return;
    program.kill(signal);
    await once(program, "exit");
  };
  await start();
  return {
    get url() {
      return new URL("graphql", origin).href;
    },
    kill: () => end("SIGKILL"),
    start,
    async stop() {
      await end("SIGTERM");
      rmSync(data, { recursive: true });
    },
  };
}
