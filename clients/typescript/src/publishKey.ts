/** A content that was sent, and the idempotency key under which it was. */
export interface Attempt {
  readonly content: string;
  readonly key: string;
}

const BYTES = 16;

/** `crypto.randomUUID` is not available on pages served over plain HTTP. */
const randomKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(BYTES)), (byte) => byte.toString(16).padStart(2, "0")).join("");

/**
 * Returns the `idempotencyKey` with which to send a draft: the key of the last attempt if the content is the same, so that
 * the server publishes it once however often it is sent; otherwise, a new one. Keep the attempt with the draft, and
 * forget it when the server has accepted the post: the same text is another post then.
 */
export const publishKey = (content: string, last?: Attempt | null): Attempt =>
  last?.content === content ? last : { content, key: randomKey() };
