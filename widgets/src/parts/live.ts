// What a view lives on: the connection's state, the passing second, and which rows are open.

import { useEffect, useLayoutEffect, useReducer, useRef } from "preact/hooks";
import type { Connection } from "../model";

/** Draw again whenever the connection has something new. */
export function useConnection<View>(connection: Connection<View>): void {
  const [, again] = useReducer((count: number, _: void) => count + 1, 0);
  useLayoutEffect(() => connection.subscribe(() => again()), [connection]);
}

/** The kernel's time; draws again once a second while `ticking`. */
export function useSecond<View>(connection: Connection<View>, ticking: boolean): number {
  const [, again] = useReducer((count: number, _: void) => count + 1, 0);
  useEffect(() => {
    if (!ticking) return undefined;
    const timer = setInterval(() => again(), 1000);
    return () => clearInterval(timer);
  }, [ticking]);
  return connection.now();
}

const kept = new Map<string, Map<string, boolean>>();

/** Which parts of one view are open; survives updates, another showing of the same thing, and a reload of the page. */
export class Folds {
  private readonly open: Map<string, boolean>;

  constructor(
    private readonly of: string,
    private readonly changed: () => void,
  ) {
    const known = kept.get(of);
    this.open = known ?? new Map(Object.entries(stored(of)));
    kept.set(of, this.open);
  }

  /** Whether a part is open; `otherwise` as long as the reader has not said. */
  is(part: string, otherwise: boolean): boolean {
    return this.open.get(part) ?? otherwise;
  }

  set(part: string, open: boolean): void {
    this.open.set(part, open);
    store(this.of, Object.fromEntries(this.open));
    this.changed();
  }
}

export function useFolds(of: string): Folds {
  const [, again] = useReducer((count: number, _: void) => count + 1, 0);
  const folds = useRef<Folds | null>(null);
  if (folds.current === null) folds.current = new Folds(of, () => again());
  return folds.current;
}

function stored(of: string): Record<string, boolean> {
  try {
    const found: unknown = JSON.parse(sessionStorage.getItem(`workbench ${of}`) ?? "{}");
    return found !== null && typeof found === "object" ? (found as Record<string, boolean>) : {};
  } catch {
    return {}; // storage may be forbidden where the page is shown
  }
}

function store(of: string, open: Record<string, boolean>): void {
  try {
    sessionStorage.setItem(`workbench ${of}`, JSON.stringify(open));
  } catch {
    return; // as above: the folds then last as long as the page
  }
}
