import { createHmac } from 'node:crypto';
import { Type } from '#base/json-schema.ts';
import { plainText, shape, type ValueOf, yesNo } from '#base/shapes.ts';
import type { NullableFactValue } from './facts/fact.ts';
import { type ClientKey, toClientNumberText } from './payer/client-key.ts';
import type { FactRef } from './rules/condition.ts';
import type { Holdout, ParsedRules, Rule, RuleSet } from './rules/rule-set.ts';

export const DrawnHoldoutSchema = shape(
  'A rule with a holdout that was reached and matched, and what was drawn',
  {
    rule: plainText('Its file and name, like "groups/blocked-by-unpaid-chain"'),
    share: Type.Number({ description: 'The share of the clients that the rule held out, from 0 to 1' }),
    heldOut: yesNo('It was skipped: the client is held out of it. Otherwise it applied'),
  },
);

/** The draw of a client for one rule. */
export type DrawnHoldout = ValueOf<typeof DrawnHoldoutSchema>;

/** Lists the rules that were skipped. */
export function selectSkippedHoldouts(drawn: readonly DrawnHoldout[] = []): readonly DrawnHoldout[] {
  return drawn.filter(({ heldOut }) => heldOut);
}

/** Tells whether a client is held out of a rule with this share. `rule` is like `groups/blocked-by-unpaid-chain`. */
export type IsHeldOut = (rule: string, share: number) => boolean;

export const NOBODY_HELD_OUT: IsHeldOut = () => false;

/** Draws from which rules a client is held out. `at` is the time in epoch ms. */
export type DrawHoldouts = (client: Pick<ClientKey, 'hash'>, at: number) => IsHeldOut;

export const NO_HOLDOUTS: DrawHoldouts = () => NOBODY_HELD_OUT;

/** How long the draw of a client stays the same. */
export const HOLDOUT_PERIOD_MS = 30 * 24 * 3600_000;

/**
 * Creates a draw from an HMAC-SHA256 under the fleet's secret. The draw of a client stays the same for 30 days. Draws
 * for different rules are independent. A payer can neither guess nor influence a draw. The periods of different
 * clients begin at different times. The draw uses only the number in the client's hash, because the archive has that
 * number, too.
 */
export function createHoldoutDraw(secret: string): DrawHoldouts {
  return (client, at) => (rule, share) => {
    const number = toClientNumberText(client.hash);
    const offsetMs = Number(BigInt(number) % BigInt(HOLDOUT_PERIOD_MS));
    const period = Math.floor((at + offsetMs) / HOLDOUT_PERIOD_MS);
    const drawn = createHmac('sha256', secret).update(`holdout\0${period}\0${rule}\0${number}`).digest();
    return drawn.readUIntBE(0, 6) / 2 ** 48 < share;
  };
}

/** Lists the rules with a holdout by file and name, each with the share of clients that are held out of it. */
export function mapHoldoutShares({ groups, signals, verdicts }: ParsedRules): ReadonlyMap<string, number> {
  const files: Readonly<Record<HoldoutRuleFileName, readonly Rule<unknown>[]>> = {
    groups: groups.rules,
    'bot-signals': signals.rules,
    verdicts: verdicts.rules,
  };
  return new Map(
    Object.entries(files).flatMap(([file, rules]) =>
      rules.flatMap(({ name, holdout }) =>
        holdout === undefined ? [] : [[`${file}/${name}`, holdout.share] as const],
      ),
    ),
  );
}

/** Repeats the holdouts that were recorded with a decision. */
export function replayHoldouts(drawn: readonly DrawnHoldout[] = []): IsHeldOut {
  const rules = new Set(selectSkippedHoldouts(drawn).map(({ rule }) => rule));
  return (rule) => rules.has(rule);
}

/** The rule files whose rules may have a holdout. */
export type HoldoutRuleFileName = 'groups' | 'bot-signals' | 'verdicts';

/** Collects the draws of one decision. */
export class HoldoutCollector {
  readonly drawnHoldouts: DrawnHoldout[] = [];
  readonly #rules: RuleSet;
  readonly #isHeldOut: IsHeldOut;

  constructor(rules: RuleSet, isHeldOut: IsHeldOut) {
    this.#rules = rules;
    this.#isHeldOut = isHeldOut;
  }

  /** Tells whether a rule that matches these values is skipped, and notes the draw in either case. */
  isSkipped(
    file: HoldoutRuleFileName,
    { name, holdout }: Rule<unknown>,
    values: readonly NullableFactValue[],
  ): boolean {
    if (holdout === undefined || !mayBeHeldOut(this.#rules, holdout, values)) return false;
    const rule = `${file}/${name}`;
    const heldOut = this.#isHeldOut(rule, holdout.share);
    this.drawnHoldouts.push({ rule, share: holdout.share, heldOut });
    return heldOut;
  }
}

/** Lists the holdouts of all rules. */
export function listHoldouts({ groups, signals, verdicts }: ParsedRules): readonly Holdout[] {
  return [...groups.rules, ...signals.rules, ...verdicts.rules].flatMap(({ holdout = [] }) => holdout);
}

/** Lists the facts that `mayBeHeldOut` reads. The list is empty when no rule has a holdout. */
export function listHoldoutFacts(rules: RuleSet): readonly FactRef[] {
  const holdouts = listHoldouts(rules);
  if (holdouts.length === 0) return [];
  const ofAmounts = holdouts.some(({ maxAmounts }) => maxAmounts !== null) ? ['currency', 'amount'] : [];
  const names = ['overrideGroup', ...ofAmounts];
  return rules.facts.filter(({ name, fact }) => fact.kind === 'listed' || names.includes(name));
}

/**
 * Whether a holdout may apply. It never applies to a client who has an override or is on a shared list, and never
 * above the amount that the rule allows.
 */
function mayBeHeldOut(
  { facts }: RuleSet,
  { maxAmounts }: Holdout,
  values: readonly NullableFactValue[],
): boolean {
  const seen = (name: string) => values[facts.find((ref) => ref.name === name)?.index ?? -1];
  if (seen('overrideGroup') !== 'NONE') return false;
  if (facts.some(({ fact, index }) => fact.kind === 'listed' && values[index] === true)) return false;
  if (maxAmounts === null) return true;
  const most = maxAmounts[String(seen('currency'))];
  return most !== undefined && Number(seen('amount')) <= most;
}
