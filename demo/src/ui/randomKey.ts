// A name that nobody else gives: 128 random bits. `crypto.randomUUID` is not there on pages that came by plain HTTP.

const BYTES = 16;

export const randomKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(BYTES)), (byte) => byte.toString(16).padStart(2, "0")).join("");
