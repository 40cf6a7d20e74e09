// What a screen reader hears: new rows as one sentence in two seconds, never a token; a new approval at once, and once.

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

const EVERY = 2000;

/** `news` are sentences in order of happening; `approvals` the ids that wait, each with its sentence. */
export function Said({ news, approvals }: { news: readonly string[]; approvals: ReadonlyMap<string, string> }): JSX.Element {
  const heard = useRef(news.length);
  const known = useRef(new Set(approvals.keys()));
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  const latest = useRef(news);
  latest.current = news;
  const [sentence, setSentence] = useState("");
  const [alert, setAlert] = useState("");
  useEffect(() => {
    if (news.length <= heard.current || timer.current !== null) return;
    timer.current = setTimeout(() => {
      timer.current = null;
      setSentence(latest.current.slice(heard.current).join(" "));
      heard.current = latest.current.length;
    }, EVERY);
  }, [news.length]);
  useEffect(() => () => void (timer.current !== null && clearTimeout(timer.current)), []);
  useEffect(() => {
    const fresh = [...approvals].filter(([id]) => !known.current.has(id));
    for (const [id] of fresh) known.current.add(id);
    if (fresh.length > 0) setAlert(fresh.map(([, said]) => said).join(" "));
  }, [approvals]);
  return (
    <div class="wb-heard">
      <p role="log" aria-live="polite">
        {sentence}
      </p>
      <p role="alert">{alert}</p>
    </div>
  );
}
