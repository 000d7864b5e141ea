import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

/** The figures of a rule, counted line by line, without the service's evaluator, engine or SQL. */
export interface HandCount {
  readonly matched: number;
  readonly decided: number;
  readonly decisive: number | null;
  readonly paid: number;
  readonly unpaid: number;
  readonly turnedAway: number;
  readonly unknown: number;
}

type Facts = Readonly<Record<string, unknown>>;

interface YamlRule {
  readonly name: string;
  readonly priority?: number;
  readonly conditions: YamlCondition;
  readonly event: {
    readonly params: { readonly group?: string; readonly weight?: number; readonly verdict?: string };
  };
}

type YamlCondition = {
  readonly all?: readonly YamlCondition[];
  readonly any?: readonly YamlCondition[];
  readonly not?: YamlCondition;
  readonly fact: string;
  readonly params?: { readonly window: string };
  readonly operator: string;
  readonly value: never;
};

interface RuleFiles {
  readonly groups: { readonly rules: readonly YamlRule[]; readonly otherwise: string };
  readonly signals: { readonly rules: readonly YamlRule[]; readonly threshold: number };
  readonly verdicts: {
    readonly rules: readonly YamlRule[];
    readonly otherwise: { readonly verdict: string };
  };
}

interface Line {
  readonly kind: string;
  readonly platform: string;
  readonly clientIdKey: string;
  readonly orderRef: string;
  readonly order: { readonly outcome: 'PAID' | 'UNPAID'; readonly cause: string | null };
  readonly decision: { readonly orderRef: string; readonly verdict: string; readonly facts: Facts };
}

/** The counts of every rule of a folder, by file and name, over the lines of an exported journal. */
export function countByHand(folder: string, journal: string): ReadonlyMap<string, HandCount> {
  const rules = readRules(folder);
  const lines: readonly Line[] = journal
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const statuses = statusesOf(lines);
  const seen = lines.flatMap((line) => (line.kind === 'verdict' ? [judged(rules, line)] : []));
  return new Map(namesOf(rules).map((name) => [name, countRule(name, seen, statuses)]));
}

function statusesOf(lines: readonly Line[]): ReadonlyMap<string, string> {
  const told = lines.filter(({ kind }) => kind === 'outcome');
  return new Map(
    told.map((line) => [
      orderOf(line, line.orderRef),
      line.order.cause === 'TECHNICAL' ? 'left out' : line.order.outcome.toLowerCase(),
    ]),
  );
}

function judged(rules: RuleFiles, line: Line) {
  const { facts, orderRef } = line.decision;
  const seen = answer(rules, facts);
  const decisive = seen.matched.filter((name) => {
    const without = answer(withoutRule(rules, name), facts);
    return without.verdict !== seen.verdict || without.isBot !== seen.isBot;
  });
  return {
    ...seen,
    decisive,
    order: orderOf(line, orderRef),
    granted: line.decision.verdict.startsWith('GET'),
  };
}

function countRule(
  name: string,
  seen: readonly ReturnType<typeof judged>[],
  statuses: ReadonlyMap<string, string>,
): HandCount {
  const matched = seen.filter((one) => one.matched.includes(name));
  const orders = [...new Set(matched.map(({ order }) => order))];
  const ended = (status: string, ...among: readonly Set<string>[]) =>
    orders.filter(
      (order) => (statuses.get(order) ?? 'unknown') === status && among.every((some) => some.has(order)),
    ).length;
  const granted = new Set(seen.filter(({ granted: shown }) => shown).map(({ order }) => order));
  return {
    matched: matched.length,
    decided: seen.filter((one) => one.decided.includes(name)).length,
    decisive: name.endsWith('/otherwise') ? null : seen.filter((one) => one.decisive.includes(name)).length,
    paid: ended('paid'),
    unpaid: ended('unpaid', granted),
    turnedAway: ended('unpaid') + ended('unknown') - ended('unpaid', granted) - ended('unknown', granted),
    unknown: ended('unknown', granted),
  };
}

function orderOf({ platform, clientIdKey }: Line, orderRef: string): string {
  return JSON.stringify([platform, clientIdKey, orderRef]);
}

