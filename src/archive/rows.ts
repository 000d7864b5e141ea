import { clientKey, clientNumber } from '../client/client-key.ts';
import type { Ladder } from '../client/ladder.ts';
import type { Decision } from '../decision/decision.ts';
import type { JournalEntry } from '../state/store.ts';
import type { TableName } from './tables.ts';

/** What a cell is written from; times are epoch ms. */
export type RowCell = string | number | boolean | null | readonly string[];

/** One row on its way into a segment. */
export interface ArchiveRow {
  readonly table: TableName;
  readonly platform: string;
  /** Epoch ms. */
  readonly at: number;
  readonly cells: Readonly<Record<string, RowCell>>;
}

/** The row that keeps an entry. */
export function rowOf(entry: JournalEntry): ArchiveRow {
  const { platform, clientIdKey, at } = entry;
  const client = {
    platform,
    client_hash: clientNumber(clientKey(platform, clientIdKey).hash),
    client_id_key: clientIdKey,
  };
  switch (entry.kind) {
    case 'verdict':
      return { table: 'decisions', platform, at, cells: { ...client, ...decisionCells(entry.decision) } };
    case 'score':
      return { table: 'scores', platform, at, cells: { ...client, ...scoreCells(entry) } };
    case 'outcome': {
      const { outcome, cause, occurredAt } = entry.order;
      const cells = { reported_at: at, order_ref: entry.orderRef, outcome, cause, occurred_at: occurredAt };
      return { table: 'outcomes', platform, at, cells: { ...client, ...cells } };
    }
    case 'binding': {
      const cells = {
        changed_at: at,
        requisite_ref: entry.binding?.requisiteRef ?? null,
        acceptor_keys: entry.binding?.acceptorKeys ?? null,
        method: entry.binding?.method ?? null,
        expires_at: entry.binding?.expiresAt ?? null,
      };
      return { table: 'bindings', platform, at, cells: { ...client, ...cells } };
    }
    case 'override': {
      const cells = {
        changed_at: at,
        override_group: entry.override?.group ?? null,
        reason: entry.override?.reason ?? null,
        decided_by: entry.override?.by ?? null,
        expires_at: entry.override?.expiresAt ?? null,
      };
      return { table: 'overrides', platform, at, cells: { ...client, ...cells } };
    }
    default:
      return entry satisfies never;
  }
}

function decisionCells(decision: Decision): Readonly<Record<string, RowCell>> {
  const cells: Record<string, RowCell> = {
    decided_at: decision.at,
    seq: decision.seq,
    sell_point_key: decision.sellPointKey,
    order_ref: decision.orderRef,
    request_id: decision.requestId,
    rule_version: decision.ruleVersion,
    digest: decision.digest,
    arm: decision.arm,
    verdict: decision.verdict,
    wait_seconds: decision.waitSeconds ?? null,
    sticky_requisite_ref: decision.stickyRequisiteRef ?? null,
    reason: decision.reason,
    is_bot: decision.isBot,
    client_group: decision.clientGroup,
    payment_score: decision.paymentScore,
    rule: decision.rule,
    signals: decision.signals,
    ladder: decision.ladder ?? null,
    wait_floor_ms: decision.waitFloorMs ?? null,
    held_out: decision.holdout?.map(({ rule }) => rule) ?? null,
    held_out_share: decision.holdout?.map(({ share }) => String(share)) ?? null,
    ...ladderCells('ladder_before', decision.ladderBefore),
    ...ladderCells('ladder_after', decision.ladderAfter),
  };
  // Forty facts a decision: a list of pairs in between would cost more than all the rest.
  for (const label in decision.facts) cells[factColumn(label)] = decision.facts[label] ?? null;
  return cells;
}

function ladderCells(name: string, { level, attemptOpen, waitUntil }: Ladder): Record<string, RowCell> {
  return {
    [`${name}_level`]: level,
    [`${name}_attempt_open`]: attemptOpen,
    [`${name}_wait_until`]: waitUntil,
  };
}

type ScoreEntry = Extract<JournalEntry, { readonly kind: 'score' }>;

function scoreCells({ at, request, answer, ruleVersion }: ScoreEntry): Readonly<Record<string, RowCell>> {
  return {
    scored_at: at,
    sell_point_key: request.sellPointKey,
    method: request.method,
    amount: request.amount,
    currency: request.currency,
    fingerprint: request.fingerprint,
    ip: request.ip,
    js_ok: request.jsOk,
    honeypot_triggered: request.honeypotTriggered,
    user_agent_present: request.userAgentPresent,
    user_agent_is_automated: request.userAgentIsAutomated,
    rule_version: ruleVersion,
    client_group: answer.clientGroup,
    payment_score: answer.paymentScore,
    is_bot: answer.isBot,
    preferred_acceptor_key: answer.preferredAcceptorKey ?? null,
    pay_limit_value: answer.payLimitValue ?? null,
  };
}

const FACT = 'fact_';

const columnsOfFacts = new Map<string, string>();

/** `verdicts(10m)` is kept in the column `fact_verdicts_10m`: many engines take no brackets in a name. */
export function factColumn(label: string): string {
  const known = columnsOfFacts.get(label);
  if (known !== undefined) return known;
  const column = FACT + label.replace('(', '_').replace(')', '');
  columnsOfFacts.set(label, column);
  return column;
}

/** The label of a fact's column; null for any other column. */
export function factLabel(column: string): string | null {
  if (!column.startsWith(FACT)) return null;
  const [name = '', ...window] = column.slice(FACT.length).split('_');
  return window.length === 0 ? name : `${name}(${window.join('_')})`;
}
