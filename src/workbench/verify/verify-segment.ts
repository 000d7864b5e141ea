import { join } from 'node:path';
import type { Decision } from '#decision/decision.ts';
import type { AttributePseudonymizer } from '#decision/payer/attribute-hmacs.ts';
import type { ClientKeys } from '#decision/payer/client-key.ts';
import { compileWithOtherHmacs } from '#decision/rules/evaluate/compile.ts';
import type { RuleSet } from '#decision/rules/rule-set.ts';
import type { Archive } from '#history/archive/archive.ts';
import type { Segment } from '#history/archive/archive-log.ts';
import type { QueryEngine, ResultRow } from '#history/archive/query-engine.ts';
import { ArchivedRuleSets } from '#history/archive/ship/archived-rule-sets.ts';
import { toDecision } from '#history/archive/tables.ts';
import { addSums } from '#history/statistics/sums.ts';
import { loadRuleSet } from '#state/rule-folders/rule-folder.ts';
import { findRerunDifferences } from '#workbench/authoring/explain/explain.ts';

/** Decides every decision of a segment again from its recorded facts. */
export async function verifySegment(
  duck: QueryEngine,
  archive: Archive,
  segment: Segment,
  where: string,
  rulesOf: FindRuleSet,
  clientKeys: ClientKeys,
): Promise<VerificationTotals> {
  let sum = NOTHING_VERIFIED;
  try {
    for await (const rows of duck.stream(`SELECT * FROM ${archive.createRowsSql([segment])} WHERE ${where}`))
      sum = rows.map((row) => verifyRow(row, rulesOf, clientKeys)).reduce(addVerifications, sum);
    return sum;
  } catch {
    return { ...sum, unreadable: [segment.name] };
  }
}

/** Finds the rule set of a decision by its version and digest. Returns null if it is no longer available. */
export type FindRuleSet = (decision: Pick<Decision, 'ruleVersion' | 'digest'>) => RuleSet | null;

/**
 * Creates a function that finds a rule set by version and digest. It looks in the archive first, and then in
 * RULES_DIR.
 */
export function createRuleSetFinder(
  archiveDir: string,
  rulesDir: string,
  hmacs: AttributePseudonymizer,
): FindRuleSet {
  const shelf = new ArchivedRuleSets(archiveDir, null, hmacs);
  const known = new Map<string, RuleSet | null>();
  const find: FindRuleSet = ({ ruleVersion, digest }) => {
    const here = loadRuleSet(join(rulesDir, ruleVersion));
    const fromFolder =
      here.ok && here.ruleSet.digest === digest ? compileWithOtherHmacs(here.ruleSet, hmacs) : null;
    return shelf.get(ruleVersion, digest) ?? fromFolder;
  };
  return (asked) => known.getOrInsertComputed(asked.digest, () => find(asked));
}

function verifyRow(row: ResultRow, rulesOf: FindRuleSet, clientKeys: ClientKeys): VerificationTotals {
  const checked = { ...NOTHING_VERIFIED, checked: 1 };
  const decision = readDecision(row, clientKeys);
  if (decision === null) return { ...checked, damagedRows: 1 };
  const rules = rulesOf(decision);
  if (rules === null)
    return { ...checked, withoutRules: { [`${decision.ruleVersion} ${decision.digest.slice(0, 12)}`]: 1 } };
  const differences = findRerunDifferences(rules, decision);
  if (differences === null) return { ...checked, withoutSecret: 1 };
  const members = differences.map(({ member }) => member);
  if (members.length === 0) return { ...checked, reproduced: 1 };
  const { decisionId, orderRef } = decision;
  return { ...checked, notReproduced: 1, mismatches: [{ decisionId, orderRef, members }] };
}

function readDecision(row: ResultRow, clientKeys: ClientKeys): Decision | null {
  try {
    return toDecision(row, clientKeys);
  } catch {
    return null;
  }
}

export interface VerificationTotals {
  readonly checked: number;
  readonly reproduced: number;
  readonly notReproduced: number;
  /** The first decisions that were decided differently this time, with the members that differ. */
  readonly mismatches: readonly { decisionId: string; orderRef: string; members: readonly string[] }[];
  /** Counts of decisions whose rule set is no longer available, by `version digest`. */
  readonly withoutRules: Readonly<Record<string, number>>;
  /**
   * How many decisions could not be verified, because their rules compare a pseudonym with constants and the
   * SIGNAL_SECRET of that time is not set here.
   */
  readonly withoutSecret: number;
  /** How many rows cannot be read as decisions, because they were changed after they were written. */
  readonly damagedRows: number;
  readonly unreadable: readonly string[];
}

const MISMATCHES_MAX = 20;

export const NOTHING_VERIFIED: VerificationTotals = {
  checked: 0,
  reproduced: 0,
  notReproduced: 0,
  mismatches: [],
  withoutRules: {},
  withoutSecret: 0,
  damagedRows: 0,
  unreadable: [],
};

export function addVerifications(a: VerificationTotals, b: VerificationTotals): VerificationTotals {
  return {
    checked: a.checked + b.checked,
    reproduced: a.reproduced + b.reproduced,
    notReproduced: a.notReproduced + b.notReproduced,
    mismatches: [...a.mismatches, ...b.mismatches].slice(0, MISMATCHES_MAX),
    withoutRules: { ...b.withoutRules, ...addSums(a.withoutRules, b.withoutRules) },
    withoutSecret: a.withoutSecret + b.withoutSecret,
    damagedRows: a.damagedRows + b.damagedRows,
    unreadable: [...a.unreadable, ...b.unreadable],
  };
}
