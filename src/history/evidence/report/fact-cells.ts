import { OTHERWISE } from '#decision/decision.ts';
import type { NullableFactValue } from '#decision/facts/fact.ts';
import { type IsHeldOut, listHoldoutFacts, listHoldouts, selectSkippedHoldouts } from '#decision/holdout.ts';
import { SECRET_ID_CHARACTERS } from '#decision/payer/attribute-secrets.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import {
  computeCircumstantialFacts,
  createRedecider,
  listLackingLabels,
  type RecordedRequest,
  type Redecided,
} from '#decision/redecision.ts';
import {
  type Comparison,
  type FactRef,
  isFactRef,
  isPseudonymFact,
  listComparedFacts,
  listComparisons,
} from '#decision/rules/condition.ts';
import { hashConstants } from '#decision/rules/evaluate/hashed-constants.ts';
import { createMatcher } from '#decision/rules/matcher.ts';
import { listDecidingConditions, type MatchableRule, type RuleSet } from '#decision/rules/rule-set.ts';
import {
  getColumnOfFactRef,
  getTypeOfFactColumn,
  parseLabelOfFactColumn,
} from '#history/archive/fact-columns.ts';
import {
  type QueryEngine,
  quoteName,
  quoteSql,
  type ResultRow,
  toNumberOrNull,
  toTextOrNull,
} from '#history/archive/query-engine.ts';
import { isFactNotKnownSql } from '#history/archive/record-columns.ts';
import { readColumnNames } from '#history/evidence/source/evidence.ts';

/**
 * A cell of facts: decisions among which no rule can see a difference. The recorded facts of one of these decisions
 * are evaluated for all.
 */
export interface FactCell {
  /** The cell's number, as SQL writes it. */
  readonly cell: string;
  readonly recorded: RecordedRequest;
  /** Tells whether the client was held out of a rule when the decision was made. */
  readonly isHeldOut: IsHeldOut;
}

/**
 * The cells of recorded facts. A million decisions fall into some hundred cells, so the rules are evaluated only some
 * hundred times. The evaluator of live traffic does this, so no other code has to define what operators mean.
 */
interface FactCells {
  /** A SQL expression for the cell of a row of `decisions`. */
  readonly sql: string;
  readonly cells: readonly FactCell[];
}

/**
 * Reads the cells into which the decisions fall by everything that any of the rule sets compares: recorded facts,
 * platform and time, the rules that the client was held out of, and whether a rule may hold the client out.
 */
export async function readFactCells(duck: QueryEngine, ...ruleSets: readonly RuleSet[]): Promise<FactCells> {
  const columns = new RecordedColumns(await readColumnNames(duck, 'decisions'));
  const conditions = ruleSets.flatMap((rules) =>
    listDecidingConditions(rules).map((condition) => hashConstants(condition, rules.attributeHmacs)),
  );
  const compared = listComparisons(conditions).filter((comparison) =>
    listComparedFacts(comparison).every((ref) => ref.fact.kind !== 'circumstantial' && columns.hasFact(ref)),
  );
  const heldOutBy = ruleSets.flatMap(listHoldoutFacts).filter((ref) => columns.hasFact(ref));
  const refs = [
    ...new Map(
      [...compared.flatMap(listComparedFacts), ...heldOutBy].map((ref) => [getColumnOfFactRef(ref), ref]),
    ).values(),
  ];
  // Values of facts that are compared with each other must come from the same decision.
  const paired = new Set([
    ...compared.flatMap((one) =>
      isFactRef(one.value) ? listComparedFacts(one).map(getColumnOfFactRef) : [],
    ),
    ...heldOutBy.map(getColumnOfFactRef),
  ]);
  const circumstances = await makeCircumstances(duck, ruleSets);
  const circumstance = circumstances.length === 0 ? '0' : CIRCUMSTANCE_SQL;
  const tests = new Set([
    ...compared.flatMap((one) => listTests(one, columns)),
    ...listHoldoutTests(ruleSets, heldOutBy, columns),
  ]);
  const sql = `hash(${['0', HELD_OUT_SQL, circumstance, ...tests].join(', ')})`;
  const values = refs.flatMap((ref) => {
    const [name, sql] = [getColumnOfFactRef(ref), columns.sql(ref)];
    const value = paired.has(name) ? PAIRED_VALUE(sql) : `any_value(${sql})`;
    return [
      `, ${value} AS ${quoteName(name)}`,
      `, any_value(${isFactNotKnownSql(ref.label)}) AS ${quoteName(notKnownName(name))}`,
    ];
  });
  const rows = await duck.rows(`SELECT ${sql} AS cell, any_value(${HELD_OUT_SQL}) AS held_out,
    any_value(${circumstance}) AS circumstance${values.join('')} FROM decisions GROUP BY cell`);
  return {
    sql,
    cells: rows.map((row) => {
      const heldOut = new Set((toTextOrNull(row['held_out']) ?? '').split(' '));
      return {
        cell: String(row['cell']),
        recorded: {
          ...(circumstances[toNumberOrNull(row['circumstance']) ?? 0] ?? ANYWHERE),
          facts: Object.fromEntries(
            refs.flatMap((ref) => {
              const { label } = ref;
              const value = readRecordedFact(row, getColumnOfFactRef(ref));
              return value === undefined ? [] : [[label, value]];
            }),
          ),
        },
        isHeldOut: (rule) => heldOut.has(rule),
      };
    }),
  };
}

