import { type HoldoutDraw, holdoutDraw, NO_HOLDOUTS } from '../../../../src/decision/holdout.ts';
import { experiment } from '../../../../src/evidence/experiment/experiment.ts';
import type { Experiment } from '../../../../src/evidence/experiment/experiment-report.ts';
import type { DecidingRules } from '../../../../src/evidence/question.ts';
import type { HoldoutResult } from '../../../../src/evidence/report/holdout.ts';
import { report } from '../../../../src/evidence/report/report.ts';
import { type Evidence, withEvidence } from '../../../../src/evidence/source/evidence.ts';
import { rollOut } from '../../../../src/rollout/change-rollout.ts';
import { Fleet } from '../../../../src/rollout/fleet.ts';
import { fixedRules, type RuleSource } from '../../../../src/rollout/loaded-rules.ts';
import { MONEY_ALONE, objectiveText } from '../../../../src/rollout/objective.ts';
import type { RuleSet } from '../../../../src/rules/rule-set.ts';
import { openSqliteStore } from '../../../../src/state/sqlite/store.ts';
import type { Store } from '../../../../src/state/store.ts';
import { ArchivedStore } from '../../../../test/archive/archived-store.ts';
import { TEST_SALT } from '../../../../test/client/client-keys.ts';
import { startQuietNode } from '../../../../test/rollout/quiet-node.ts';
import { addVersion, rulesDirectory, versionOf } from '../../../../test/rollout/rule-folders.ts';
import { temporaryDirectory } from '../../../../test/servers/temporary-directory.ts';
import { T0 } from '../../../../test/state/clients.ts';
import { type LivedOrder, type LivedPayer, PayerWorld, type WorldPlan } from './payer-world.ts';

const WINDOW_DAYS = 7;
const REVERSAL_DAYS = 11;
const COSTS = { margin: 0.3, reversalCost: 15, requisiteCost: 0.1, reversalDays: REVERSAL_DAYS } as const;
const OBJECTIVE = { ...COSTS, windowDays: WINDOW_DAYS, currency: 'EUR' } as const;
const DAY_MS = 86_400_000;

const CHAIN = { file: 'groups.yaml', from: '    priority: 80\n', to: '    priority: 80\n    holdout: 50%\n' };
const DEVICE = {
  file: 'bot-signals.yaml',
  from: '  - name: shared-fingerprint\n',
  to: '  - name: shared-fingerprint\n    holdout: 50%\n',
};
/** Of the payers in rings: a trial takes few, for arms that share devices are not compared. */
const IN_RINGS = { trial: 0.03, holdouts: 0.2 } as const;
const SHARED_DEVICES_MAX = 0.05;

const WITHOUT_CHAIN = {
  file: 'groups.yaml',
  from: `  - name: blocked-by-unpaid-chain
    description: >-
      Four orders in a row without a payment. Of those who pay, fewer than one in a hundred come back
      from there. It lapses a week after the last unpaid order.
    priority: 80
    conditions:
      all:
        - { fact: unpaidChain, operator: greaterThanInclusive, value: 4 }
        - { fact: secondsSinceLastUnpaid, operator: lessThan, value: 604800 }
    event: { type: group, params: { group: BLOCKED } }

`,
  to: '',
};

const LONGER_LADDER = { file: 'ladder.yaml', from: '[30s, 5m, 30m]', to: '[10m, 30m, 2h]' };

/** Versions of p2.v10, and what of each there is to know. */
const VERSIONS = {
  'p2.v11': [CHAIN],
  'p2.v12': [DEVICE],
  'p2.v13': [LONGER_LADDER],
  'p2.v14': [WITHOUT_CHAIN],
} as const;

const HOLDOUTS = [
  { name: 'a chain of unpaid orders', version: 'p2.v11', rule: 'blocked-by-unpaid-chain' },
  { name: 'a shared device', version: 'p2.v12', rule: 'shared-fingerprint' },
] as const;

const FIGURES = ['payments', 'amount', 'reversals', 'requisites', 'value'] as const;
type Figures = Record<(typeof FIGURES)[number], number>;

const METRICS = ['value', 'amount', 'paid', 'reversals', 'unpaidRequisites'] as const;

/** An estimate per client, beside what the rerun of the same payers came to. */
export interface Rerun {
  readonly name: string;
  readonly low: number;
  readonly high: number;
  readonly truth: number;
}

export interface SeedResult {
  readonly estimates: readonly Rerun[];
  /** What a trial of equal figures must agree in: counted in the world, and printed. */
  readonly exact: readonly { readonly name: string; readonly told: number; readonly lived: number }[];
}

/**
 * One seed's payers on trial, and again under each of its two versions alone; and under each of two holdouts, and again
 * with the opposite draw. All at once: a world alone mostly waits for its disk.
 */
