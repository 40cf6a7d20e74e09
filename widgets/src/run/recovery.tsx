// What Recover will do, beside what the journal has: four groups in a fixed order, empty ones left out.

import type { JSX } from "preact";
import { drawingOf, Shape } from "../parts/shapes";
import { capital, plural, visible } from "../parts/words";
import type { RecoveryGroup } from "../types";

const SAYS: Record<string, (count: number) => string> = {
  replayed: (count) => `${plural(count, "record")}, no effect is repeated`,
  "runs again": (count) => `${count}, under the same key`,
  interrupted: (count) => `${count}, never run again by itself`,
  "still waits": (count) => `${plural(count, "approval")}, unchanged`,
};

export function Recovery({ groups, last }: { groups: readonly RecoveryGroup[]; last: string }): JSX.Element {
  return (
    <section class="wb-recovery" aria-label="What Recover will do">
      <h4>
        What Recover will do <span class="wb-dim">{last}</span>
      </h4>
      <div class="wb-recovery-row wb-recovery-head" aria-hidden="true">
        <span>Part of the run</span>
        <span>What the journal has</span>
        <span>What Recover does</span>
      </div>
      {groups.map((group) => (
        <div key={group.group} class="wb-recovery-group">
          <p class={`wb-ink-${drawingOf(group.group)[1]}`}>
            <Shape status={group.group} />
            <b>{group.group === "still waits" ? "Still waits for you" : capital(group.group)}</b>
            <span class="wb-dim">{(SAYS[group.group] ?? String)(group.count)}</span>
          </p>
          {group.parts.map((part, index) => (
            <div key={index} class="wb-recovery-row">
              <span>{visible(part.part)}</span>
              <span>{visible(part.has)}</span>
              <span>{visible(part.does)}</span>
            </div>
          ))}
        </div>
      ))}
    </section>
  );
}
