import { Fleet } from '#checkout/rollout/fleet.ts';
import { createFixedRuleSource } from '#checkout/rollout/loaded-rules.ts';
import { createHoldoutDraw, type DrawHoldouts, NO_HOLDOUTS } from '#decision/holdout.ts';
import { DEFAULT_OBJECTIVE, encodeObjective } from '#decision/objective.ts';
import type { RuleSet } from '#decision/rules/rule-set.ts';
import type { DecidingRuleSetRef } from '#history/evidence/question.ts';
import type { HoldoutResult } from '#history/evidence/report/holdout.ts';
import { reportRuleWorth } from '#history/evidence/report/report.ts';
import { type Evidence, withEvidence } from '#history/evidence/source/evidence.ts';
import type { Store } from '#state/store.ts';
import { rollOut } from '#workbench/rollout/change-rollout.ts';
import {
  addVersion,
  rulesDirectory,
  startQuietNode,
  versionOf,
} from '../../../../test/checkout/rollout/rule-folders.ts';
import { ArchivedStore } from '../../../../test/history/archive/archived-store.ts';
import { simulatedTrial, trueDifferences } from '../../../../test/history/evidence/experiment/two-ladders.ts';
import { T0 } from '../../../../test/state/clients.ts';
import { PayerWorld, type SimulatedOrder, type SimulatedPayer, type WorldPlan } from './payer-world.ts';
import { withTemporaryStore } from './temporary-store.ts';

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
/** The share of payers in rings. A trial has few, because arms that share devices are not compared. */
const IN_RINGS = { trial: 0.03, holdouts: 0.2 } as const;

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

/** The versions that are made from p2.v10, each with the edits of its rules. */
const VERSIONS = {
  'p2.v11': [CHAIN],
  'p2.v12': [DEVICE],
  'p2.v13': [WITHOUT_CHAIN],
} as const;

const HOLDOUTS = [
  { name: 'a chain of unpaid orders', version: 'p2.v11', rule: 'blocked-by-unpaid-chain' },
  { name: 'a shared device', version: 'p2.v12', rule: 'shared-fingerprint' },
] as const;

const FIGURES = ['payments', 'amount', 'reversals', 'requisites', 'value'] as const;
type Figures = Record<(typeof FIGURES)[number], number>;

/** The interval of an estimate per client, and the true figure, which a rerun with the same payers gave. */
export interface EstimateCheck {
  readonly name: string;
  readonly low: number;
  readonly high: number;
  readonly truth: number;
}

/**
 * Simulates the payers of a seed several times: in a trial and under each of the trial's two versions alone, and with
 * each of two holdouts and with the opposite of the holdout's draw. All simulations run at once, because one
 * simulation mostly waits for its disk.
 */
export async function checkEstimatesByReruns(
  seed: number,
  payers: number,
): Promise<readonly EstimateCheck[]> {
  const place = { seed, payers: Math.ceil(0.6 * payers), inRings: IN_RINGS.trial };
  const [ladders, plain, without, net, ...holdouts] = await Promise.all([
    ladderReruns(seed),
    payersUnder('p2.v10', place),
    payersUnder('p2.v13', place),
    netByTrial('p2.v13', place),
    ...HOLDOUTS.map((one) => holdoutOf(one, { seed, payers, inRings: IN_RINGS.holdouts })),
  ]);
  const byTrial = netReruns('a chain of unpaid orders, by a trial', net, (figure) => {
    return meanOf(without.map(figuresOfWindow), figure) - meanOf(plain.map(figuresOfWindow), figure);
  });
  return [...ladders, ...byTrial, ...holdouts.flat()];
}

async function ladderReruns(seed: number): Promise<readonly EstimateCheck[]> {
  const [found] = await simulatedTrial(seed);
  const differences = await trueDifferences(seed, found);
  return differences.map(({ metric, ...told }) => ({ name: `longer waits: ${metric}`, ...told }));
}

/** Runs the same payers under one version alone. */
function payersUnder(version: string, plan: WorldPlan): Promise<readonly SimulatedPayer[]> {
  return withTemporaryStore(async (store) => {
    const rules = await fixed(store, version);
    return new PayerWorld(store, createFixedRuleSource(rules), plan, NO_HOLDOUTS).live();
  });
}

