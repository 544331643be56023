// Shows that data is loading.

export function Loading({ what }: { what: string }) {
  return (
    <p className="loading" role="status">
      <span className="loading-dots" aria-hidden="true">
        <i />
        <i />
        <i />
      </span>
      Loading {what} …
    </p>
  );
}
