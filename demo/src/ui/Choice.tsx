// A choice of one of a few options, as buttons side by side.

interface ChoiceProps<Option> {
  label: string;
  options: readonly Option[];
  nameOf: (option: Option) => string;
  chosen: Option;
  onChoose: (option: Option) => void;
}

export function Choice<Option extends string | number>(props: ChoiceProps<Option>) {
  const { label, options, nameOf, chosen, onChoose } = props;
  return (
    <div className="choice" role="group" aria-label={label}>
      {options.map((option) => (
        <button key={option} type="button" aria-pressed={option === chosen} onClick={() => onChoose(option)}>
          {nameOf(option)}
        </button>
      ))}
    </div>
  );
}
