import type { Duck } from '../../archive/duck.ts';
import { isGrant } from '../../decision/conclude-verdict.ts';
import { NO_HOLDOUTS } from '../../decision/holdout.ts';
import type { ScoreRequest } from '../../decision/requests.ts';
import type { RuleFiles } from '../../rules/parse/parse.ts';
import { PRIORITY_MAX } from '../../rules/parse/rules.ts';
import type { RuleSet } from '../../rules/rule-set.ts';
import { type Input, inputsOf } from '../backtest/input.ts';
import { Lives } from '../backtest/lives.ts';
import type { FoundCondition, FoundRule, OrderPlace } from './rule-search.ts';

/** The name of a suggested rule, which no rule of the version has. */
export function freeNames(rules: RuleSet, count: number): readonly string[] {
  const taken = new Set(rules.verdicts.rules.map(({ name }) => name));
  const names: string[] = [];
  for (let number = 1; names.length < count; number++)
    if (!taken.has(`suggested-${number}`)) names.push(`suggested-${number}`);
  return names;
}

/**
 * Free priorities right above every rule that does not block, so that what is suggested comes before them, and
 * as far as possible after the rules that block already: orders which these stop stay theirs.
 */
export function freePriorities(rules: RuleSet, count: number): readonly number[] {
  const taken = new Set(rules.verdicts.rules.map(({ priority }) => priority));
  const others = rules.verdicts.rules.filter(
    ({ params }) => isGrant(params.verdict) || params.verdict === 'WAIT',
  );
  const above = Math.max(0, ...others.map(({ priority }) => priority));
  const free: number[] = [];
  for (let priority = above + 1; free.length < count && priority <= PRIORITY_MAX; priority++)
    if (!taken.has(priority)) free.push(priority);
  return free.toReversed();
}

export interface SuggestedRule {
  readonly kind: 'rule';
  readonly name: string;
  readonly priority: number;
  readonly description: string;
  readonly rule: FoundRule;
}

