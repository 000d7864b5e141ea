import { assessFromFactValues, chooseVerdictRule } from '#decision/assess.ts';
import { decideVerdict } from '#decision/decide.ts';
import { encodeDecision, getRecordDictionary } from '#decision/decision-record.ts';
import type { FactValue } from '#decision/facts/fact.ts';
import { compileRuleSet } from '#decision/rules/evaluate/compile.ts';
import { parseRuleSet } from '#decision/rules/parse/parse.ts';
import { formatProblem } from '#decision/rules/problem.ts';
import type { RuleSet } from '#decision/rules/rule-set.ts';
import { readRuleFiles } from '#state/rule-folders/rule-folder.ts';
import { currentRules, RULES_FOLDER } from '../../../test/service/current-rules.ts';
import {
  computeMedian,
  computeMedianRatio,
  createFigureMaker,
  type Figure,
  type FigureTarget,
} from '../figure.ts';
import type { BenchPlan } from '../plan.ts';
import { SAMPLE_REQUEST, SAMPLE_STANDING } from '../sample.ts';

const figure = createFigureMaker('rules');

/** The number of rules in a large rule set. */
const RULES = 30;
const SAMPLES = 9;
const BATCH = 64;

/** Measures the CPU us of a decision with `RULES` rules, compiled and in json-rules-engine, in turn. */
export async function measureRules({ sampleMs }: BenchPlan): Promise<readonly Figure[]> {
  const { compiledMicros, engineMicros } = await compare(RULES, sampleMs);
  return [
    figure(
      `${RULES} rules, json-rules-engine / compiled`,
      computeMedianRatio(engineMicros, compiledMicros),
      'x',
    ),
    figure(`${RULES} rules, compiled`, computeMedian(compiledMicros), 'us', { atMost: 3 }),
    figure(`${RULES} rules, json-rules-engine`, computeMedian(engineMicros), 'us'),
    ...measureWhole(sampleMs),
  ];
}

async function compare(size: number, sampleMs: number) {
  const rules = createBenchRuleSet(size);
  const values = valuesFor(rules);
  const run = () => rules.engines.verdicts.evaluateRules(values);
  if ([...(await run()).values()].includes(true) || chooseVerdictRule(rules, values).rule !== 'otherwise') {
    throw new Error('a rule matched, so that not all rules were evaluated and the times mean nothing');
  }
  const compiledMicros: number[] = [];
  const engineMicros: number[] = [];
  for (let sample = 0; sample < SAMPLES; sample++) {
    compiledMicros.push(timeOf(() => chooseVerdictRule(rules, values), sampleMs));
    engineMicros.push(await timeOfRuns(run, sampleMs));
  }
  return { compiledMicros, engineMicros };
}

/** Measures today's rule set: its rules alone, a whole decision without a store, and the record of a decision. */
function measureWhole(sampleMs: number): readonly Figure[] {
  const rules = currentRules();
  const { groups, signals, verdicts } = rules;
  const count = groups.rules.length + signals.rules.length + verdicts.rules.length;
  const decide = () => decideVerdict(rules, SAMPLE_STANDING, SAMPLE_REQUEST);
  const { decision } = decide();
  const shape = getRecordDictionary(rules);
  const record = () => encodeDecision(decision, shape);
  const facts = Object.values(decision.facts);
  const judge = () => chooseVerdictRule(rules, assessFromFactValues(rules, facts, false).values);
  const medianOf = (work: () => unknown) =>
    computeMedian(Array.from({ length: SAMPLES }, () => timeOf(work, sampleMs)));
  const timed = (name: string, work: () => unknown, target?: FigureTarget) =>
    figure(`${rules.version}: ${name}`, medianOf(work), 'us', target);
  return [
    timed(`its ${count} rules`, judge),
    timed('a whole decision', decide, { atMost: 5 }),
    timed('the record of a decision', record, { atMost: 2 }),
  ];
}

/** Creates a rule set with `size` verdict rules, each of which fails only in its last comparison. */
export function createBenchRuleSet(size: number): RuleSet {
  const files = readRuleFiles(RULES_FOLDER, []);
  if (files === null) throw new Error(`${RULES_FOLDER} is missing`);
  const result = parseRuleSet('p2.v10', new Map([...files, ['verdicts.yaml', verdictsYaml(size)]]));
  if (!result.ok) throw new Error(result.problems.map(formatProblem).join('\n'));
  return compileRuleSet(result.rules, 'bench', false);
}

function verdictsYaml(size: number): string {
  const rules = Array.from({ length: size }, (_, index) => {
    const conditions = [
      `{ fact: amount, operator: greaterThanInclusive, value: ${index % 20} }`,
      '{ fact: method, operator: in, value: [card, wallet, transfer] }',
      `{ fact: paidCount, operator: greaterThan, value: ${100 + index} }`,
    ];
    return `  - name: rule-${index}
    description: Made for the bench.
    priority: ${index + 1}
    conditions: { all: [ ${conditions.join(', ')} ] }
    event: { type: verdict, params: { verdict: BLOCK, reason: Made for the bench. } }`;
  });
  return `rules:\n${rules.join('\n')}\notherwise: { verdict: GET_NEW, reason: No rule matched. }\n`;
}

function valuesFor(rules: RuleSet): readonly FactValue[] {
  const known: Readonly<Record<string, FactValue>> = { amount: 25, method: 'card', paidCount: 3 };
  return rules.facts.map(({ name }) => known[name] ?? 0);
}

/** Returns the mean CPU us of one call. The calls go on for about `sampleMs`. */
function timeOf(work: () => unknown, sampleMs: number): number {
  const start = process.threadCpuUsage();
  let calls = 0;
  for (; microsSince(start) < sampleMs * 1000; calls += BATCH)
    for (let index = 0; index < BATCH; index++) work();
  return microsSince(start) / calls;
}

async function timeOfRuns(work: () => Promise<unknown>, sampleMs: number): Promise<number> {
  const start = process.threadCpuUsage();
  let calls = 0;
  for (; microsSince(start) < sampleMs * 1000; calls++) await work();
  return microsSince(start) / calls;
}

function microsSince(start: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(start);
  return user + system;
}