/** The columns in which decisions keep their facts. */
class RecordedColumns {
  readonly #columns: ReadonlySet<string>;
  readonly #labels: ReadonlySet<string | null>;

  constructor(columns: readonly string[]) {
    this.#columns = new Set(columns);
    this.#labels = new Set(columns.map(parseLabelOfFactColumn));
  }

  /** Tells whether any decision may have the fact. */
  hasFact({ label }: FactRef): boolean {
    return this.#labels.has(label);
  }

  /**
   * Renders the SQL for the value of a fact. The column of an attribute is missing if its recorded values all have
   * other types.
   */
  sql(ref: FactRef): string {
    const column = getColumnOfFactRef(ref);
    return this.#columns.has(column) ? quoteName(column) : `NULL::${getTypeOfFactColumn(column)}`;
  }
}

/** Renders the SQL for a value of one decision of a cell. It picks the same decision for every column. */
const PAIRED_VALUE = (sql: string) => `arg_min({value: ${sql}}, (decided_at, client_hash, seq)).value`;

/** SQL for the rules that were skipped when a row of `decisions` was decided. */
const HELD_OUT_SQL =
  "coalesce(array_to_string(list_sort(list_where(holdout_rule, holdout_held_out)), ' '), '')";

/** A platform and time, for decisions under rules that compare neither. */
const ANYWHERE: Circumstances = { platform: toPlatformName('any'), at: 0 };

type Circumstances = Pick<RecordedRequest, 'platform' | 'at'>;

/**
 * The offset of every time zone is a multiple of a quarter of an hour. So within such a step no local hour or day
 * begins.
 */
const CLOCK_STEP_MS = 15 * 60_000;

/** SQL for the number of a row's circumstances: their index in the list that `makeCircumstances` returns. */
const CIRCUMSTANCE_SQL = `(SELECT circumstance FROM circumstances
  WHERE circumstances.platform = decisions.platform AND step = epoch_ms(decided_at) // ${CLOCK_STEP_MS})`;

/**
 * Creates the table `circumstances`, which numbers the platforms and times that the rule sets distinguish. Returns an
 * example of each number. Returns an empty list if no rule compares platform or time.
 */
async function makeCircumstances(
  duck: QueryEngine,
  ruleSets: readonly RuleSet[],
): Promise<readonly Circumstances[]> {
  await duck.run(
    'CREATE OR REPLACE TABLE circumstances (platform VARCHAR, step DOUBLE, circumstance INTEGER)',
  );
  const asked = ruleSets.map((rules) => ({
    rules,
    comparisons: listComparisons(listDecidingConditions(rules)).filter(
      ({ fact }) => fact.fact.kind === 'circumstantial',
    ),
  }));
  if (asked.every(({ comparisons }) => comparisons.length === 0)) return [];
  const numbers = new Map<string, number>();
  const found: Circumstances[] = [];
  const appender = await duck.openAppender('circumstances');
  const rows = await duck.rows(
    `SELECT DISTINCT platform, epoch_ms(decided_at) // ${CLOCK_STEP_MS} AS step FROM decisions ORDER BY ALL`,
  );
  for (const row of rows) {
    const [platform, step] = [
      toPlatformName(toTextOrNull(row['platform']) ?? ''),
      toNumberOrNull(row['step']) ?? 0,
    ];
    const circumstances = { platform, at: step * CLOCK_STEP_MS };
    const answers = asked.flatMap(({ rules, comparisons }) => {
      const facts = computeCircumstantialFacts(rules, circumstances);
      const values = rules.facts.map(({ label }) => facts[label] ?? null);
      return comparisons.map((comparison) => Number(createMatcher(comparison)(values)));
    });
    const number = numbers.getOrInsertComputed(answers.join(''), () => found.push(circumstances) - 1);
    appender.add(platform, step, number);
  }
  appender.close();
  return found;
}

