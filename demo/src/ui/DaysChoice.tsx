// A choice of one of a few numbers of days.

import { Choice } from "./Choice";
import { counted } from "./numbers";

interface DaysChoiceProps {
  options: readonly number[];
  chosen: number;
  onChoose: (days: number) => void;
}

export function DaysChoice(props: DaysChoiceProps) {
  return <Choice label="Days" nameOf={(days) => counted(days, "day")} {...props} />;
}
