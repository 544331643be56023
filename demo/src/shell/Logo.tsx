// The logo of Fanfold: a sheet folded like a fan.

export function Logo() {
  return (
    <svg className="logo" viewBox="0 0 32 32" aria-hidden="true">
      <path className="logo-front" d="M3 8l6.5-3v19L3 27zM16 8l6.5-3v19L16 27z" />
      <path className="logo-back" d="M9.5 5 16 8v19l-6.5-3zM22.5 5 29 8v19l-6.5-3z" />
    </svg>
  );
}
