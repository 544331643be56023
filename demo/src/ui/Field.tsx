// A form field with its label, a hint, and its errors.

import { type ComponentProps, type ReactNode, useId } from "react";

interface FieldErrorsProps {
  id?: string;
  errors: string[];
}

/** The errors of a field, announced as they appear. */
export function FieldErrors({ id, errors }: FieldErrorsProps) {
  return (
    <div id={id} aria-live="polite">
      {errors.map((error) => (
        <p key={error} className="field-error">
          {error}
        </p>
      ))}
    </div>
  );
}

interface FieldProps {
  label: string;
  hint?: ReactNode;
  errors?: string[];
  children: (wiring: Pick<ComponentProps<"input">, "id" | "aria-describedby" | "aria-invalid">) => ReactNode;
}

export function Field({ label, hint, errors = [], children }: FieldProps) {
  const id = useId();
  const described = [hint && `${id}-hint`, errors.length > 0 && `${id}-errors`].filter(Boolean).join(" ");
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({ id, "aria-describedby": described || undefined, "aria-invalid": errors.length > 0 })}
      {hint && (
        <p id={`${id}-hint`} className="hint">
          {hint}
        </p>
      )}
      <FieldErrors id={`${id}-errors`} errors={errors} />
    </div>
  );
}
