// Marks the name of a user whose account is private.

import { Icon } from "../ui/Icon";

export function PrivateMark() {
  return (
    <span className="private">
      <Icon name="lock" />
      <span className="visually-hidden">Private account</span>
    </span>
  );
}
