/** An entry of a response's `errors`. */
export interface GraphQLFailure {
  readonly message: string;
  readonly path?: readonly (string | number)[] | undefined;
  readonly extensions?: { readonly [key: string]: unknown } | undefined;
}

/** The codes after which the same request may succeed later. */
const TRANSIENT = ["RATE_LIMITED", "TIMEOUT", "UNAVAILABLE"];

/**
 * A failure between the client and the server: a request that was not executed, a field that failed, a rejected
 * subscription, or a lost connection. Errors to show at the fields of a form are `userErrors` of payloads instead.
 */
export class FanfoldError extends Error {
  override readonly name = "FanfoldError";
  /**
   * The first error's code, one of the schema's `ErrorCode`, which may grow; undefined if the server was not reached.
   */
  declare readonly code: string | undefined;
  /** The delay that the server demands before a retry, in seconds; 0 if it demands none. */
  declare readonly retryAfterSeconds: number;
  /** True if the same request may succeed later. Whether a mutation was executed is not known after a lost connection. */
  declare readonly isTransient: boolean;

  /** @param failures The response's errors; empty if the server was not reached. */
  constructor(
    message: string,
    readonly failures: readonly GraphQLFailure[] = [],
    cause?: unknown,
  ) {
    super(message, { cause });
    const details = failures.map(
      ({ extensions }) => (extensions ?? {}) as { code?: string; retryAfterSeconds?: number },
    );
    this.code = details[0]?.code;
    this.retryAfterSeconds = Math.max(0, ...details.map(({ retryAfterSeconds }) => retryAfterSeconds ?? 0));
    this.isTransient = !details.length || details.some(({ code }) => TRANSIENT.includes(code!));
  }
}

/** Returns the error of a response's `errors`. */
export const rejection = (failures: readonly GraphQLFailure[]): FanfoldError =>
  new FanfoldError(failures.map(({ message }) => message).join(" "), failures);

/** Returns the error of a request that has not reached the server, or of a task that has failed in another way. */
export const unreachable = (cause: unknown, message = "The server cannot be reached."): FanfoldError =>
  cause instanceof FanfoldError ? cause : new FanfoldError(message, [], cause);

/** Returns the error with which a task has failed. */
export const failureOf = (cause: unknown): FanfoldError => unreachable(cause, String(cause));

/** The forms in which libraries report errors of a response. */
interface Combined {
  readonly errors?: readonly GraphQLFailure[];
  readonly graphQLErrors?: readonly GraphQLFailure[];
  readonly networkError?: unknown;
}

/** Returns the error that a library has reported. */
export function errorOf(cause: unknown): FanfoldError {
  const { errors, graphQLErrors = errors, networkError = cause } = (cause ?? {}) as Combined;
  if (cause instanceof FanfoldError || !graphQLErrors?.length) return failureOf(networkError);
  return rejection(graphQLErrors);
}
