import { type Condition, namedConditions } from '../../rules/condition.ts';
import type {
  GroupParams,
  Holdout,
  ParsedRules,
  Rule,
  SignalParams,
  VerdictParams,
} from '../../rules/rule-set.ts';
import { changed, type DiffPart, type RuleDifference, valueChange } from './rule-difference.ts';
import {
  ladderDifferences,
  limitDifferences,
  listDifferences,
  platformDifferences,
  settingsDifferences,
} from './settings-diff.ts';
import { conditionChanges, conditionText, plainCondition, reasonText } from './text.ts';

/** Everything in which two rule sets differ, part by part. */
export function diffRuleSets(before: ParsedRules, after: ParsedRules): readonly RuleDifference[] {
  return [
    ...settingsDifferences(before.settings, after.settings, 'settings', ''),
    ...ladderDifferences(before.settings.ladder, after.settings.ladder, 'ladder', ''),
    ...platformDifferences(before, after),
    ...limitDifferences(before, after),
    ...listDifferences(before, after),
    ...new RulesDiff<GroupParams>('groups', groupParams).differences(before.groups.rules, after.groups.rules),
    ...valueChange('groups', 'otherwise', before.groups.otherwise, after.groups.otherwise),
    ...valueChange(
      'bot-signals',
      'threshold',
      String(before.signals.threshold),
      String(after.signals.threshold),
    ),
    ...new RulesDiff<SignalParams>('bot-signals', signalParams).differences(
      before.signals.rules,
      after.signals.rules,
    ),
    ...new RulesDiff<VerdictParams>('verdicts', verdictParams).differences(
      before.verdicts.rules,
      after.verdicts.rules,
    ),
    ...paramChanges(verdictParams(before.verdicts.otherwise), verdictParams(after.verdicts.otherwise)).map(
      (change): RuleDifference => changed('verdicts', 'otherwise', change),
    ),
  ];
}

type Params = Readonly<Record<string, string>>;

function groupParams({ group }: GroupParams): Params {
  return { group };
}

function signalParams({ weight }: SignalParams): Params {
  return { weight: String(weight) };
}

function verdictParams({ verdict, ladder, reason }: VerdictParams): Params {
  const named: Params = ladder === null ? {} : { ladder };
  return { verdict, ...named, reason: JSON.stringify(reasonText(reason)) };
}

function holdoutParams(holdout: Holdout | undefined): Params {
  if (holdout === undefined) return {};
  const share = `${Math.round(holdout.share * 10_000) / 100}%`;
  const bounds = Object.entries(holdout.maxAmounts ?? {}).map(
    ([currency, amount]) => `${amount} ${currency}`,
  );
  return { holdout: bounds.length === 0 ? share : `${share} up to ${bounds.toSorted().join(', ')}` };
}

function paramChanges(before: Params, after: Params): readonly string[] {
  return Object.keys({ ...before, ...after })
    .filter((name) => before[name] !== after[name])
    .map((name) => `${name} ${before[name] ?? 'none'} -> ${after[name] ?? 'none'}`);
}

/** Compares the rules of one file by their names. */
class RulesDiff<P> {
  readonly #part: DiffPart;
  readonly #params: (params: P) => Params;

  constructor(part: DiffPart, params: (params: P) => Params) {
    this.#part = part;
    this.#params = params;
  }

  differences(before: readonly Rule<P>[], after: readonly Rule<P>[]): readonly RuleDifference[] {
    const removed = before.filter(({ name }) => !after.some((rule) => rule.name === name));
    const added = after.filter(({ name }) => !before.some((rule) => rule.name === name));
    const renamed = this.#renamed(removed, added);
    const kept = before.flatMap((was) => {
      const is = after.find(({ name }) => name === was.name);
      return is === undefined ? [] : [[was, is] as const];
    });
    return [
      ...renamed.map(([was, is]) =>
        this.#difference(is.name, 'renamed', `${was.name} is now named ${is.name}`),
      ),
      ...removed
        .filter((rule) => !renamed.some(([was]) => was === rule))
        .map((rule) =>
          this.#difference(rule.name, 'removed', `${rule.name}: removed (${this.#inWords(rule)})`),
        ),
      ...added
        .filter((rule) => !renamed.some(([, is]) => is === rule))
        .map((rule) => this.#difference(rule.name, 'added', `${rule.name}: added (${this.#inWords(rule)})`)),
      ...this.#namedConditions(before, after),
      ...kept.flatMap(([was, is]) => this.#ruleChanges(was, is, sameOrder(kept))),
    ];
  }

  #difference(name: string, kind: RuleDifference['kind'], text: string): RuleDifference {
    return { part: this.#part, name, kind, text };
  }

  #renamed(removed: readonly Rule<P>[], added: readonly Rule<P>[]) {
    return removed.flatMap((was) => {
      const is = added.find((rule) => this.#inWords(rule) === this.#inWords(was));
      return is === undefined ? [] : [[was, is] as const];
    });
  }

  #inWords({ priority, condition, params, holdout }: Rule<P>): string {
    const answer = Object.entries({ ...this.#params(params), ...holdoutParams(holdout) }).map(
      ([name, value]) => `${name} ${value}`,
    );
    const order = this.#part === 'bot-signals' ? [] : [`priority ${priority}`];
    return [...order, `when ${conditionText(condition)}`, ...answer].join('; ');
  }

  #ruleChanges(was: Rule<P>, is: Rule<P>, orderKept: boolean): readonly RuleDifference[] {
    const found: RuleDifference[] = [];
    if (was.priority !== is.priority) {
      const note = orderKept ? ' (the order of the rules stays as it was)' : '';
      const text = `${is.name}: priority ${was.priority} -> ${is.priority}${note}`;
      found.push(this.#difference(is.name, 'reprioritised', text));
    }
    if (conditionText(was.condition) !== conditionText(is.condition)) {
      const changes = conditionChanges(
        plainCondition(was.condition, false),
        plainCondition(is.condition, false),
      );
      found.push(...changes.map((change) => changed(this.#part, is.name, change)));
    }
    const params = paramChanges(
      { ...this.#params(was.params), ...holdoutParams(was.holdout) },
      { ...this.#params(is.params), ...holdoutParams(is.holdout) },
    );
    return [...found, ...params.map((change) => changed(this.#part, is.name, change))];
  }

  /** Conditions that rules share by name; a change in one is reported once, not rule by rule. */
  #namedConditions(before: readonly Rule<P>[], after: readonly Rule<P>[]): readonly RuleDifference[] {
    const was = named(before);
    return [...named(after)].flatMap(([name, condition]) => {
      const old = was.get(name);
      if (old === undefined) return [];
      const changes = conditionChanges(plainCondition(old, false), plainCondition(condition, false));
      return changes.map((change) => changed(this.#part, `condition "${name}"`, change));
    });
  }
}

/** Whether the rules that both have are asked in the same order; before and after are sorted by priority. */
function sameOrder<P>(kept: readonly (readonly [Rule<P>, Rule<P>])[]): boolean {
  return kept.every(([, is], index) => {
    const [, next] = kept[index + 1] ?? [];
    return next === undefined || is.priority > next.priority;
  });
}

function named<P>(rules: readonly Rule<P>[]): ReadonlyMap<string, Condition> {
  return namedConditions(rules.map(({ condition }) => condition));
}
