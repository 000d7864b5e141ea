import { YES_NO } from '../../facts/fact.ts';
import type { Condition } from '../../rules/condition.ts';
import { allOf, anyOf, compare, FactsByName, implies, inner, not } from '../../rules/proof/facts-by-name.ts';
import type { Holdout, ParsedRules, Rule } from '../../rules/rule-set.ts';

/** A rule set in which each holdout is a part of its rule's condition: the rule matches nobody who is held out. */
export interface RulesWithDraws {
  readonly rules: ParsedRules;
  /** By `drawLabel`: when a rule matches and is skipped, which the record says. */
  readonly skipped: ReadonlyMap<string, Condition>;
  readonly draws: readonly Draw[];
}

/** One draw: who is held out of a rule, named like `groups/has-paid`, that a share of the clients is held out of. */
interface Draw {
  readonly rule: string;
  readonly share: number;
}

/** How the fact that a client is held out of a rule is called. */
export function drawLabel({ rule, share }: Draw): string {
  return `held out of ${rule} (${Math.round(share * 10_000) / 100}%)`;
}

/** Who is held out of a rule becomes a fact of its own, called by `drawLabel`. */
export function withDraws(rules: ParsedRules): RulesWithDraws {
  const skipped = new Map<string, Condition>();
  const draws: Draw[] = [];
  const drawn = <Params>({ holdout, ...rule }: Rule<Params>, file: string, earlier: readonly Condition[]) => {
    if (holdout === undefined) return rule;
    const draw = { rule: `${file}/${rule.name}`, share: holdout.share };
    const skips = allOf(isDrawn(draw), ...mayBeHeldOut(rules, holdout));
    draws.push(draw);
    skipped.set(drawLabel(draw), allOf(rule.condition, skips, ...earlier.map(not)));
    return { ...rule, condition: allOf(rule.condition, not(skips)) };
  };
  const firstOf = <Params>(some: readonly Rule<Params>[], file: string) => {
    const before: Rule<Params>[] = [];
    for (const rule of some)
      before.push(
        drawn(
          rule,
          file,
          before.map(({ condition }) => condition),
        ),
      );
    return before;
  };
  const { groups, signals, verdicts } = rules;
  return {
    rules: {
      ...rules,
      groups: { ...groups, rules: firstOf(groups.rules, 'groups') },
      signals: { ...signals, rules: signals.rules.map((rule) => drawn(rule, 'bot-signals', [])) },
      verdicts: { ...verdicts, rules: firstOf(verdicts.rules, 'verdicts') },
    },
    skipped,
    draws,
  };
}

/** Who is held out of a rule for a small share of the clients is so for a larger share, too: it is one draw. */
export function drawsTogether(draws: readonly Draw[]): readonly Condition[] {
  return draws.flatMap((one) =>
    draws
      .filter(({ rule, share }) => rule === one.rule && share > one.share)
      .map((larger) => implies(isDrawn(one), isDrawn(larger))),
  );
}

function isDrawn(draw: Draw): Condition {
  return compare(inner(drawLabel(draw), YES_NO), 'equal', true);
}

/** Never a client whom a person decided about or who is on a shared list, and never for more than the rule allows. */
function mayBeHeldOut({ facts }: ParsedRules, { maxAmounts }: Holdout): readonly Condition[] {
  const known = new FactsByName(facts);
  const bounds = Object.entries(maxAmounts ?? {}).map(([currency, most]) =>
    allOf(known.is('currency', currency), compare(known.plain('amount'), 'lessThanInclusive', most)),
  );
  return [
    known.is('overrideGroup', 'NONE'),
    ...facts.filter(({ fact }) => fact.kind === 'listed').map((ref) => compare(ref, 'equal', false)),
    ...(maxAmounts === null ? [] : [anyOf(...bounds)]),
  ];
}
