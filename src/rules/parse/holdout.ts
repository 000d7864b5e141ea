import type { Node } from 'yaml';
import { comparisonsIn } from '../condition.ts';
import type { Problem } from '../problem.ts';
import { compare, FactsByName } from '../proof/facts-by-name.ts';
import { Reasoner, type WorkLimits } from '../proof/reasoner.ts';
import { type KnownRules, knowledgeOf } from '../proof/relations.ts';
import type { Holdout, ParsedRules, Rule } from '../rule-set.ts';
import { checkCurrency, checkDecimal } from './money.ts';
import type { Members, YamlFile } from './yaml-file.ts';

/** `2%`, `0.5%`: at most two digits on either side of the point. */
export const HOLDOUT_PATTERN = '^(0|[1-9][0-9]?)(\\.[0-9]{1,2})?%$';

const HOLDOUT = new RegExp(HOLDOUT_PATTERN);

/** Of the clients, at most so many may do without a rule: the others pay for what is learnt from them. */
const HOLDOUT_SHARE_MAX = 0.5;

/** What the refusal of holdouts may cost at loading, in steps of proof. */
const REFUSAL_LIMITS: WorkLimits = { questionStepsMax: 200_000, totalStepsMax: 1_000_000 };

/** Reads `holdout` and `holdoutMaxAmount` of a rule; undefined when it has none, null when they are not sound. */
export function readHoldout(file: YamlFile, members: Members): Holdout | null | undefined {
  const holdout = members.get('holdout');
  const maxAmount = members.get('holdoutMaxAmount');
  if (holdout === undefined) {
    if (maxAmount === undefined) return undefined;
    return file.report(
      maxAmount.key,
      'holdoutMaxAmount bounds a holdout, and the rule has none; add holdout: 2%',
    );
  }
  const share = readShare(file, holdout.value);
  const maxAmounts = maxAmount === undefined ? {} : readMaxAmounts(file, maxAmount.value);
  if (share === null || maxAmounts === null) return null;
  return { share, maxAmounts: maxAmount === undefined ? null : maxAmounts, at: file.at(holdout.key) };
}

function readShare(file: YamlFile, node: Node): number | null {
  const text = file.text(node, 'holdout');
  if (text === null) return null;
  const share = HOLDOUT.test(text) ? Math.round(Number(text.slice(0, -1)) * 100) / 10_000 : 0;
  if (share > 0 && share <= HOLDOUT_SHARE_MAX) return share;
  return file.report(
    node,
    `holdout must be a share of the clients above 0% and up to ${HOLDOUT_SHARE_MAX * 100}%, like 2% or 0.5%, not "${text}"`,
  );
}

function readMaxAmounts(file: YamlFile, node: Node): Readonly<Record<string, number>> | null {
  const amounts = file.anyMembers(node, 'holdoutMaxAmount');
  if (amounts === null) return null;
  const read: Record<string, number> = {};
  for (const [currency, { key, value }] of amounts) {
    if (!checkCurrency(file, key, currency)) return null;
    const name = `holdoutMaxAmount in ${currency}`;
    const amount = file.text(value, name);
    if (amount === null || !checkDecimal(file, value, name, amount)) return null;
    read[currency] = Number(amount);
  }
  if (amounts.size > 0) return read;
  return file.report(
    node,
    'holdoutMaxAmount names no currency; write the most in each, like { EUR: "100.00" }',
  );
}

/**
 * A rule that only matches clients whom a person decided about, or who are on a list, repeats what people decided. Nobody is
 * held out of that.
 */
export function refuseHoldouts(rules: KnownRules & Pick<ParsedRules, 'verdicts'>): readonly Problem[] {
  const refuse = (some: readonly Rule<unknown>[], moment: 'any request' | 'a verdict') => {
    const holding = some.filter(({ holdout }) => holdout !== undefined);
    if (holding.length === 0) return [];
    const reasoner = new Reasoner(knowledgeOf(rules, moment), REFUSAL_LIMITS);
    return holding.flatMap((rule) => whyNoHoldout(rule, rules, reasoner));
  };
  return [
    ...refuse([...rules.groups.rules, ...rules.signals.rules], 'any request'),
    ...refuse(rules.verdicts.rules, 'a verdict'),
  ];
}

function whyNoHoldout(
  { name, condition, holdout }: Rule<unknown>,
  { facts }: KnownRules,
  reasoner: Reasoner,
): readonly Problem[] {
  if (holdout === undefined) return [];
  const byName = new FactsByName(facts);
  const undecided = compare(byName.plain('overrideGroup'), 'equal', 'NONE');
  const unlisted = facts
    .filter(({ fact }) => fact.kind === 'listed')
    .map((ref) => compare(ref, 'equal', false));
  const named = comparisonsIn([condition]).filter(
    ({ list, operator }) => list !== undefined && operator === 'in',
  );
  if (reasoner.find([condition]).kind === 'none') return [];
  if (reasoner.find([condition, undecided, ...unlisted], named).kind !== 'none') return [];
  const message = `"${name}" may have no holdout: it only matches whom a person decided about or who is on a list; put the holdout on the rule that counts`;
  return [{ at: holdout.at, message }];
}
