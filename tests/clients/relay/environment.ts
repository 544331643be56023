// The store of a page, and its network. The compiler has replaced each document with its hash.

import { createFanfold, memoryToken } from "@fanfold/client";
import { fanfoldNetwork } from "@fanfold/client/relay";
import { Environment, RecordSource, Store } from "relay-runtime";
import WebSocket from "ws";

export function createEnvironment(url: string, token: string | null = null): Environment {
  const fanfold = createFanfold({ url, token: memoryToken(token), webSocket: WebSocket });
  return new Environment({ network: fanfoldNetwork(fanfold), store: new Store(new RecordSource()) });
}