/** Reads the recorded value of a fact. Returns null if it was not known, and undefined if it was not asked for. */
function readRecordedFact(row: ResultRow, column: string): NullableFactValue | undefined {
  const found = row[column];
  const value = typeof found === 'bigint' ? Number(found) : found;
  if (typeof value === 'number' || typeof value === 'string' || typeof value === 'boolean') return value;
  return row[notKnownName(column)] === true ? null : undefined;
}

/** Names the column that says whether a fact was asked for and had no value. */
function notKnownName(column: string): string {
  return `${column} not known`;
}

/** Lists SQL expressions that together distinguish all values that the comparison distinguishes. */
function listTests(comparison: Comparison, columns: RecordedColumns): readonly string[] {
  const known = listComparedFacts(comparison).filter(({ fact }) => fact.absence !== undefined);
  return [...known.map(({ label }) => isFactNotKnownSql(label)), ...listValueTests(comparison, columns)];
}

/**
 * Lists SQL expressions that together distinguish decisions that may be held out of a rule from those that may not.
 * An amount is only compared with the largest one that a rule allows, so that not every amount makes a cell of its
 * own.
 */
function listHoldoutTests(
  ruleSets: readonly RuleSet[],
  facts: readonly FactRef[],
  columns: RecordedColumns,
): readonly string[] {
  const sqlOf = (name: string) => facts.filter((ref) => ref.name === name).map((ref) => columns.sql(ref))[0];
  const [amount, currency] = [sqlOf('amount'), sqlOf('currency')];
  const bounds = ruleSets
    .flatMap(listHoldouts)
    .flatMap(({ maxAmounts }) => Object.entries(maxAmounts ?? {}))
    .map(
      ([name, most]) => `coalesce(${currency} = ${quoteSql(name)} AND ${amount} <= ${most}::DOUBLE, false)`,
    );
  const others = facts.filter(({ name }) => name !== 'amount' && name !== 'currency');
  return [...others.map((ref) => columns.sql(ref)), ...bounds];
}

function listValueTests(
  { fact: ref, operator, value }: Comparison,
  columns: RecordedColumns,
): readonly string[] {
  const { fact } = ref;
  const column = columns.sql(ref);
  if (operator === 'known') return [];
  if (isFactRef(value)) {
    const other = columns.sql(value);
    return [`${column} = ${other}`, ...(fact.domain.type === 'number' ? [`${column} < ${other}`] : [])];
  }
  const constants = [value].flat();
  if (operator === 'multipleOf' || operator === 'notMultipleOf')
    return constants.map((divisor) => multipleSql(column, Number(divisor)));
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
      return listTextTests(ref, column, constants.map(String));
    default:
      return fact.domain satisfies never;
  }
}

/**
 * Lists SQL expressions that distinguish texts. Pseudonyms are also distinguished by the secret under which they were
 * kept, because a constant cannot be compared with a pseudonym of an unknown secret.
 */
function listTextTests(ref: FactRef, column: string, constants: readonly string[]): readonly string[] {
  const equals = constants.length === 0 ? [] : [`${column} IN (${constants.map(quoteSql).join(', ')})`];
  return isPseudonymFact(ref) ? [...equals, `right(${column}, ${SECRET_ID_CHARACTERS})`] : equals;
}

/**
 * Renders the SQL that distinguishes multiples, computed with decimals. A number with too many digits for a decimal
 * stands for itself.
 */
function multipleSql(column: string, divisor: number): string {
  const decimal = (number: string) => `TRY_CAST(${number} AS DECIMAL(38, 12))`;
  const rest = `${decimal(column)} % nullif(${decimal(`${divisor}::DOUBLE`)}, 0)`;
  return `coalesce((${rest} = 0)::VARCHAR, ${column}::VARCHAR)`;
}

