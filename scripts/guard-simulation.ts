import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { ClientCounts } from '../src/rollout/arm-counts.ts';
import { guardBreach } from '../src/rollout/guard.ts';

/**
 * How often the guard takes back canaries of the rules that are active, and of a candidate that blocks ten
 * points more, over the clients of an exported journal: `node scripts/guard-simulation.ts journal.ndjson`.
 * Each trial draws the arms again, as a rollout does, and looks after every client.
 */
const TRIALS = 1000;
const POINTS = 5;
const MORE_BLOCKED = 0.1;
const CLIENTS_MAX = 2000;

interface FirstVerdict {
  readonly client: string;
  readonly blocked: boolean;
  readonly waited: boolean;
  readonly bot: boolean;
  readonly paid: boolean;
}

/** The first verdict of every client, in the order of the journal, and whether the client ever paid. */
function firstVerdicts(path: string): readonly FirstVerdict[] {
  const first = new Map<string, Omit<FirstVerdict, 'paid'>>();
  const paid = new Set<string>();
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    if (line === '') continue;
    const entry = JSON.parse(line);
    const client = `${entry.platform}/${entry.clientIdKey}`;
    if (entry.kind === 'outcome' && entry.order.outcome === 'PAID') paid.add(client);
    if (entry.kind !== 'verdict' || first.has(client)) continue;
    const { verdict, isBot } = entry.decision;
    first.set(client, { client, blocked: verdict === 'BLOCK', waited: verdict === 'WAIT', bot: isBot });
  }
  return [...first.values()].map((one) => ({ ...one, paid: paid.has(one.client) }));
}

function draw(trial: string, what: string): number {
  return Number.parseInt(hash('sha256', `${trial}/${what}`, 'hex').slice(0, 8), 16) / 2 ** 32;
}

function add(counts: ClientCounts, { waited, bot, paid }: FirstVerdict, blocked: boolean): ClientCounts {
  return {
    seen: counts.seen + 1,
    blocked: counts.blocked + (blocked ? 1 : 0),
    waited: counts.waited + (waited && !blocked ? 1 : 0),
    bots: counts.bots + (bot ? 1 : 0),
    paid: counts.paid + (paid && !blocked ? 1 : 0),
    unpaid: counts.unpaid,
  };
}

const NOBODY: ClientCounts = { seen: 0, blocked: 0, waited: 0, bots: 0, paid: 0, unpaid: 0 };

/** After how many clients the guard takes the canary back; null when it does not. */
function takenBackAfter(
  verdicts: readonly FirstVerdict[],
  trial: string,
  percent: number,
  more: number,
): number | null {
  let active = NOBODY;
  let candidate = NOBODY;
  for (const [index, verdict] of verdicts.entries()) {
    if (draw(trial, verdict.client) * 100 < percent) {
      candidate = add(candidate, verdict, verdict.blocked || draw(trial, `more ${verdict.client}`) < more);
    } else active = add(active, verdict, verdict.blocked);
    if (index % 10 === 9 && guardBreach({ active, candidate }, percent, POINTS) !== null) return index + 1;
  }
  return null;
}

const verdicts = firstVerdicts(process.argv[2] ?? 'journal.ndjson').slice(0, CLIENTS_MAX);
const blocked = verdicts.filter((one) => one.blocked).length;
console.log(
  `${verdicts.length} clients, ${((blocked / verdicts.length) * 100).toFixed(1)} % blocked at first.`,
);
for (const percent of [10, 20, 50]) {
  for (const more of [0, MORE_BLOCKED]) {
    const ends = Array.from({ length: TRIALS }, (_, trial) =>
      takenBackAfter(verdicts, `trial ${trial}`, percent, more),
    ).filter((end) => end !== null);
    const median = ends.toSorted((a, b) => a - b)[Math.floor(ends.length / 2)];
    const rules = more === 0 ? 'the same rules' : 'ten points more blocked';
    console.log(
      `${percent} %, ${rules}: taken back ${ends.length} of ${TRIALS}${median === undefined ? '' : `, half of them within ${median} clients`}`,
    );
  }
}
