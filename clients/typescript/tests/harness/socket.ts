// The WebSocket class of the tests.

import WebSocket, { type ClientOptions } from "ws";

/** Ignores the error of a socket that is closed while it connects, which would end the program. */
export class QuietWebSocket extends WebSocket {
  constructor(url: string, protocols?: string | string[], options?: ClientOptions) {
    super(url, protocols, options);
    this.on("error", () => {});
  }
}
