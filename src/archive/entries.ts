import { CLIENT_GROUPS, type ClientGroup } from '../client/client-group.ts';
import { clientKey, decisionId, isPlatformName, type PlatformName } from '../client/client-key.ts';
import { OVERRIDE_GROUPS } from '../client/client-state.ts';
import { OUTCOME_CAUSES, OUTCOMES } from '../client/order.ts';
import type { Decision } from '../decision/decision.ts';
import type { JournalEntry } from '../state/store.ts';
import { type DuckRow, flagOf, numberOf, textOf, textsOf } from './duck.ts';
import { RowDamaged } from './record-columns.ts';
import { DECISION, type TableName } from './tables.ts';

/** The journal entry that a row keeps; null for a row that is none (of an erasure). */
export function entryOf(table: TableName, row: DuckRow): JournalEntry | null {
  if (table === 'erasures') return null;
  const base = { platform: platformOf(row), clientIdKey: need(row, 'client_id_key') };
  switch (table) {
    case 'decisions': {
      const decision = decisionOf(row);
      return { ...base, kind: 'verdict', at: decision.at, decision };
    }
    case 'scores':
      return scoreOf(base, row);
    case 'outcomes': {
      const order = {
        outcome: oneOf(OUTCOMES, row, 'outcome'),
        cause: row['cause'] === null ? null : oneOf(OUTCOME_CAUSES, row, 'cause'),
        occurredAt: needNumber(row, 'occurred_at'),
      };
      const at = needNumber(row, 'reported_at');
      return { ...base, kind: 'outcome', at, orderRef: need(row, 'order_ref'), order };
    }
    case 'bindings':
      return { ...base, kind: 'binding', at: needNumber(row, 'changed_at'), binding: bindingOf(row) };
    case 'overrides':
      return { ...base, kind: 'override', at: needNumber(row, 'changed_at'), override: overrideOf(row) };
    default:
      return table satisfies never;
  }
}

/** The decision that a row of `decisions` keeps. */
export function decisionOf(row: DuckRow): Decision {
  const recorded = DECISION.read(row);
  const { hash } = clientKey(recorded.platform, recorded.clientIdKey);
  return { decisionId: decisionId(hash, recorded.seq, recorded.at), ...recorded };
}

interface Base {
  readonly platform: PlatformName;
  readonly clientIdKey: string;
}

function scoreOf(base: Base, row: DuckRow): JournalEntry {
  const preferredAcceptorKey = textsOf(row['preferred_acceptor_key']);
  const payLimitValue = textsOf(row['pay_limit_value']);
  return {
    ...base,
    kind: 'score',
    at: needNumber(row, 'scored_at'),
    request: {
      sellPointKey: need(row, 'sell_point_key'),
      method: need(row, 'method'),
      amount: need(row, 'amount'),
      currency: textOf(row['currency']),
      fingerprint: textOf(row['fingerprint']),
      ip: textOf(row['ip']),
      jsOk: flagOf(row['js_ok']),
      honeypotTriggered: needFlag(row, 'honeypot_triggered'),
      userAgentPresent: needFlag(row, 'user_agent_present'),
      userAgentIsAutomated: needFlag(row, 'user_agent_is_automated'),
    },
    ruleVersion: need(row, 'rule_version'),
    answer: {
      clientGroup: groupOf(row),
      paymentScore: need(row, 'payment_score'),
      isBot: needFlag(row, 'is_bot'),
      ...(preferredAcceptorKey === null ? {} : { preferredAcceptorKey }),
      ...(payLimitValue === null ? {} : { payLimitValue }),
    },
  };
}

function bindingOf(row: DuckRow): Extract<JournalEntry, { readonly kind: 'binding' }>['binding'] {
  const requisiteRef = textOf(row['requisite_ref']);
  if (requisiteRef === null) return null;
  return {
    requisiteRef,
    acceptorKeys: textsOf(row['acceptor_keys']) ?? [],
    method: textOf(row['method']),
    expiresAt: numberOf(row['expires_at']),
  };
}

function overrideOf(row: DuckRow): Extract<JournalEntry, { readonly kind: 'override' }>['override'] {
  if (row['override_group'] === null) return null;
  return {
    group: oneOf(OVERRIDE_GROUPS, row, 'override_group'),
    reason: need(row, 'reason'),
    by: need(row, 'decided_by'),
    at: needNumber(row, 'changed_at'),
    expiresAt: numberOf(row['expires_at']),
  };
}

function platformOf(row: DuckRow): PlatformName {
  const platform = need(row, 'platform');
  if (isPlatformName(platform)) return platform;
  throw new RowDamaged(`platform is "${platform}"`);
}

function groupOf(row: DuckRow): ClientGroup {
  return oneOf(CLIENT_GROUPS, row, 'client_group');
}

function oneOf<T extends string>(known: readonly T[], row: DuckRow, column: string): T {
  const value = need(row, column);
  const found = known.find((candidate) => candidate === value);
  if (found === undefined) throw new RowDamaged(`${column} is "${value}"`);
  return found;
}

function need(row: DuckRow, column: string): string {
  const value = textOf(row[column]);
  if (value === null) throw new RowDamaged(`${column} is missing`);
  return value;
}

function needNumber(row: DuckRow, column: string): number {
  const value = numberOf(row[column]);
  if (value === null) throw new RowDamaged(`${column} is missing`);
  return value;
}

function needFlag(row: DuckRow, column: string): boolean {
  const value = flagOf(row[column]);
  if (value === null) throw new RowDamaged(`${column} is missing`);
  return value;
}
