// What happens between a page and the server, for tests in a browser.

import { connect, createServer } from "node:net";

import { until } from "./visitor.mjs";

/** A TCP proxy to the server whose connections can be cut. */
export class Wire {
  isCut = false;
  ends = new Set();

  static async to({ hostname, port }) {
    const wire = new Wire();
    wire.server = createServer((near) => wire.join(near, connect(Number(port), hostname)));
    await new Promise((resolve) => wire.server.listen(0, "127.0.0.1", resolve));
    wire.origin = `http://127.0.0.1:${wire.server.address().port}`;
    return wire;
  }

  join(near, far) {
    for (const [end, other] of [
      [near, far],
      [far, near],
    ]) {
      this.ends.add(end);
      end.on("error", () => other.destroy());
      end.on("close", () => {
        other.destroy();
        this.ends.delete(end);
      });
      end.pipe(other);
    }
    if (this.isCut) near.destroy();
  }

  cut() {
    this.isCut = true;
    this.ends.forEach((end) => end.destroy());
  }

  repair() {
    this.isCut = false;
  }

  close() {
    this.cut();
    this.server.close();
  }
}

/** Holds back the requests of an operation until they are released or aborted. */
export async function hold(page, operation) {
  const held = [];
  const handler = (route) => {
    if (route.request().postDataJSON()?.operationName === operation) held.push(route);
    else void route.continue();
  };
  await page.route("**/graphql", handler);
  const each = async (act) => {
    await until(() => held.length > 0, `${operation} is sent`);
    await Promise.all(held.map(act));
    await page.unroute("**/graphql", handler);
  };
  return {
    release: () => each((route) => route.continue()),
    abort: () => each((route) => route.abort("connectionfailed")),
  };
}