function readRules(folder: string): RuleFiles {
  const read = (file: string) => parse(readFileSync(join(folder, file), 'utf8'));
  return { groups: read('groups.yaml'), signals: read('bot-signals.yaml'), verdicts: read('verdicts.yaml') };
}

function namesOf({ groups, signals, verdicts }: RuleFiles): readonly string[] {
  return [
    ...groups.rules.map(({ name }) => `groups.yaml/${name}`),
    'groups.yaml/otherwise',
    ...signals.rules.map(({ name }) => `bot-signals.yaml/${name}`),
    ...verdicts.rules.map(({ name }) => `verdicts.yaml/${name}`),
    'verdicts.yaml/otherwise',
  ];
}

function withoutRule(rules: RuleFiles, path: string): RuleFiles {
  const keep = <Part extends { readonly rules: readonly YamlRule[] }>(part: Part, file: string): Part => ({
    ...part,
    rules: part.rules.filter(({ name }) => `${file}/${name}` !== path),
  });
  return {
    groups: keep(rules.groups, 'groups.yaml'),
    signals: keep(rules.signals, 'bot-signals.yaml'),
    verdicts: keep(rules.verdicts, 'verdicts.yaml'),
  };
}

function answer({ groups, signals, verdicts }: RuleFiles, recorded: Facts) {
  const byPriority = (rules: readonly YamlRule[]) =>
    rules.toSorted((a, b) => (b.priority ?? 1) - (a.priority ?? 1));
  const inGroups = byPriority(groups.rules).filter((rule) => holds(rule.conditions, recorded));
  const clientGroup = inGroups[0]?.event.params.group ?? groups.otherwise;
  const inSignals = signals.rules.filter((rule) => holds(rule.conditions, { ...recorded, clientGroup }));
  const botWeight = inSignals.reduce((sum, rule) => sum + (rule.event.params.weight ?? 0), 0);
  const isBot = botWeight >= signals.threshold;
  const concluded = { ...recorded, clientGroup, botWeight, isBot };
  const inVerdicts = byPriority(verdicts.rules).filter((rule) => holds(rule.conditions, concluded));
  const paths = (file: string, rules: readonly YamlRule[]) =>
    rules.length === 0 && file !== 'bot-signals.yaml'
      ? [`${file}/otherwise`]
      : rules.map(({ name }) => `${file}/${name}`);
  const [ofGroups, ofSignals, ofVerdicts] = [
    paths('groups.yaml', inGroups),
    paths('bot-signals.yaml', inSignals),
    paths('verdicts.yaml', inVerdicts),
  ];
  return {
    verdict: inVerdicts[0]?.event.params.verdict ?? verdicts.otherwise.verdict,
    isBot,
    matched: [...ofGroups, ...ofSignals, ...ofVerdicts],
    decided: [ofGroups[0], ...(isBot ? ofSignals : []), ofVerdicts[0]],
  };
}

function holds(condition: YamlCondition, facts: Facts): boolean {
  if (condition.all !== undefined) return condition.all.every((part) => holds(part, facts));
  if (condition.any !== undefined) return condition.any.some((part) => holds(part, facts));
  if (condition.not !== undefined) return !holds(condition.not, facts);
  const { fact, params, operator, value } = condition;
  const seen = recordedValue(facts, fact, params?.window);
  const test = OPERATORS[operator];
  if (test === undefined) throw new Error(`counting by hand knows no operator ${operator}`);
  return test(seen, value);
}

const OPERATORS: Readonly<Record<string, (seen: unknown, value: number) => boolean>> = {
  equal: (seen, value) => seen === value,
  notEqual: (seen, value) => seen !== value,
  lessThan: (seen, value) => Number(seen) < value,
  lessThanInclusive: (seen, value) => Number(seen) <= value,
  greaterThan: (seen, value) => Number(seen) > value,
  greaterThanInclusive: (seen, value) => Number(seen) >= value,
};

/** Records name a day `1d`, rules may name it `24h`. */
function recordedValue(facts: Facts, fact: string, window: string | undefined): unknown {
  if (window === undefined) return facts[fact];
  return facts[`${fact}(${window})`] ?? facts[`${fact}(${window === '24h' ? '1d' : window})`];
}
