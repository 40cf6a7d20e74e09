// The rules that people wrote: what each does, who wrote it and when, and the button that takes it out of force.

import type { JSX } from "preact";
import type { Connection } from "../model";
import { ActionButton, Outcomes, useCommands } from "../parts/buttons";
import { capital, clock, utc, visible } from "../parts/words";
import type { Rule } from "../types";

export function Rules({ rules, connection, live, now }: { rules: readonly Rule[]; connection: Connection<unknown>; live: boolean; now: number }): JSX.Element {
  return (
    <section class="wb-rules" aria-label="Rules in force">
      {rules.length === 0 && <p class="wb-dim">No rule is in force. “Always for this tool…” writes one.</p>}
      <ul>
        {rules.map((rule) => (
          <Line key={rule.id} rule={rule} connection={connection} live={live} now={now} />
        ))}
      </ul>
    </section>
  );
}

function Line({ rule, connection, live, now }: { rule: Rule; connection: Connection<unknown>; live: boolean; now: number }): JSX.Element {
  const commands = useCommands(connection);
  return (
    <li>
      <span class="wb-rule-says">{visible(capital(rule.sentence))}.</span>
      <span class="wb-dim" title={`${rule.id}, ${utc(rule.at)}`}>
        by {visible(rule.by)}, {clock(rule.at, now)}
      </span>
      {rule.actions.map((action) => (
        <ActionButton key={action.command} action={action} commands={commands} live={live} small />
      ))}
      <Outcomes commands={commands} />
    </li>
  );
}
