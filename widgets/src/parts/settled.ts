// Whether a thing has stood still long enough to be pressed: half a second since it appeared or moved, so that a click
// meant for something else cannot approve.

import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";

export const STILL = 500;
const LOOK = 100;

export function useSettled(element: RefObject<HTMLElement | null>, now: () => number = () => performance.now()): () => boolean {
  const since = useRef(Number.POSITIVE_INFINITY);
  const top = useRef(Number.NaN);
  const look = (): void => {
    const at = element.current?.getBoundingClientRect().top ?? Number.NaN;
    if (!(Math.abs(at - top.current) <= 1)) since.current = now();
    top.current = at;
  };
  useEffect(() => {
    look();
    const timer = setInterval(look, LOOK);
    return () => clearInterval(timer);
  }, []);
  return () => {
    look();
    return now() - since.current >= STILL;
  };
}