/**
 * Compares what a report prints about a rule with a holdout with the mean of two simulations: one with the holdout's
 * draw, and one with the opposite of the draw. Simulations in which nobody or everybody is held out do not give the
 * truth, because who enters a later period depends on the earlier periods.
 */
async function holdoutOf(
  { name, version, rule }: HeldOut,
  plan: WorldPlan,
): Promise<readonly EstimateCheck[]> {
  const draw = createHoldoutDraw(`truth-${plan.seed}`);
  const opposite: DrawHoldouts = (client, at) => (one, share) => !draw(client, at)(one, share);
  const worlds = [draw, opposite].map((drawn) =>
    withTemporaryStore(async (store) => {
      const rules = await fixed(store, version);
      const simulated = await new PayerWorld(store, createFixedRuleSource(rules), plan, drawn).live();
      return {
        simulated,
        net: drawn === draw ? await archived(store, (evidence) => netOf(evidence, rules, rule)) : null,
      };
    }),
  );
  const found = await Promise.all(worlds);
  const mean = (figure: keyof Figures) =>
    found.reduce((sum, { simulated }) => sum + heldOutMinusOthers(simulated, figure), 0) / found.length;
  return netReruns(name, found[0]?.net ?? null, mean);
}

/** Compares what a report prints about a rule with how much more a client does without the rule. */
function netReruns(
  name: string,
  net: HoldoutResult['net'],
  without: (figure: keyof Figures) => number,
): readonly EstimateCheck[] {
  return FIGURES.flatMap((figure) => {
    const told = net?.[figure] ?? null;
    if (net === null || told === null) return [];
    // The value of a rule is the opposite of what its absence brings.
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
  recorded: (decided: DecidingRuleSetRef) => RuleSet | null = () => null,
): Promise<HoldoutResult['net']> {
  const objective = { ...DEFAULT_OBJECTIVE, ...OBJECTIVE };
  const { rules: found } = await reportRuleWorth(evidence, { rules, by: null, objective, recorded });
  return found.find(({ name }) => name === rule)?.net ?? null;
}

/** Returns what the report of a trial prints about the rule that the candidate lacks. */
function netByTrial(version: string, plan: WorldPlan): Promise<HoldoutResult['net']> {
  return withTemporaryStore(async (store) => {
    const node = await nodeOf(store);
    const objective = encodeObjective(OBJECTIVE) ?? '';
    const goal = { mode: 'canary', percent: 50, guardPoints: null, objective } as const;
    const change = { who: 'ann', at: T0, reason: 'a trial', revision: null, acceptDifference: true };
    const parts = { fleet: new Fleet(store), rules: node.rules, store, decidedLately: async () => [] };
    await rollOut(parts, versionOf(version), goal, change);
    await node.syncWithFleet();
    await new PayerWorld(store, node, plan, NO_HOLDOUTS).live();
    await node.stop();
    const rules = await fixed(store, 'p2.v10');
    const recorded = ({ ruleVersion }: DecidingRuleSetRef) => node.rules.findByVersion(ruleVersion);
    return archived(store, (evidence) => netOf(evidence, rules, 'blocked-by-unpaid-chain', recorded));
  });
}

function nodeOf(store: Store) {
  const directory = rulesDirectory();
  for (const [version, edits] of Object.entries(VERSIONS)) addVersion(directory, version, edits);
  return startQuietNode(store, directory, () => T0);
}

async function fixed(store: Store, version: string): Promise<RuleSet> {
  const node = await nodeOf(store);
  const rules = node.rules.findByVersion(version);
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

/** Returns what a payer did within the window after the payer's first request. */
function figuresOfWindow({ orders }: SimulatedPayer): Figures {
  const [first] = orders;
  const endsAt = (first?.at ?? 0) + WINDOW_DAYS * DAY_MS;
  return summed(orders.filter(({ at }) => at < endsAt));
}

function heldOutMinusOthers(payers: readonly SimulatedPayer[], figure: keyof Figures): number {
  const side = (wanted: boolean) =>
    payers.flatMap(({ orders, entries }) =>
      entries
        .filter(({ isHeldOut }) => isHeldOut === wanted)
        .map(({ at, endsAt }) => summed(orders.filter((one) => at <= one.at && one.at < endsAt))),
    );
  return meanOf(side(true), figure) - meanOf(side(false), figure);
}

function summed(orders: readonly SimulatedOrder[]): Figures {
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