/** The files with further rules at the beginning of verdicts.yaml; all else stays as it is. */
export function withRules(files: RuleFiles, rules: readonly SuggestedRule[]): RuleFiles {
  const text = files.get('verdicts.yaml') ?? '';
  // The first item of the list, with the comments right above it left where they are.
  const first = /^rules:[^\n]*\n(?:[ \t]*(?:#[^\n]*)?\n)*([ \t]*)-/m.exec(text);
  if (first === null) return files;
  const [head, indent = ''] = first;
  const at = first.index + head.length - indent.length - 1;
  const added = rules.map((rule) => yamlOf(rule, indent)).join('\n');
  return new Map([...files, ['verdicts.yaml', `${text.slice(0, at)}${added}\n${text.slice(at)}`]]);
}

function yamlOf({ name, priority, description, rule }: SuggestedRule, indent: string): string {
  const lines = [
    `- name: ${name}`,
    '  description: >-',
    `    ${description}`,
    `  priority: ${priority}`,
    '  conditions:',
    '    all:',
    // A person's decision outweighs what was found in counts.
    '      - { fact: overrideGroup, operator: notEqual, value: TRUSTED }',
    ...rule.conditions.map((condition) => `      - ${conditionYaml(condition)}`),
    '  event:',
    '    type: verdict',
    '    params: { verdict: BLOCK, reason: "Payers who came here like this hardly ever paid." }',
  ];
  return `${lines.map((line) => indent + line).join('\n')}\n`;
}

function conditionYaml({ label, operator, value, isFlag }: FoundCondition): string {
  const [, fact = label, window] = /^(\w+)(?:\((.+)\))?$/.exec(label) ?? [];
  const params = window === undefined ? '' : `params: { window: ${window} }, `;
  return `{ fact: ${fact}, ${params}operator: ${operator}, value: ${isFlag ? value === 1 : value} }`;
}

/** A longer history is no use as an example. */
const STEPS_MAX = 30;

/** The text of one case: what a real payer did until a rule blocked it, under other names. */
export interface ExampleCase {
  readonly name: string;
  readonly steps: number;
  readonly yaml: string;
}

interface CaseOfRule {
  readonly name: string;
  /** The rule that must block. */
  readonly rule: string;
  readonly rules: RuleSet;
}

/**
 * What the client of an order did up to it, as a case that expects the rule to block it, without outcomes of orders
 * that the version would have granted nothing for. Every identifier is replaced
 * by one that is made up, equal ones by equal ones. Null when the history is too long for a case.
 */
export async function exampleCase(
  duck: Duck,
  { clientHash, at }: OrderPlace,
  { name, rule, rules }: CaseOfRule,
): Promise<ExampleCase | null> {
  const where = `client_hash = ${clientHash} AND "at" <= ${at}`;
  const inputs: Input[] = [];
  for await (const some of inputsOf(duck, where)) inputs.push(...some);
  const last = inputs.findLastIndex((input) => input.kind === 'verdict' && input.at === at);
  const history = asGranted(inputs.slice(0, last + 1), rules);
  if (last === -1 || history.length > STEPS_MAX) return null;
  const names = new MadeUpNames();
  const steps = history.map((input, place) => {
    const afterSeconds = Math.round((input.at - (history[place - 1]?.at ?? input.at)) / 1000);
    return {
      ...(afterSeconds === 0 ? {} : { after: `${afterSeconds}s` }),
      ...actionOf(input, names),
      ...(place === history.length - 1 ? { expect: { verdict: 'BLOCK', rule } } : {}),
    };
  });
  const lines = steps.map((step) => `      - ${JSON.stringify(step)}`);
  const yaml = `  - name: ${JSON.stringify(name)}\n    steps:\n${lines.join('\n')}`;
  return { name, steps: steps.length, yaml };
}

/** Without outcomes of orders that the version does not grant: nobody can pay, or fail to pay, what was not shown. */
function asGranted(inputs: readonly Input[], rules: RuleSet): readonly Input[] {
  const lives = new Lives([{ rulesOf: () => rules, outcomes: 'granted' }], () => rules, NO_HOLDOUTS);
  const granted = new Map<string, boolean>();
  return inputs.filter((input) => {
    if (input.kind === 'outcome' && granted.get(input.orderRef) === false) return false;
    const [answer] = lives.live(input) ?? [];
    if (input.kind === 'verdict' && answer !== undefined)
      granted.set(input.orderRef, granted.get(input.orderRef) === true || isGrant(answer.verdict));
    return true;
  });
}

function actionOf(input: Input, names: MadeUpNames): Readonly<Record<string, unknown>> {
  switch (input.kind) {
    case 'score':
      return { score: scoreStep(input.request, names) };
    case 'verdict':
      return {
        verdict: {
          sellPointKey: names.of('shop', input.sellPointKey),
          method: names.of('method', input.method),
          amountRequested: input.amount,
          toPayCurrency: input.currency,
          orderRef: names.of('order', input.orderRef),
        },
      };
    case 'outcome': {
      const { outcome, cause } = input.order;
      return { outcome: withoutNulls({ orderRef: names.of('order', input.orderRef), outcome, cause }) };
    }
    case 'binding':
      return {
        binding:
          input.binding === null ? null : { requisiteRef: 'requisite-1', acceptorKeys: ['acceptor-1'] },
      };
    case 'override':
      return { override: input.override?.group ?? null };
    default:
      return input satisfies never;
  }
}

function scoreStep(request: ScoreRequest, names: MadeUpNames): Readonly<Record<string, unknown>> {
  const { sellPointKey, method, amount, currency, fingerprint, ip, jsOk, honeypotTriggered } = request;
  const clientHints = withoutNulls({ jsOk, honeypotTriggered: honeypotTriggered || null });
  return withoutNulls({
    sellPointKey: names.of('shop', sellPointKey),
    selectedMethodKey: names.of('method', method),
    amountRequested: amount,
    toPayCurrency: currency,
    fingerprint: fingerprint === null ? null : names.of('device', fingerprint),
    ip: ip === null ? null : names.address(ip),
    clientHints: Object.keys(clientHints).length === 0 ? null : clientHints,
  });
}

function withoutNulls(members: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
}

class MadeUpNames {
  readonly #known = new Map<string, string>();
  readonly #counts = new Map<string, number>();

  of(kind: string, name: string): string {
    const key = `${kind} ${name}`;
    return this.#known.getOrInsertComputed(key, () => `${kind}-${this.#next(kind)}`);
  }

  /** Of the block that is kept for examples (RFC 5737). */
  address(name: string): string {
    return this.of('ip', name).replace('ip-', '192.0.2.');
  }

  #next(kind: string): number {
    const count = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, count);
    return count;
  }
}
