// Says that something is being read.

export function Loading({ what }: { what: string }) {
  return (
    <p className="loading" role="status">
      <span className="loading-dots" aria-hidden="true">
        <i />
        <i />
        <i />
      </span>
      Reading {what} …
    </p>
  );
}
