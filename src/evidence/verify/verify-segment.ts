import { join } from 'node:path';
import type { Archive } from '../../archive/archive.ts';
import type { Segment } from '../../archive/archive-log.ts';
import type { Duck, DuckRow } from '../../archive/duck.ts';
import { decisionOf } from '../../archive/entries.ts';
import { RuleSetShelf } from '../../archive/ship/rule-set-shelf.ts';
import { rederive } from '../../authoring/explain/explain.ts';
import type { ClientKeys } from '../../client/client-key.ts';
import type { Decision } from '../../decision/decision.ts';
import { loadRuleSet } from '../../rules/folder/rule-folder.ts';
import type { RuleSet } from '../../rules/rule-set.ts';
import { MISMATCHES_MAX, NOTHING_VERIFIED, type Verification } from './verification.ts';

/** Decides every decision of a segment again from its recorded facts. */
export async function verifySegment(
  duck: Duck,
  archive: Archive,
  segment: Segment,
  where: string,
  rulesOf: RulesOf,
  clientKeys: ClientKeys,
): Promise<Verification> {
  let sum = NOTHING_VERIFIED;
  try {
    for await (const rows of duck.stream(`SELECT * FROM ${archive.source([segment])} WHERE ${where}`))
      sum = verifyRows(sum, rows, rulesOf, clientKeys);
    return sum;
  } catch {
    return { ...sum, unreadable: [segment.name] };
  }
}

export type RulesOf = (decision: Pick<Decision, 'ruleVersion' | 'digest'>) => RuleSet | null;

/** Rule sets by digest: those that the archive keeps, then those of RULES_DIR. */
export function keptRules(archiveDir: string, rulesDir: string): RulesOf {
  const shelf = new RuleSetShelf(archiveDir, null);
  const known = new Map<string, RuleSet | null>();
  return ({ ruleVersion, digest }) => {
    const before = known.get(digest);
    if (before !== undefined) return before;
    const here = loadRuleSet(join(rulesDir, ruleVersion));
    const fromFolder = here.ok && here.ruleSet.digest === digest ? here.ruleSet : null;
    const found = shelf.get(ruleVersion, digest) ?? fromFolder;
    known.set(digest, found);
    return found;
  };
}

function verifyRows(
  before: Verification,
  rows: readonly DuckRow[],
  rulesOf: RulesOf,
  clientKeys: ClientKeys,
): Verification {
  const mismatches = [...before.mismatches];
  const withoutRules: Record<string, number> = { ...before.withoutRules };
  let { checked, reproduced, notReproduced, damagedRows } = before;
  for (const row of rows) {
    checked++;
    const decision = readDecision(row, clientKeys);
    if (decision === null) {
      damagedRows++;
      continue;
    }
    const rules = rulesOf(decision);
    if (rules === null) {
      const name = `${decision.ruleVersion} ${decision.digest.slice(0, 12)}`;
      withoutRules[name] = (withoutRules[name] ?? 0) + 1;
      continue;
    }
    const differences = rederive(rules, decision);
    if (differences.length === 0) reproduced++;
    else {
      notReproduced++;
      const members = differences.map(({ member }) => member);
      if (mismatches.length < MISMATCHES_MAX)
        mismatches.push({ decisionId: decision.decisionId, orderRef: decision.orderRef, members });
    }
  }
  return { ...before, checked, reproduced, notReproduced, damagedRows, mismatches, withoutRules };
}

function readDecision(row: DuckRow, clientKeys: ClientKeys): Decision | null {
  try {
    return decisionOf(row, clientKeys);
  } catch {
    return null;
  }
}
