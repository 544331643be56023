// The steps of the programs that show a normalised cache at work. Each program shows a page, made of several queries,
// and prints it after each change. No change needs a further query: its payload or event updates the whole page.

/** A page whose data comes from a cache, and the changes that its user makes. */
export interface Page {
  /** Returns the lines of the page; empty while it is loading. */
  text: () => string;
  follow: () => Promise<void>;
  unfollow: () => Promise<void>;
  publish: (content: string) => Promise<void>;
  /** Subscribes to changes by other clients, until the returned function is called. */
  watch: () => () => void;
}

/** Timeout of a change of a page, in milliseconds: the machine may be busy with other tests. */
const TIMEOUT = 60_000;
/** The interval at which a page is read, in milliseconds. */
const INTERVAL = 5;

export const pause = () => new Promise<void>((resolve) => setTimeout(resolve, INTERVAL));

/** Waits until the text of a page differs from the one shown before, and returns it. */
export async function changeOf(text: () => string, shown: string, wait = pause): Promise<string> {
  for (const end = Date.now() + TIMEOUT; text() === shown;) {
    if (Date.now() > end) throw new Error(`The page has not changed:\n${shown}`);
    await wait();
  }
  return text();
}

/** Takes the steps, and prints the page after each. */
export async function takeSteps(page: Page, wait = pause): Promise<void> {
  let shown = "";
  const printChange = async () => {
    await changeOf(page.text, shown, wait);
    // The queries of the page are updated one after the other.
    await wait();
    shown = page.text();
    console.log(`${shown}\n`);
  };

  await printChange();
  await page.unfollow();
  await printChange();
  await page.follow();
  await printChange();
  for (const content of ["a new post", "another post"]) {
    await page.publish(content);
    await printChange();
  }
  const stop = page.watch();
  console.log("Waiting for the other user to follow this one.\n");
  await printChange();
  stop();
}