export async function rerunsOf(seed: number, payers: number): Promise<SeedResult> {
  const place = { seed, payers: Math.ceil(0.6 * payers), inRings: IN_RINGS.trial };
  const [plain, longer, without, trial, ofRule, ...holdouts] = await Promise.all([
    livesUnder('p2.v10', place),
    livesUnder('p2.v13', place),
    livesUnder('p2.v14', place),
    trialOf('p2.v13', place),
    trialOf('p2.v14', place),
    ...HOLDOUTS.map((one) => holdoutOf(one, { seed, payers, inRings: IN_RINGS.holdouts })),
  ]);
  const compared = METRICS.flatMap((metric): readonly Rerun[] => {
    const told = trial.found.differences.find((one) => one.metric === metric);
    if (told === undefined) return [];
    const truth =
      meanOf(longer.map(figuresOfWindow), FIGURE_OF[metric]) -
      meanOf(plain.map(figuresOfWindow), FIGURE_OF[metric]);
    return [{ name: `longer waits: ${metric}`, low: told.low, high: told.high, truth }];
  });
  const byArm = netReruns('a chain of unpaid orders, by a trial', ofRule.net, (figure) => {
    return meanOf(without.map(figuresOfWindow), figure) - meanOf(plain.map(figuresOfWindow), figure);
  });
  return {
    estimates: [...compared, ...byArm, ...holdouts.flat()],
    exact: exactOf(trial),
  };
}

const FIGURE_OF = {
  value: 'value',
  amount: 'amount',
  paid: 'payments',
  reversals: 'reversals',
  unpaidRequisites: 'requisites',
} as const satisfies Record<(typeof METRICS)[number], keyof Figures>;

/** The same payers under one version alone. */
function livesUnder(version: string, plan: WorldPlan): Promise<readonly LivedPayer[]> {
  return inAStore(async (store) => {
    const rules = await fixed(store, version);
    return new PayerWorld(store, fixedRules(rules), plan, NO_HOLDOUTS).live();
  });
}

/**
 * What is printed of a rule with a holdout, beside the means of the draw and of its opposite. Who enters a later period
 * depends on the earlier ones, so that worlds in which nobody and everybody is held out are no truth about it: other
 * people enter there.
 */
async function holdoutOf({ name, version, rule }: HeldOut, plan: WorldPlan): Promise<readonly Rerun[]> {
  const draw = holdoutDraw(`truth-${plan.seed}`);
  const opposite: HoldoutDraw = (client, at) => (one, share) => !draw(client, at)(one, share);
  const worlds = [draw, opposite].map((drawn) =>
    inAStore(async (store) => {
      const rules = await fixed(store, version);
      const lived = await new PayerWorld(store, fixedRules(rules), plan, drawn).live();
      return {
        lived,
        net: drawn === draw ? await archived(store, (evidence) => netOf(evidence, rules, rule)) : null,
      };
    }),
  );
  const found = await Promise.all(worlds);
  const mean = (figure: keyof Figures) =>
    found.reduce((sum, { lived }) => sum + heldOutMinusOthers(lived, figure), 0) / found.length;
  return netReruns(name, found[0]?.net ?? null, mean);
}

/** What is printed of a rule, beside what a client does more without it. */
function netReruns(
  name: string,
  net: HoldoutResult['net'],
  without: (figure: keyof Figures) => number,
): readonly Rerun[] {
  return FIGURES.flatMap((figure) => {
    const told = net?.[figure] ?? null;
    if (net === null || told === null) return [];
    // What a rule brings in is the opposite of what its absence does.
    const truth = figure === 'value' ? -without(figure) : without(figure);
    return [
      { name: `${name}: ${figure}`, low: told.low / net.clients, high: told.high / net.clients, truth },
    ];
  });
}

type HeldOut = (typeof HOLDOUTS)[number];

async function netOf(
  evidence: Evidence,
  rules: RuleSet,
  rule: string,
  recorded: (decided: DecidingRules) => RuleSet | null = () => null,
): Promise<HoldoutResult['net']> {
  const objective = { ...MONEY_ALONE, ...OBJECTIVE };
  const { rules: found } = await report(evidence, { rules, by: null, objective, recorded });
  return found.find(({ name }) => name === rule)?.net ?? null;
}

interface Trial {
  readonly found: Experiment;
  readonly lived: readonly LivedPayer[];
  /** Of the rule that the candidate lacks. */
  readonly net: HoldoutResult['net'];
}

