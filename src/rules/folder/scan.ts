import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { FACTS } from '../../facts/catalogue.ts';
import {
  type Compared,
  type ConditionFold,
  type ConditionTree,
  type FactRef,
  foldCondition,
  type Written,
} from '../condition.ts';
import type { ParsedRules, ReasonPart, Rule, RuleVersion, VerdictParams } from '../rule-set.ts';
import { listRuleVersions, RELEASE_FILE, wasRolledBack } from './rule-folder.ts';

export interface ScannedFolder {
  readonly version: RuleVersion;
  /** Changes whenever a file of the folder does. */
  readonly stamp: string;
  readonly rolledBack: boolean;
}

/** All versions in `rulesDir`, oldest first. A folder that cannot be read is among them. */
export function scanRuleFolders(rulesDir: string): readonly ScannedFolder[] {
  if (!existsSync(rulesDir)) return [];
  return listRuleVersions(rulesDir).map((version) => {
    const folder = join(rulesDir, version);
    return { version, stamp: stampOf(folder), rolledBack: wasRolledBack(folder) };
  });
}

/** Names, sizes and times of all files: cheap enough to check every second. */
function stampOf(folder: string): string {
  try {
    return [folder, join(folder, 'cases'), join(folder, 'lists')]
      .filter((path) => existsSync(path))
      .flatMap((path) =>
        readdirSync(path)
          .filter((name) => name.endsWith('.yaml') || name.endsWith('.yml') || name === RELEASE_FILE)
          .map((name) => {
            const stat = statSync(join(path, name), { throwIfNoEntry: false });
            return `${path}/${name} ${stat?.size} ${stat?.mtimeMs}`;
          }),
      )
      .join('\n');
  } catch (error) {
    // Reading the folder then says what is wrong with it.
    return `unreadable: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** A condition with the place of each fact instead of the fact. */
type PlainCondition = ConditionTree<Written, PlainCompared>;

type PlainCompared = Omit<Compared, 'fact'> & { readonly fact: number };

type PlainReason =
  | Exclude<ReasonPart, { kind: 'fact' }>
  | (Omit<Extract<ReasonPart, { kind: 'fact' }>, 'fact'> & { readonly fact: number });

type PlainRule<Params> = Omit<Rule<Params>, 'condition'> & { readonly condition: PlainCondition };

type PlainParams = Omit<VerdictParams, 'reason'> & { readonly reason: readonly PlainReason[] };

/** Parsed rules as plain data that can go from one thread to another: facts are functions, which cannot. */
export type PlainRules = Omit<ParsedRules, 'facts' | 'groups' | 'signals' | 'verdicts'> & {
  readonly facts: readonly Omit<FactRef, 'fact'>[];
  readonly groups: Omit<ParsedRules['groups'], 'rules'> & {
    readonly rules: readonly PlainRule<ParsedRules['groups']['rules'][number]['params']>[];
  };
  readonly signals: Omit<ParsedRules['signals'], 'rules'> & {
    readonly rules: readonly PlainRule<ParsedRules['signals']['rules'][number]['params']>[];
  };
  readonly verdicts: { readonly rules: readonly PlainRule<PlainParams>[]; readonly otherwise: PlainParams };
};

/** The rules as plain data; `revived` gives the same rules back. */
export function plainRules(rules: ParsedRules): PlainRules {
  const { facts, groups, signals, verdicts } = rules;
  const plain = changer<Compared, PlainCompared>((one) => ({ ...one, fact: one.fact.index }));
  const plainRule = <Params>(rule: Rule<Params>): PlainRule<Params> => ({
    ...rule,
    condition: plain(rule.condition),
  });
  return {
    ...rules,
    facts: facts.map(({ fact: _, ...ref }) => ref),
    groups: { ...groups, rules: groups.rules.map((rule) => plainRule(rule)) },
    signals: { ...signals, rules: signals.rules.map((rule) => plainRule(rule)) },
    verdicts: {
      rules: verdicts.rules.map((rule) => ({ ...plainRule(rule), params: plainParams(rule.params) })),
      otherwise: plainParams(verdicts.otherwise),
    },
  };
}

export function revived(plain: PlainRules): ParsedRules {
  const { groups, signals, verdicts } = plain;
  const facts = plain.facts.map(revivedFact);
  const live = changer<PlainCompared, Compared>((one) => ({ ...one, fact: factAt(facts, one.fact) }));
  const liveRule = <Params>(rule: PlainRule<Params>): Rule<Params> => ({
    ...rule,
    condition: live(rule.condition),
  });
  return {
    ...plain,
    facts,
    groups: { ...groups, rules: groups.rules.map((rule) => liveRule(rule)) },
    signals: { ...signals, rules: signals.rules.map((rule) => liveRule(rule)) },
    verdicts: {
      rules: verdicts.rules.map((rule) => ({ ...liveRule(rule), params: revivedParams(rule.params, facts) })),
      otherwise: revivedParams(verdicts.otherwise, facts),
    },
  };
}

/** Changes every comparison of conditions; parts that conditions share stay shared. */
function changer<A, B>(
  change: (comparison: Written & A & { readonly kind: 'comparison' }) => ConditionTree<Written, B>,
): (condition: ConditionTree<Written, A>) => ConditionTree<Written, B> {
  const fold: ConditionFold<Written, A, ConditionTree<Written, B>> = {
    group: (kind, conditions, { at }) => ({ kind, at, conditions }),
    not: (condition, { at }) => ({ kind: 'not', at, condition }),
    reference: (name, condition, { at }) => ({ kind: 'reference', at, name, condition }),
    comparison: change,
  };
  const made = new Map<ConditionTree<Written, A>, ConditionTree<Written, B>>();
  return (condition) => foldCondition(condition, fold, made);
}

function plainParams(params: VerdictParams): PlainParams {
  const reason = params.reason.map((part) =>
    part.kind === 'fact' ? { ...part, fact: part.fact.index } : part,
  );
  return { ...params, reason };
}

function revivedFact(ref: Omit<FactRef, 'fact'>): FactRef {
  const fact = FACTS.get(ref.name);
  if (fact === undefined) throw new Error(`there is no fact ${ref.name}`);
  return { ...ref, fact };
}

function factAt(facts: readonly FactRef[], index: number): FactRef {
  const ref = facts[index];
  if (ref === undefined) throw new Error(`there is no fact in place ${index}`);
  return ref;
}

function revivedParams(params: PlainParams, facts: readonly FactRef[]): VerdictParams {
  const reason = params.reason.map((part) =>
    part.kind === 'fact' ? { ...part, fact: factAt(facts, part.fact) } : part,
  );
  return { ...params, reason };
}
