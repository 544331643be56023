// A unique key of 128 random bits. `crypto.randomUUID` is not available on pages served over plain HTTP.

const BYTES = 16;

export const randomKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(BYTES)), (byte) => byte.toString(16).padStart(2, "0")).join("");
