import type { ClientGroup } from '../../client/client-group.ts';
import type { PlatformName } from '../../client/client-key.ts';
import type { OrderOutcome } from '../../client/order.ts';
import type { JournalEntry } from './entry.ts';

type Entry<Kind extends JournalEntry['kind']> = Extract<JournalEntry, { readonly kind: Kind }>;

type OutcomeRow = readonly [
  outcome: OrderOutcome['outcome'],
  cause: OrderOutcome['cause'],
  occurredAt: number,
];

type ScoreText = readonly [
  at: number,
  platform: PlatformName,
  clientIdKey: string,
  sellPointKey: string,
  method: string,
  amount: string,
  currency: string | null,
  fingerprint: string | null,
  ip: string | null,
  flags: number,
  ruleVersion: string,
  clientGroup: ClientGroup,
  paymentScore: string,
  /** Left out at the end where the answer lacks them; null where only the first is lacking. */
  preferredAcceptorKey?: readonly string[] | null,
  payLimitValue?: readonly string[],
];

type OutcomeText = readonly [
  at: number,
  platform: PlatformName,
  clientIdKey: string,
  orderRef: string,
  order: OutcomeRow,
  report?: OutcomeRow,
];

const SCORE = 's';
const OUTCOME = 'o';

/** A score as a letter and its values by their places: a third of what their names would take. */
export function scoreText(entry: Entry<'score'>): string | null {
  const { at, platform, clientIdKey, request, ruleVersion, answer } = entry;
  const { sellPointKey, method, amount, currency, fingerprint, ip, networks, former } = request;
  // What is rare keeps its names.
  if (networks !== undefined || former !== undefined) return null;
  const { clientGroup, paymentScore, preferredAcceptorKey, payLimitValue } = answer;
  const payer = [at, platform, clientIdKey, sellPointKey, method, amount, currency, fingerprint, ip] as const;
  const row: ScoreText = [...payer, flagsOf(entry), ruleVersion, clientGroup, paymentScore];
  const lists =
    payLimitValue !== undefined
      ? [preferredAcceptorKey ?? null, payLimitValue]
      : preferredAcceptorKey !== undefined
        ? [preferredAcceptorKey]
        : [];
  return SCORE + JSON.stringify([...row, ...lists]);
}

/** An outcome in the same way. */
export function outcomeText({
  at,
  platform,
  clientIdKey,
  orderRef,
  order,
  report,
}: Entry<'outcome'>): string {
  const row: OutcomeText = [at, platform, clientIdKey, orderRef, outcomeRow(order)];
  return OUTCOME + JSON.stringify(report === undefined ? row : [...row, outcomeRow(report)]);
}

/** The entry that was written so; null for a text that was not. */
export function parsePositionalText(text: string): JournalEntry | null {
  switch (text[0]) {
    case SCORE:
      return scoreOf(JSON.parse(text.slice(1)));
    case OUTCOME:
      return outcomeOf(JSON.parse(text.slice(1)));
    default:
      return null;
  }
}

/** The members of the request stand in the order in which the service makes them: a repeated score is known by it. */
function scoreOf(row: ScoreText): JournalEntry {
  const [at, platform, clientIdKey, sellPointKey, method, amount, currency, fingerprint, ip, flags] = row;
  const [, , , , , , , , , , ruleVersion, clientGroup, paymentScore, preferredAcceptorKey, payLimitValue] =
    row;
  const has = (flag: number) => (flags & flag) !== 0;
  return {
    kind: 'score',
    at,
    platform,
    clientIdKey,
    request: {
      sellPointKey,
      method,
      amount,
      currency,
      fingerprint,
      ip,
      jsOk: has(FLAGS.jsSaid) ? has(FLAGS.jsOk) : null,
      honeypotTriggered: has(FLAGS.honeypotTriggered),
      userAgentPresent: has(FLAGS.userAgentPresent),
      userAgentIsAutomated: has(FLAGS.userAgentIsAutomated),
    },
    ruleVersion,
    answer: {
      clientGroup,
      paymentScore,
      isBot: has(FLAGS.isBot),
      ...(preferredAcceptorKey == null ? {} : { preferredAcceptorKey }),
      ...(payLimitValue === undefined ? {} : { payLimitValue }),
    },
  };
}

function outcomeOf([at, platform, clientIdKey, orderRef, order, report]: OutcomeText): JournalEntry {
  const told = report === undefined ? {} : { report: orderOf(report) };
  return { kind: 'outcome', at, platform, clientIdKey, orderRef, order: orderOf(order), ...told };
}

function outcomeRow({ outcome, cause, occurredAt }: OrderOutcome): OutcomeRow {
  return [outcome, cause, occurredAt];
}

function orderOf([outcome, cause, occurredAt]: OutcomeRow): OrderOutcome {
  return { outcome, cause, occurredAt };
}

const FLAGS = {
  jsSaid: 1,
  jsOk: 2,
  honeypotTriggered: 4,
  userAgentPresent: 8,
  userAgentIsAutomated: 16,
  isBot: 32,
} as const;

function flagsOf({ request, answer }: Entry<'score'>): number {
  const { jsOk, honeypotTriggered, userAgentPresent, userAgentIsAutomated } = request;
  return (
    (jsOk === null ? 0 : FLAGS.jsSaid) |
    (jsOk === true ? FLAGS.jsOk : 0) |
    (honeypotTriggered ? FLAGS.honeypotTriggered : 0) |
    (userAgentPresent ? FLAGS.userAgentPresent : 0) |
    (userAgentIsAutomated ? FLAGS.userAgentIsAutomated : 0) |
    (answer.isBot ? FLAGS.isBot : 0)
  );
}
