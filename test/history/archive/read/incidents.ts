import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Decision } from '#decision/decision.ts';
import { isRuleVersion, type RuleVersion, type Verdict } from '#decision/rules/rule-set.ts';
import type { SplitName } from '#history/archive/read/exploration.ts';
import { importJournalAsArchive } from '#history/archive/ship/journal-file.ts';
import { temporaryDirectory } from '../../../servers/temporary-directory.ts';
import { seeded } from '../../../simulation/seeded-random.ts';
import { decisionFor, newClient, newPlatform, T0 } from '../../../state/clients.ts';

export const DAY_MS = 86_400_000;

const DECISIONS_A_DAY = 1000;

type Draw = () => number;

/** Something that went wrong on the day after `from`, and the cause to be named. */
export interface Incident {
  readonly name: string;
  readonly verdict: Verdict;
  readonly cause: { readonly dimension: SplitName; readonly value: string };
  /** Changes what happens on the day, by chance. */
  readonly strike: (one: Decision, draw: Draw) => Decision;
}

function version(text: string): RuleVersion {
  if (isRuleVersion(text)) return text;
  throw new Error(text);
}

const [V10, V11] = [version('p2.v10'), version('p2.v11')];

const waiting = (rule: string) => ({ verdict: 'WAIT', rule }) as const;

const usualWait = (draw: Draw) => waiting(draw() < 0.75 ? 'cooldown' : 'too-fast');

const canary = { ruleVersion: V11, arm: 'candidate' } as const;

/** Four of each kind, of different strength; in every second of them a version is on trial that does nothing. */
export const INCIDENTS: readonly Incident[] = [0.08, 0.15, 0.2, 0.3].flatMap(
  (strength, place): Incident[] => {
    const incident = (
      name: string,
      verdict: Verdict,
      dimension: SplitName,
      value: string,
      change: (one: Decision, draw: Draw) => Decision,
    ): Incident => ({
      name: `${name}, ${strength}`,
      verdict,
      cause: { dimension, value },
      strike: (one, draw) => {
        const changed = change(one, draw);
        return place % 2 === 0 && draw() < 0.1 * (place + 1) ? { ...changed, ...canary } : changed;
      },
    });
    const share = [0.1, 0.3, 0.5, 1][place] ?? 1;
    return [
      incident('a bad rule', 'WAIT', 'rule', 'too-fast', (one, draw) =>
        draw() < strength ? { ...one, ...waiting('too-fast') } : one,
      ),
      incident('a ring', 'BLOCK', 'signal', 'shared-fingerprint', (one, draw) =>
        draw() < strength
          ? { ...one, verdict: 'BLOCK', rule: 'bot', clientGroup: 'NEW', signals: ['shared-fingerprint'] }
          : one,
      ),
      incident('a missing fingerprint', 'WAIT', 'signal', 'missing-fingerprint', (one, draw) => {
        const signals = [...one.signals, 'missing-fingerprint'];
        return draw() < strength ? { ...one, ...waiting('cooldown'), signals } : one;
      }),
      incident('one platform', 'WAIT', 'platform', 'kiosk', (one, draw) =>
        one.platform === 'kiosk' && draw() < 2 * strength ? { ...one, ...usualWait(draw) } : one,
      ),
      {
        ...incident('a new version', 'WAIT', 'version', 'p2.v11', (one) => one),
        strike: (one, draw) => {
          if (draw() >= share) return one;
          const decided = share < 1 ? { ...one, ...canary } : { ...one, ruleVersion: V11 };
          return draw() < strength + 0.2 ? { ...decided, ...usualWait(draw) } : decided;
        },
      },
    ];
  },
);

/** When the day before an incident begins. */
export function incidentAt(place: number): number {
  return T0 + 3 * place * DAY_MS;
}

/** An archive in which each incident has its own day, after a normal one. */
export async function archiveOfIncidents(seed: number): Promise<string> {
  const lines = INCIDENTS.flatMap(({ strike }, place) => {
    const draw = seeded(seed + place);
    const from = incidentAt(place);
    const grown = Math.round(DECISIONS_A_DAY * (0.8 + 0.7 * draw()));
    return [
      ...ordinaryDay(from, DECISIONS_A_DAY, draw),
      ...ordinaryDay(from + DAY_MS, grown, draw).map((one) => strike(one, draw)),
    ];
  }).map((decision) => {
    const { at, platform, clientIdKey, decisionId } = decision;
    const clientHash = decisionId.slice(0, 22);
    return `${JSON.stringify({ kind: 'verdict', at, platform, clientIdKey, clientHash, decision })}\n`;
  });
  const [journal, folder] = [join(temporaryDirectory(), 'journal.ndjson'), temporaryDirectory()];
  writeFileSync(journal, lines.join(''));
  await importJournalAsArchive(journal, folder, { threads: 1, memoryMiB: 256 });
  return folder;
}

const PLATFORMS = ['shop', 'kiosk', 'stall'].map(newPlatform);
const SIGNALS = ['shared-fingerprint', 'crowded-ip', 'no-javascript', 'missing-fingerprint'] as const;
const ANSWERS = [
  [0.6, 'GET_NEW', 'otherwise'],
  [0.7, 'GET_SAME_STICKY', 'sticky'],
  [0.85, 'WAIT', 'cooldown'],
  [0.9, 'WAIT', 'too-fast'],
  [0.95, 'BLOCK', 'unpaid-chain'],
  [1, 'BLOCK', 'bot'],
] as const;

function ordinaryDay(from: number, decisions: number, draw: Draw): readonly Decision[] {
  return Array.from({ length: decisions }, (_, seq) => {
    const [platform = newPlatform()] = PLATFORMS.slice(draw() < 0.6 ? 0 : draw() < 0.7 ? 1 : 2);
    const chance = draw();
    const [, verdict, rule] = ANSWERS.find(([below]) => chance < below) ?? ANSWERS[0];
    const signal = SIGNALS[Math.floor(4 * draw())] ?? 'crowded-ip';
    const at = from + Math.floor((seq / decisions) * DAY_MS);
    return {
      ...decisionFor(newClient(platform, `payer-${seq % 97}`), seq + 1, `order-${from}-${seq}`, at),
      verdict,
      rule,
      ruleVersion: V10,
      sellPointKey: `till-${Math.floor(5 * draw())}`,
      clientGroup: draw() < 0.6 ? 'NEW' : 'PAYING',
      signals: rule === 'bot' || draw() < 0.05 ? [signal] : [],
      facts: { amount: 10 + Math.floor(90 * draw()), currency: 'EUR', method: draw() < 0.5 ? 'card' : 'p2p' },
    };
  });
}
