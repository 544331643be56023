// A link to a page of the demo.

import type { ComponentProps, MouseEvent } from "react";
import { hrefOf, navigate } from "./location";

interface LinkProps extends Omit<ComponentProps<"a">, "href"> {
  to: string;
  keepsPlace?: boolean;
}

const opensElsewhere = (event: MouseEvent) =>
  event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey;

export function Link({ to, keepsPlace = false, ...rest }: LinkProps) {
  const follow = (event: MouseEvent) => {
    if (event.defaultPrevented || opensElsewhere(event)) return;
    event.preventDefault();
    navigate(to, { keepsPlace });
  };
  return <a {...rest} href={hrefOf(to)} onClick={follow} />;
}
