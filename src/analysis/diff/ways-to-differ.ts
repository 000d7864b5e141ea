import { OTHERWISE } from '../../decision/decision.ts';
import type { Condition } from '../../rules/condition.ts';
import { compare } from '../../rules/proof/facts-by-name.ts';
import type { ParsedRules, Rule } from '../../rules/rule-set.ts';
import type { BothVersions } from './both-versions.ts';
import { conditionText } from './text.ts';

/** Whether there is a payer who is answered differently in one way. */
export interface WayToDiffer {
  /** `wayText` of what the two versions say. */
  readonly way: string;
  readonly must: readonly Condition[];
  readonly mustNot: readonly Condition[];
}

/** Names one way of being answered differently. */
export function wayText(what: 'verdict' | 'group' | 'bot', before: string, after: string): string {
  return `${what} ${before} -> ${after}`;
}

/**
 * Every way in which two versions may answer one payer differently: by another rule with another verdict,
 * in another group, as a bot or not.
 */
export function* waysToDiffer({ before, after }: BothVersions): Generator<WayToDiffer> {
  yield* questions(
    firstMatches(before.verdicts.rules, ({ verdict }) => verdict, before.verdicts.otherwise.verdict),
    firstMatches(after.verdicts.rules, ({ verdict }) => verdict, after.verdicts.otherwise.verdict),
    (was, is) => wayText('verdict', was.name, is.name),
  );
  yield* questions(
    firstMatches(before.groups.rules, ({ group }) => group, before.groups.otherwise),
    firstMatches(after.groups.rules, ({ group }) => group, after.groups.otherwise),
    (was, is) => wayText('group', was.gives, is.gives),
  );
  for (const wasBot of [false, true]) {
    const must = [botIs(before, wasBot), botIs(after, !wasBot)];
    yield { way: wayText('bot', String(wasBot), String(!wasBot)), must, mustNot: [] };
  }
}

/** A rule, or `otherwise`, that is the first to match: when it matches and none before it does. */
interface FirstMatch {
  readonly name: string;
  readonly gives: string;
  readonly must: readonly Condition[];
  readonly mustNot: readonly Condition[];
}

function firstMatches<Params>(
  rules: readonly Rule<Params>[],
  gives: (params: Params) => string,
  otherwise: string,
): readonly FirstMatch[] {
  const conditions = rules.map(({ condition }) => condition);
  return [
    ...rules.map(({ name, condition, params }, index) => ({
      name,
      gives: gives(params),
      must: [condition],
      mustNot: conditions.slice(0, index),
    })),
    { name: OTHERWISE, gives: otherwise, must: [], mustNot: conditions },
  ];
}

function* questions(
  before: readonly FirstMatch[],
  after: readonly FirstMatch[],
  way: (was: FirstMatch, is: FirstMatch) => string,
): Generator<WayToDiffer> {
  for (const was of before) {
    for (const is of after) {
      if (was.gives === is.gives || excludes(was, is) || excludes(is, was)) continue;
      yield { way: way(was, is), must: [...was.must, ...is.must], mustNot: [...was.mustNot, ...is.mustNot] };
    }
  }
}

/** What one demands is among what the other rules out: so it mostly is between versions that differ in little. */
function excludes({ must }: FirstMatch, { mustNot }: FirstMatch): boolean {
  const texts = new Set(mustNot.map(conditionText));
  return must.some((condition) => texts.has(conditionText(condition)));
}

function botIs({ facts }: ParsedRules, wanted: boolean): Condition {
  const isBot = facts.find(({ name }) => name === 'isBot');
  if (isBot === undefined) throw new Error('every rule set has the fact isBot');
  return compare(isBot, 'equal', wanted);
}
