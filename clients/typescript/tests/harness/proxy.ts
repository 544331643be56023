// A TCP proxy before a server, which harms WebSockets: it cuts them between two frames, closes them with a code, delivers
// nothing any more, or rejects connections. It also withholds responses, or cuts connections before them.

import { connect, createServer, type Socket } from "node:net";

/** Returns the length of the frame at the beginning of the data; undefined if it is not complete. Servers do not mask. */
function frameLength(data: Buffer): number | undefined {
  if (data.length < 2) return undefined;
  const short = data[1]! & 0x7f;
  const head = short === 126 ? 4 : short === 127 ? 10 : 2;
  if (data.length < head) return undefined;
  const size = short === 126 ? data.readUInt16BE(2) : short === 127 ? Number(data.readBigUInt64BE(2)) : short;
  return data.length < head + size ? undefined : head + size;
}

/** Returns a part of a request whose ids of posts, if it has any, are of the same length, and malformed. */
const garbled = (request: Buffer) => Buffer.from(request.toString("latin1").replace(/("postId":")./g, "$1!"), "latin1");

/** Returns a frame that closes a WebSocket. */
function closeFrame(code: number, reason: string): Buffer {
  const text = Buffer.from(reason);
  const head = Buffer.from([0x88, text.length + 2, code >> 8, code & 0xff]);
  return Buffer.concat([head, text]);
}

export interface Proxy {
  /** The URL of the API, through the proxy. */
  readonly url: string;
  /** The number of connections that became WebSockets. */
  readonly sockets: number;
  /** The number of WebSockets that are open. */
  readonly open: number;
  /** The number of requests of all other connections. */
  readonly requests: number;
  /** The number of responses that are withheld. */
  readonly withheld: number;
  /** Cuts each WebSocket after this number of frames of the server; 0 for none. */
  cutAfter: number;
  /** True if connections are rejected. */
  isDown: boolean;
  /** True if nothing is delivered to clients, while connections stay open. */
  isSilent: boolean;
  /** True if responses are withheld, until they are released. WebSockets go on. */
  isWithholding: boolean;
  /** True if the ids of posts in requests are garbled, so that the server rejects them. */
  isGarbling: boolean;
  /** Delivers the responses that are withheld. */
  release(): void;
  /** Cuts all connections. */
  cut(): void;
  /** Cuts all connections that are not WebSockets. */
  cutRequests(): void;
  /** Closes the WebSockets with a code. */
  closeAll(code: number, reason?: string): void;
  stop(): void;
}

/** Starts a proxy before the server with this URL. */
export async function startProxy(target: string): Promise<Proxy> {
  const { hostname, port, pathname } = new URL(target);
  const clients = new Set<Socket>();
  const webSockets = new Set<Socket>();
  let withheld: (() => void)[] = [];
  const server = createServer((client) => {
    if (proxy.isDown) return void client.destroy();
    const upstream = connect(Number(port), hostname);
    clients.add(client);
    const end = () => {
      clients.delete(client);
      webSockets.delete(client);
      client.destroy();
      upstream.destroy();
    };
    for (const side of [client, upstream]) side.on("close", end).on("error", end);
    client.on("data", (chunk) => void upstream.write(proxy.isGarbling ? garbled(chunk) : chunk));
    client.on("data", (chunk) => void (chunk.subarray(0, 5).toString() === "POST " && (proxy.requests += 1)));
    let isUpgraded: boolean | undefined;
    let frames = 0;
    let data: Buffer = Buffer.alloc(0);
    upstream.on("data", (chunk: Buffer) => {
      if (proxy.isSilent) return;
      if (isUpgraded === undefined) {
        data = Buffer.concat([data, chunk]);
        const head = data.indexOf("\r\n\r\n");
        if (head === -1) return;
        isUpgraded = data.subarray(0, 12).toString() === "HTTP/1.1 101";
        if (isUpgraded) {
          proxy.sockets += 1;
          webSockets.add(client);
        }
        if (isUpgraded) client.write(data.subarray(0, head + 4));
        chunk = isUpgraded ? data.subarray(head + 4) : data;
        data = Buffer.alloc(0);
      }
      if (!isUpgraded) {
        const deliver = () => void client.write(chunk);
        return void (proxy.isWithholding ? withheld.push(deliver) : deliver());
      }
      data = Buffer.concat([data, chunk]);
      for (let length = frameLength(data); length !== undefined; length = frameLength(data)) {
        client.write(data.subarray(0, length));
        data = data.subarray(length);
        frames += 1;
        if (frames === proxy.cutAfter) return end();
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address() as { port: number };
  const proxy = {
    url: `http://127.0.0.1:${address.port}${pathname}`,
    sockets: 0,
    get open() {
      return webSockets.size;
    },
    requests: 0,
    get withheld() {
      return withheld.length;
    },
    cutAfter: 0,
    isDown: false,
    isSilent: false,
    isWithholding: false,
    isGarbling: false,
    release() {
      const due = withheld;
      withheld = [];
      for (const deliver of due) deliver();
    },
    cut() {
      for (const client of [...clients]) client.destroy();
    },
    cutRequests() {
      withheld = [];
      for (const client of [...clients]) if (!webSockets.has(client)) client.destroy();
    },
    closeAll(code: number, reason = "") {
      for (const client of [...webSockets]) client.end(closeFrame(code, reason));
    },
    stop() {
      proxy.cut();
      server.close();
    },
  };
  return proxy;
}
