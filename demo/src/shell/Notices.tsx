// Shows the notices, and announces them to screen readers.

import { Icon } from "../ui/Icon";
import { useStore } from "../ui/store";
import { notices } from "./notices";

export function Notices() {
  const shown = useStore(notices.store);
  return (
    <div className="notices" role="alert">
      {shown.map(({ number, text }) => (
        <div key={number} className="notice">
          <Icon name="warning" />
          <p>{text}</p>
          <button type="button" className="button quiet" onClick={() => notices.dismiss(number)}>
            OK
          </button>
        </div>
      ))}
    </div>
  );
}
