// A button whose action needs a confirmation: clicking it shows a question, with a button to confirm and one to cancel.

import { type KeyboardEvent, type ReactNode, useState } from "react";

interface ConfirmedProps {
  className: string;
  /** The accessible name of the button. */
  label: string;
  /** The content of the button. */
  children: ReactNode;
  question: string;
  /** What the action does. */
  explanation?: string;
  /** The text of the button to confirm. */
  confirmation: string;
  isUnderWay: boolean;
  onConfirm: () => void;
}

export function Confirmed(props: ConfirmedProps) {
  const { className, label, children, question, explanation, confirmation, isUnderWay, onConfirm } = props;
  const [step, setStep] = useState<"idle" | "confirming" | "cancelled">("idle");

  const cancel = () => {
    if (!isUnderWay) setStep("cancelled");
  };
  const cancelByKey = (event: KeyboardEvent) => {
    if (event.key === "Escape") cancel();
  };

  if (step !== "confirming") {
    return (
      <button
        type="button"
        className={className}
        autoFocus={step === "cancelled"}
        onClick={() => setStep("confirming")}
        aria-label={label}
      >
        {children}
      </button>
    );
  }
  return (
    <span className="confirm" role="group" aria-label={question} onKeyDown={cancelByKey}>
      {explanation && <span className="hint">{explanation}</span>}
      <button type="button" className="button danger" autoFocus aria-disabled={isUnderWay} onClick={onConfirm}>
        {confirmation}
      </button>
      <button type="button" className="button quiet" aria-disabled={isUnderWay} onClick={cancel}>
        Cancel
      </button>
    </span>
  );
}
