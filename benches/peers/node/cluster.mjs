// Runs a server in one process, or in several that share a port.

import cluster from "node:cluster";

/** Runs `listen`, which returns a port, in as many processes as WORKERS says. Prints the address. */
export async function serve(listen) {
  const workers = Number(process.env.WORKERS ?? 1);
  const announce = (port) => console.log(`listens on http://127.0.0.1:${port}/`);
  if (workers === 1) {
    announce(await listen());
  } else if (cluster.isPrimary) {
    let listening = 0;
    cluster.on("listening", (_, { port }) => {
      listening += 1;
      if (listening === workers) announce(port);
    });
    for (let worker = 0; worker < workers; worker += 1) cluster.fork();
  } else {
    await listen();
  }
}
