import { circumstantialFacts } from '../../decision/assess.ts';
import { type Decision, DecisionSchema } from '../../decision/decision.ts';
import type { FactDomain, FactValue } from '../../facts/fact.ts';
import { type RuleSet, ruleVersion } from '../../rules/rule-set.ts';
import { list, named, nullable, type Shape, shape, text, word } from '../../shapes.ts';
import { explain, RulesAccountSchema } from './explain.ts';

/** Values to take instead of what a client shows, by label. */
export type SupposedFacts = Readonly<Record<string, FactValue>>;

const ANSWERED = {
  version: ruleVersion,
  digest: word('Over its files'),
  rules: nullable(RulesAccountSchema),
};

/** The decision has the form of a record; nothing is recorded. */
export const WhatIfAnswerSchema = shape('What a version would answer', {
  ...ANSWERED,
  decision: DecisionSchema,
});

export type WhatIfAnswer = Shape<typeof WhatIfAnswerSchema>;

/** What a version would answer instead of `decision` if these facts were so. */
export async function whatIf(
  rules: RuleSet,
  decision: Decision,
  facts: SupposedFacts,
): Promise<WhatIfAnswer> {
  const own = Object.entries(facts).filter(([label]) => label in decision.facts);
  const supposed = own.length === 0 ? decision : suppose(decision, Object.fromEntries(own));
  const { rules: account, differences } = await explain(rules, supposed);
  // Where the supposed facts lead elsewhere, the explanation says what comes out instead.
  const concluded = differences.filter(({ member }) => member.startsWith('facts.'));
  const others = differences.filter((difference) => !concluded.includes(difference));
  return {
    version: rules.version,
    digest: rules.digest,
    decision: withoutStrays({
      ...supposed,
      ...Object.fromEntries(others.map(({ member, rerun }) => [member, rerun])),
      facts: {
        ...supposed.facts,
        ...Object.fromEntries(concluded.map(({ member, rerun }) => [member.slice('facts.'.length), rerun])),
      },
    }),
    rules: account,
  };
}

export const WhatIfThenSchema = named(
  'DecisionWhatIf',
  shape('What another version would have answered then', {
    ...ANSWERED,
    /** Null where the record lacks facts for it. */
    decision: nullable(DecisionSchema),
    missing: list(text(256, 'A fact by label'), 'What the version asks and the record does not hold'),
  }),
);

export type WhatIfThen = Shape<typeof WhatIfThenSchema>;

/** What a version would have answered then: on the recorded facts, with the ladder as it was. */
export async function whatIfThen(rules: RuleSet, decision: Decision): Promise<WhatIfThen> {
  const { version, digest } = rules;
  const facts = { ...decision.facts, ...circumstantialFacts(rules, decision) };
  const missing = rules.facts
    .filter(({ label, fact }) => fact.kind !== 'concluded' && facts[label] === undefined)
    .map(({ label }) => label);
  if (missing.length > 0) return { version, digest, missing, decision: null, rules: null };
  const asked = { ...decision, facts, ruleVersion: version, digest };
  return { ...(await whatIf(rules, asked, {})), missing };
}

/** Without what the decision would not have: a wait without WAIT, a requisite without GET_SAME_STICKY. */
function withoutStrays(decision: Readonly<Record<string, unknown>>): Decision {
  const left = Object.fromEntries(
    Object.entries(decision).filter(
      ([member, value]) =>
        value !== null && (member !== 'stickyRequisiteRef' || decision['verdict'] === 'GET_SAME_STICKY'),
    ),
  );
  if (isWhole(left)) return left;
  throw new Error('a version that was asked again gave no whole decision');
}

/** The new question has the members of a decision; only optional ones are removed. */
function isWhole(decision: object): decision is Decision {
  return (DecisionSchema.required ?? []).every((member) => Object.hasOwn(decision, member));
}

/** The decision with these facts, and with the ladder that they speak of, so that the next wait follows from it. */
export function suppose(decision: Decision, own: SupposedFacts): Decision {
  const facts = { ...decision.facts, ...own };
  const { ladderBefore, at } = decision;
  const level = facts['ladderLevel'];
  const open = facts['attemptOpen'];
  const remaining = facts['waitRemainingSeconds'];
  const waitUntil =
    typeof remaining === 'number' && remaining > 0
      ? at + remaining * 1000
      : facts['waitServed'] === true
        ? at
        : null;
  return {
    ...decision,
    facts,
    ladderBefore: {
      level: typeof level === 'number' ? level : ladderBefore.level,
      attemptOpen: typeof open === 'boolean' ? open : ladderBefore.attemptOpen,
      waitUntil: remaining === undefined ? ladderBefore.waitUntil : waitUntil,
    },
  };
}

/** A supposed value that its fact cannot have. */
export interface UnfitFact {
  readonly label: string;
  /** `must be true or false`. */
  readonly allowed: string;
}

/** The first supposed value that its fact cannot have; null when all fit. Labels that no rule asks for are ignored. */
export function unfitFact(rules: RuleSet, facts: SupposedFacts): UnfitFact | null {
  for (const { label, fact } of rules.facts) {
    const value = facts[label];
    const allowed = value === undefined ? null : whyNot(value, fact.domain);
    if (allowed !== null) return { label, allowed };
  }
  return null;
}

function whyNot(value: FactValue, domain: FactDomain): string | null {
  switch (domain.type) {
    case 'number':
      return typeof value === 'number' && value >= domain.min && value <= domain.max
        ? null
        : `must be a number from ${domain.min} to ${domain.max}`;
    case 'boolean':
      return typeof value === 'boolean' ? null : 'must be true or false';
    case 'enum':
      return typeof value === 'string' && domain.values.includes(value)
        ? null
        : `must be one of ${domain.values.join(', ')}`;
    case 'text':
      return typeof value === 'string' ? null : 'must be a text';
    default:
      return domain satisfies never;
  }
}
