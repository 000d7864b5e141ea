import { clientKey, clientNumber } from '../client/client-key.ts';
import type { JournalEntry } from '../state/store.ts';
import type { Cells, RowCell } from './record-columns.ts';
import { DECISION, type TableName } from './tables.ts';

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
  const client: Cells = {
    platform,
    client_hash: clientNumber(clientKey(platform, clientIdKey).hash),
    client_id_key: clientIdKey,
  };
  switch (entry.kind) {
    case 'verdict':
      DECISION.write(entry.decision, client);
      return { table: 'decisions', platform, at, cells: client };
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
