// Measures the width of an element, now and whenever it changes.

import { useLayoutEffect, useRef, useState } from "react";

export function useWidth<Of extends Element>() {
  const element = useRef<Of>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const measured = element.current;
    if (!measured) return;
    const measure = () => setWidth(measured.getBoundingClientRect().width);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(measured);
    return () => observer.disconnect();
  }, []);
  return [width, element] as const;
}
