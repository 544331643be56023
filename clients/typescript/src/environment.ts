/**
 * Listens to an event of the browser's window, where there is one, or of an element in it, until the returned function is
 * called.
 */
export function listen<Name extends keyof WindowEventMap>(
  name: Name,
  listener: (event: WindowEventMap[Name]) => void,
): () => void {
  globalThis.addEventListener?.(name, listener, true);
  return () => globalThis.removeEventListener?.(name, listener, true);
}
