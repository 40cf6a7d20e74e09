// A text that grows: it is appended to one text node, so nothing around it is drawn again and no selection is lost.

import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { visible } from "./words";

export function Stream({ text, live }: { text: string; live: boolean }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const shown = useRef("");
  useLayoutEffect(() => {
    const element = box.current as HTMLDivElement;
    const node = (element.firstChild ?? element.appendChild(document.createTextNode(""))) as Text;
    if (text.startsWith(shown.current)) {
      if (text.length > shown.current.length) node.appendData(visible(text.slice(shown.current.length)));
    } else {
      node.data = visible(text);
    }
    shown.current = text;
  }, [text]);
  return <div ref={box} class={`wb-text${live ? " wb-text-live" : ""}`} />;
}
