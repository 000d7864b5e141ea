import { isDeepStrictEqual } from 'node:util';
import {
  type Condition,
  type FactRef,
  type FoldOf,
  factsNamed,
  foldCondition,
} from '../../rules/condition.ts';
import { definitionsOf } from '../../rules/proof/definitions.ts';
import { type Knowledge, knowledgeOf, scoreRelation } from '../../rules/proof/relations.ts';
import type { ParsedRules, Rule, SignalParams } from '../../rules/rule-set.ts';
import { conditionText } from './text.ts';

/** The rules of two versions over the facts of one payer, as proofs can be asked about them. */
export interface BothVersions {
  readonly before: ParsedRules;
  /** What it concludes differently from the version before is a fact with another label here. */
  readonly after: ParsedRules;
  /** How a fact of the version after is called here. */
  readonly labelAfter: (label: string) => string;
  /** What certainly holds at a verdict, on a platform that has nothing of its own. */
  readonly knowledge: Knowledge;
  /** The facts that conditions of either version compare, without what rules conclude. */
  readonly asked: readonly FactRef[];
}

/**
 * Lays two versions over each other. What both compute alike is one fact; what they compute differently,
 * such as the payment score under another smoothing, gets a label of its own for the version after.
 */
export function layOver(before: ParsedRules, after: ParsedRules): BothVersions {
  const base = onAnyPlatform(before);
  const apart = new FactsApart(` in ${after.version}`);
  const own = apart.relabel(base, onAnyPlatform(after));
  const facts = new Map([...base.facts, ...own.facts].map((ref) => [ref.label, ref]));
  const settings = settingsOfBoth(before, after);
  const shared = knowledgeOf({ ...base, facts: [...facts.values()], settings }, 'a verdict');
  const defined = new Set(shared.definitions.map(({ of }) => of.label));
  const definitions = definitionsOf(own).filter(({ of }) => !defined.has(of.label));
  const relations = apart.has('paymentScore') ? [scoreRelation(own)] : [];
  const labels = new Map(after.facts.map((ref) => [ref.label, apart.relabelled(ref).label]));
  const asked = factsNamed([...conditionsOf(before), ...conditionsOf(after)]);
  return {
    before: base,
    after: own,
    labelAfter: (label) => labels.get(label) ?? label,
    knowledge: {
      conditions: shared.conditions,
      relations: [...shared.relations, ...relations],
      definitions: [...shared.definitions, ...definitions],
    },
    asked: asked.filter(({ fact }) => fact.kind !== 'concluded'),
  };
}

/** The facts that the version after computes differently, as far as the files show it. */
class FactsApart {
  readonly #suffix: string;
  readonly #names = new Set<string>();

  constructor(suffix: string) {
    this.#suffix = suffix;
  }

  has(name: string): boolean {
    return this.#names.has(name);
  }

  relabelled(ref: FactRef): FactRef {
    return this.has(ref.name) ? { ...ref, label: `${ref.label}${this.#suffix}` } : ref;
  }

  /** The rules of the version after, in which each conclusion asks for those before it by their new labels. */
  relabel(before: ParsedRules, after: ParsedRules): ParsedRules {
    const [was, is] = [before.settings.smoothing, after.settings.smoothing];
    if (was.prior !== is.prior || was.weight !== is.weight) this.#names.add('paymentScore');
    const groups = { ...after.groups, rules: after.groups.rules.map((rule) => this.#within(rule)) };
    if (ordered(before.groups) !== ordered(groups)) this.#names.add('clientGroup');
    const signals = this.#signals(before, after);
    const weights = (rules: readonly Rule<SignalParams>[]) =>
      rules.map(({ name, params }) => `${name} ${params.weight}`).toSorted();
    if (!isDeepStrictEqual(weights(before.signals.rules), weights(signals.rules)))
      this.#names.add('botWeight');
    if (this.has('botWeight') || before.signals.threshold !== signals.threshold) this.#names.add('isBot');
    const verdicts = { ...after.verdicts, rules: after.verdicts.rules.map((rule) => this.#within(rule)) };
    return { ...after, facts: after.facts.map((ref) => this.relabelled(ref)), groups, signals, verdicts };
  }

  /** A signal that matches in other cases than its namesake gets a name of its own. */
  #signals(before: ParsedRules, after: ParsedRules): ParsedRules['signals'] {
    const texts = new Map(
      before.signals.rules.map(({ name, condition }) => [name, conditionText(condition)]),
    );
    const rules = after.signals.rules.map((rule) => {
      const relabelled = this.#within(rule);
      const same = texts.get(rule.name) === conditionText(relabelled.condition);
      return same ? relabelled : { ...relabelled, name: `${rule.name}${this.#suffix}` };
    });
    return { ...after.signals, rules };
  }

  #within<Params>(rule: Rule<Params>): Rule<Params> {
    const relabelling: FoldOf<Condition> = {
      group: (kind, conditions, { at }) => ({ kind, conditions, at }),
      not: (part, { at }) => ({ kind: 'not', condition: part, at }),
      reference: (name, part, { at }) => ({ kind: 'reference', name, condition: part, at }),
      comparison: (comparison) => ({ ...comparison, fact: this.relabelled(comparison.fact) }),
    };
    return { ...rule, condition: foldCondition(rule.condition, relabelling) };
  }
}

/** Equal where two lists of groups conclude the same by their form. */
function ordered({ rules, otherwise }: ParsedRules['groups']): string {
  return JSON.stringify([
    ...rules.map(({ condition, params }) => [conditionText(condition), params.group]),
    otherwise,
  ]);
}

function conditionsOf({ groups, signals, verdicts }: ParsedRules): readonly Condition[] {
  return [...groups.rules, ...signals.rules, ...verdicts.rules].map(({ condition }) => condition);
}

/** What platforms have of their own is left out: examples are payers of a platform that has nothing. */
function onAnyPlatform(rules: ParsedRules): ParsedRules {
  return { ...rules, platforms: new Map() };
}

/** Only what both versions forget alike is a fact of both. */
function settingsOfBoth({ settings }: ParsedRules, after: ParsedRules): ParsedRules['settings'] {
  const resetAfterMs = Math.min(settings.ladder.resetAfterMs, after.settings.ladder.resetAfterMs);
  return { ...settings, ladder: { ...settings.ladder, resetAfterMs } };
}