function trialOf(version: string, plan: WorldPlan): Promise<Trial> {
  return inAStore(async (store) => {
    const node = await nodeOf(store);
    const objective = objectiveText(OBJECTIVE) ?? '';
    const goal = { mode: 'canary', percent: 50, guardPoints: null, objective } as const;
    const change = { who: 'ann', at: T0, reason: 'a trial', revision: null, acceptDifference: true };
    const parts = { fleet: new Fleet(store), rules: node.rules, store, decidedLately: async () => [] };
    await rollOut(parts, versionOf(version), goal, change);
    await node.look();
    const source: RuleSource = node;
    const lived = await new PayerWorld(store, source, plan, NO_HOLDOUTS).live();
    await node.stop();
    const rules = await fixed(store, 'p2.v10');
    const recorded = ({ ruleVersion }: DecidingRules) => node.rules.get(ruleVersion);
    return archived(store, async (evidence) => ({
      lived,
      found: await experiment(evidence, []),
      net: await netOf(evidence, rules, 'blocked-by-unpaid-chain', recorded),
    }));
  });
}

function nodeOf(store: Store) {
  const directory = rulesDirectory();
  for (const [version, edits] of Object.entries(VERSIONS)) addVersion(directory, version, edits);
  return startQuietNode(store, directory, () => T0);
}

async function fixed(store: Store, version: string): Promise<RuleSet> {
  const node = await nodeOf(store);
  const rules = node.rules.get(version);
  await node.stop();
  if (rules === null) throw new Error(`there is no ${version}`);
  return rules;
}

async function archived<T>(store: Store, ask: Parameters<typeof withEvidence<T>>[1]): Promise<T> {
  const kept = await ArchivedStore.open(store);
  try {
    await kept.shipAll();
    const place = { kind: 'archive', folder: kept.archive.folder } as const;
    return await withEvidence({ place, from: null, to: null, platform: null, threads: 1 }, ask);
  } finally {
    kept.duck.close();
  }
}

async function inAStore<T>(work: (store: Store) => Promise<T>): Promise<T> {
  const store = openSqliteStore(temporaryDirectory(), { salt: TEST_SALT });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** The printed counts and sums of the trial beside those of the world. */
function exactOf({ found, lived }: Trial): SeedResult['exact'] {
  const world = lived.map(figuresOfWindow);
  const sum = (figure: keyof Figures) => world.reduce((total, one) => total + one[figure], 0);
  const told = (of: (arm: Experiment['arms'][number]) => number) =>
    found.arms.reduce((total, arm) => total + of(arm), 0);
  return [
    { name: 'paid orders', told: told(({ orders }) => orders.paid), lived: sum('payments') },
    { name: 'paid money', told: told(({ money }) => money['EUR']?.paid ?? 0), lived: sum('amount') },
    { name: 'clients', told: told(({ clients }) => clients), lived: lived.length },
    {
      name: 'vetoed because of shared devices',
      told: Number(found.vetoes.some(({ veto }) => veto === 'sharedDevices')),
      lived: Number(inRings(lived) > SHARED_DEVICES_MAX),
    },
  ];
}

/** Of the payers, 0 to 1, those who share a device; a ring of eight is hardly ever drawn into one arm. */
function inRings(payers: readonly LivedPayer[]): number {
  const byDevice = Map.groupBy(payers, ({ fingerprint }) => fingerprint);
  return (
    payers.filter(({ fingerprint }) => (byDevice.get(fingerprint)?.length ?? 0) > 1).length / payers.length
  );
}

/** What a payer did within the window after its first request, as it was known when it began to count. */
function figuresOfWindow({ orders }: LivedPayer): Figures {
  const [first] = orders;
  const endsAt = (first?.at ?? 0) + WINDOW_DAYS * DAY_MS;
  return summed(orders.filter(({ at }) => at < endsAt));
}

function heldOutMinusOthers(payers: readonly LivedPayer[], figure: keyof Figures): number {
  const side = (wanted: boolean) =>
    payers.flatMap(({ orders, entries }) =>
      entries
        .filter(({ isHeldOut }) => isHeldOut === wanted)
        .map(({ at, endsAt }) => summed(orders.filter((one) => at <= one.at && one.at < endsAt))),
    );
  return meanOf(side(true), figure) - meanOf(side(false), figure);
}

function summed(orders: readonly LivedOrder[]): Figures {
  const paid = orders.filter((one) => one.paid);
  const reversals = orders.filter(({ reversed }) => reversed).length;
  const requisites = orders.reduce((sum, { shown, unpaid }) => sum + (unpaid ? shown : 0), 0);
  const amount = paid.reduce((sum, one) => sum + one.amount, 0);
  const value = COSTS.margin * amount - COSTS.reversalCost * reversals - COSTS.requisiteCost * requisites;
  return { payments: paid.length, amount, reversals, requisites, value };
}

function meanOf(all: readonly Figures[], figure: keyof Figures): number {
  return all.length === 0 ? 0 : all.reduce((sum, one) => sum + one[figure], 0) / all.length;
}
