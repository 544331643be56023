// A choice of one of a few numbers of days, as buttons side by side.

import { counted } from "./numbers";

interface ChoiceProps {
  label: string;
  options: readonly number[];
  chosen: number;
  onChoose: (option: number) => void;
}

export function Choice({ label, options, chosen, onChoose }: ChoiceProps) {
  return (
    <div className="choice" role="group" aria-label={label}>
      {options.map((option) => (
        <button key={option} type="button" aria-pressed={option === chosen} onClick={() => onChoose(option)}>
          {counted(option, "day")}
        </button>
      ))}
    </div>
  );
}
