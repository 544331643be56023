// The WebSocket class of the tests.

import WebSocket, { type ClientOptions } from "ws";

/** Ignores the error of a socket that is closed while it connects, which would end the program. */
export class QuietWebSocket extends WebSocket {
  constructor(url: string, protocols?: string | string[], options?: ClientOptions) {
    super(url, protocols, options);
    this.on("error", () => {});
  }
}

/** Returns the class with a listener to all messages that arrive. */
export const listeningSocket = (listener: (message: any) => void) =>
  class extends QuietWebSocket {
    constructor(url: string, protocols?: string | string[]) {
      super(url, protocols);
      this.on("message", (data) => listener(JSON.parse(String(data))));
    }
  };
