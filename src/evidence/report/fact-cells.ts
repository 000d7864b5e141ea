import { type Duck, type DuckRow, quote, quoteName } from '../../archive/duck.ts';
import { factColumn } from '../../archive/record-columns.ts';
import { conclude, verdictRule } from '../../decision/assess.ts';
import { OTHERWISE } from '../../decision/decision.ts';
import type { FactValue } from '../../facts/fact.ts';
import { type Comparison, comparisonsIn, type FactRef, factsNamed } from '../../rules/condition.ts';
import type { Matchable, RuleSet } from '../../rules/rule-set.ts';
import { columnsOf } from '../source/evidence.ts';

/**
 * Decisions of a cell differ in nothing that the rules compare: the values of any of them stand for all. The facts of a
 * million decisions fall into some hundred cells, so that the rules need be asked only so often, and the one evaluator
 * decides what operators mean.
 */
interface FactCells {
  /** SQL that gives the cell of a row of `decisions`. */
  readonly sql: string;
  /** Each with its `cell` and recorded values. */
  readonly rows: readonly DuckRow[];
}

/** The cells of the recorded facts that any of the rule sets compares. */
export async function factCells(duck: Duck, ...ruleSets: readonly RuleSet[]): Promise<FactCells> {
  const recorded = new Set(await columnsOf(duck, 'decisions'));
  const compared = comparisonsIn(ruleSets.flatMap(conditionsOf)).filter(({ fact }) =>
    recorded.has(factColumn(fact.label)),
  );
  const columns = new Set(compared.map(({ fact }) => quoteName(factColumn(fact.label))));
  const tests = new Set(compared.flatMap(testsOf));
  const sql = `hash(${['0', ...tests].join(', ')})`;
  const values = [...columns].map((column) => `, any_value(${column}) AS ${column}`);
  return {
    sql,
    rows: await duck.rows(`SELECT ${sql} AS cell${values.join('')} FROM decisions GROUP BY cell`),
  };
}

function conditionsOf({ groups, signals, verdicts }: RuleSet) {
  return [...groups.rules, ...signals.rules, ...verdicts.rules].map(({ condition }) => condition);
}

/** SQL: what tells values apart that the comparison tells apart. */
function testsOf({ fact: { label, fact }, value }: Comparison): readonly string[] {
  const column = quoteName(factColumn(label));
  const constants = Array.isArray(value) ? value : [value];
  switch (fact.domain.type) {
    case 'boolean':
      return [column];
    case 'number':
      return constants.flatMap((number) => {
        const literal = Number.isSafeInteger(number) ? String(number) : `${number}::DOUBLE`;
        return [`${column} >= ${literal}`, `${column} > ${literal}`];
      });
    case 'enum':
    case 'text':
      return [`${column} IN (${constants.map((text) => quote(String(text))).join(', ')})`];
    default:
      return fact.domain satisfies never;
  }
}

/**
 * Reads cells as a rule set sees them: values in its order, those that it concludes itself false, as before a decision; and
 * the facts that were not recorded.
 */
export function cellReader(rules: RuleSet) {
  const asked = factsNamed(conditionsOf(rules)).filter(({ fact }) => fact.kind !== 'concluded');
  return (row: DuckRow) => {
    const values: FactValue[] = rules.facts.map(() => false);
    const lacking = asked.flatMap(({ label, index }: FactRef) => {
      const found = row[factColumn(label)];
      const value = typeof found === 'bigint' ? Number(found) : found;
      if (typeof value !== 'number' && typeof value !== 'string' && typeof value !== 'boolean')
        return [label];
      values[index] = value;
      return [];
    });
    return { values, lacking };
  };
}

/** A rule as a report names it; `otherwise` stands for what holds when no rule of its file matches. */
interface NamedRule {
  readonly file: 'groups.yaml' | 'bot-signals.yaml' | 'verdicts.yaml';
  readonly name: string;
  /** Like `groups/blocked-by-unpaid-chain`. */
  readonly path: string;
  /** Null of `otherwise`. */
  readonly rule: Matchable<unknown> | null;
}

/** All rules of a rule set in the order of its files. */
export function namedRules({ groups, signals, verdicts }: RuleSet): readonly NamedRule[] {
  const named = (file: NamedRule['file'], rules: readonly (Matchable<unknown> | null)[]) =>
    rules.map((rule) => {
      const name = rule?.name ?? OTHERWISE;
      return { file, name, path: `${file.replace('.yaml', '')}/${name}`, rule };
    });
  return [
    ...named('groups.yaml', [...groups.rules, null]),
    ...named('bot-signals.yaml', signals.rules),
    ...named('verdicts.yaml', [...verdicts.rules, null]),
  ];
}

/** The rules' judgement of one decision: whether it holds of each rule of `namedRules`. */
export interface Judgement {
  /** Its condition holds; of `otherwise`, that of no rule of the file. */
  readonly matched: readonly boolean[];
  /** It gave the group or the verdict, or had a part in the bot flag. */
  readonly decided: readonly boolean[];
  /** Without it the verdict or the bot flag would have been another. */
  readonly decisive: readonly boolean[];
}

/** Asks a rule set about recorded values, as it is and without each of its rules. */
export function judgeOf(rules: RuleSet): (values: readonly FactValue[]) => Judgement {
  const named = namedRules(rules);
  const without = named.map(({ rule }) => (rule === null ? null : withoutRule(rules, rule)));
  return (values) => {
    const { values: concluded, isBot } = conclude(rules, values, false);
    const holds = named.map(({ rule }) => rule?.matches(concluded) ?? false);
    const first = new Map(
      named.map(({ file }) => [file, named.findIndex((one, at) => one.file === file && holds[at])]),
    );
    const matched = named.map(({ file, rule }, at) =>
      rule === null ? first.get(file) === -1 : holds[at] === true,
    );
    const answer = answerOf(rules, values);
    return {
      matched,
      decided: named.map(
        ({ file, rule }, at) =>
          matched[at] === true &&
          (file === 'bot-signals.yaml' ? isBot : rule === null || first.get(file) === at),
      ),
      decisive: without.map(
        (others, at) => matched[at] === true && others !== null && answerOf(others, values) !== answer,
      ),
    };
  };
}

/** What a verdict says to the caller, as far as rules choose it. */
function answerOf(rules: RuleSet, values: readonly FactValue[]): string {
  const { values: concluded, isBot } = conclude(rules, values, false);
  return `${verdictRule(rules, concluded).params.verdict} ${isBot}`;
}

/** The same rules without one of them. */
export function withoutRule(
  { groups, signals, verdicts, ...rules }: RuleSet,
  gone: Matchable<unknown>,
): RuleSet {
  const others = <One>(all: readonly One[]) => all.filter((one) => one !== gone);
  return {
    ...rules,
    groups: { ...groups, rules: others(groups.rules) },
    signals: { ...signals, rules: others(signals.rules) },
    verdicts: { ...verdicts, rules: others(verdicts.rules) },
  };
}
