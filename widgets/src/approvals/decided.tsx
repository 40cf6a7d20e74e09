// Decided approvals: what, by whom, through what, why, when.

import type { ComponentChildren, JSX } from "preact";
import { asker } from "../parts/card";
import { Status } from "../parts/shapes";
import { clock, count, elapsed, utc, visible } from "../parts/words";
import type { Approval } from "../types";

export function Decided(props: { approvals: readonly Approval[]; total: number; now: number; children: ComponentChildren }): JSX.Element {
  const { approvals, total, now } = props;
  return (
    <section class="wb-decided" aria-label="Decided approvals">
      <h4>
        Decided{" "}
        <span class="wb-dim">
          last {count(approvals.length)} of {count(total)}
        </span>
        <span class="wb-far">{props.children}</span>
      </h4>
      <table>
        <thead class="wb-heard">
          <tr>
            <th>Status</th>
            <th>Tool</th>
            <th>Run</th>
            <th>How</th>
            <th>When</th>
          </tr>
        </thead>
        <tbody>
          {approvals.map((approval) => (
            <tr key={approval.id}>
              <td>
                <Status status={approval.status} />
              </td>
              <td class="wb-code">{visible(approval.tool)}</td>
              <td class="wb-dim wb-wide-cell">
                {asker(approval)}, {visible(approval.run)}
              </td>
              <td class="wb-wide-cell">{visible(how(approval))}</td>
              <td class="wb-dim" title={utc(approval.decided_at ?? approval.asked_at)}>
                {clock(approval.decided_at ?? approval.asked_at, now)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

const VIA: Record<string, string> = { notebook: "this notebook", cli: "command line", python: "Python" };

/** Who decided, where it was a rule. */
function ruled(approval: Approval): string | null {
  return approval.rule_id === undefined || approval.rule_id === null ? null : `by the rule ${approval.rule_id}`;
}

function how(approval: Approval): string {
  if (approval.status === "expired") return approval.expires_at === null && approval.decided_at === null ? "no decision in time" : `no decision in ${elapsed((approval.decided_at ?? approval.asked_at) - approval.asked_at)}`;
  const by = ruled(approval) ?? (approval.decided_by === null ? "" : `by ${approval.decided_by}`);
  const via = approval.via === null || approval.via === "rule" ? "" : (VIA[approval.via] ?? approval.via);
  const said = [by, via].filter((part) => part !== "").join(", ");
  return approval.reason !== null && approval.reason !== "" ? `${said}: “${approval.reason}”` : said;
}