/** A rule as a report names it. `otherwise` stands for the result if no rule of its file matches. */
interface NamedRule {
  readonly file: 'groups.yaml' | 'bot-signals.yaml' | 'verdicts.yaml';
  readonly name: string;
  /** The file and name, like `groups/blocked-by-unpaid-chain`. */
  readonly path: string;
  /** The rule. Null for `otherwise`. */
  readonly rule: MatchableRule<unknown> | null;
}

/** Lists all rules of a rule set in the sequence of its files. */
export function listRulesWithPaths({ groups, signals, verdicts }: RuleSet): readonly NamedRule[] {
  const named = (file: NamedRule['file'], rules: readonly (MatchableRule<unknown> | null)[]) =>
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

/** How the rules judge one decision, with a value for each rule of `listRulesWithPaths`. */
export interface RuleEffectsOnDecision {
  /**
   * Whether the rule's condition holds and, for a signal, no exemption applies. For `otherwise`: whether no rule of
   * the file applied.
   */
  readonly matched: readonly boolean[];
  /**
   * Whether the rule gave the group or the verdict, or contributed to the bot flag. A skipped rule did none of these.
   */
  readonly decided: readonly boolean[];
  /** Whether the verdict or the bot flag would be different without the rule. */
  readonly decisive: readonly boolean[];
}

/** The judgement of a decision, or the labels of the facts that its record lacks. */
export type CellJudgement =
  | { readonly judgement: RuleEffectsOnDecision }
  | { readonly lacking: readonly string[] };

/**
 * Creates a function that evaluates recorded decisions with a rule set, and again without each of its rules. A client
 * who was held out of a rule then is held out of it here, too.
 */
export function createJudge(rules: RuleSet): (cell: FactCell) => CellJudgement {
  const named = listRulesWithPaths(rules);
  const redecide = createRedecider(rules);
  const without = named.map(({ rule }) => (rule === null ? null : createRedecider(excludeRule(rules, rule))));
  return ({ recorded, isHeldOut }) => {
    const again = redecide(recorded, isHeldOut);
    if (again.kind !== 'decided') return { lacking: listLackingLabels(again) };
    const { values, isBot } = again.assessment;
    const skipped = new Set(selectSkippedHoldouts(again.drawnHoldouts).map(({ rule }) => rule));
    const isExempt = rules.signals.exempt?.matches(values) === true;
    const holds = named.map(
      ({ file, rule }) => rule?.matches(values) === true && !(isExempt && file === 'bot-signals.yaml'),
    );
    const applies = named.map(({ path }, at) => holds[at] === true && !skipped.has(path));
    const first = new Map(
      named.map(({ file }) => [file, named.findIndex((one, at) => one.file === file && applies[at])]),
    );
    const matched = named.map(({ file, rule }, at) =>
      rule === null ? first.get(file) === -1 : holds[at] === true,
    );
    const answer = answerText(again);
    const isDecisive = (at: number) => {
      const others = without[at]?.(recorded, isHeldOut);
      return others?.kind === 'decided' && answerText(others) !== answer;
    };
    return {
      judgement: {
        matched,
        decided: named.map(({ file, rule }, at) => {
          if (rule === null) return matched[at] === true;
          return applies[at] === true && (file === 'bot-signals.yaml' ? isBot : first.get(file) === at);
        }),
        decisive: named.map((_, at) => applies[at] === true && isDecisive(at)),
      },
    };
  };
}

/** Returns the part of an answer that rules choose, as a text for comparison. */
function answerText({ assessment, concluded }: Redecided): string {
  return `${concluded.verdict} ${assessment.isBot}`;
}

/** Returns the rule set without one of its rules. */
export function excludeRule(
  { groups, signals, verdicts, ...rules }: RuleSet,
  gone: MatchableRule<unknown>,
): RuleSet {
  const others = <One>(all: readonly One[]) => all.filter((one) => one !== gone);
  return {
    ...rules,
    groups: { ...groups, rules: others(groups.rules) },
    signals: { ...signals, rules: others(signals.rules) },
    verdicts: { ...verdicts, rules: others(verdicts.rules) },
  };
}
