import { digestText, list, named, nullable, shape, text, type ValueOf } from '#base/shapes.ts';
import { type Decision, DecisionSchema } from '#decision/decision.ts';
import { replayHoldouts } from '#decision/holdout.ts';
import { listLackingLabels, redecide } from '#decision/redecision.ts';
import { type RuleSet, ruleVersionSchema } from '#decision/rules/rule-set.ts';
import { explainByRules, RulesTraceSchema } from './explain.ts';

export const OtherVersionAnswerSchema = named(
  'DecisionWhatIf',
  shape('What another version would have answered', {
    version: ruleVersionSchema,
    digest: digestText('Digest of its files'),
    rules: nullable(RulesTraceSchema),
    /** Null if the record lacks facts that the version needs. */
    decision: nullable(DecisionSchema),
    missing: list(
      text(256, 'A fact by label'),
      'What the version asks and the record does not hold; of a pseudonym, that it is kept under another SIGNAL_SECRET',
    ),
  }),
);

export type OtherVersionAnswer = ValueOf<typeof OtherVersionAnswerSchema>;

/** Answers what a version would have decided then, on the recorded facts and with the ladder as it was. */
export async function answerByOtherVersion(rules: RuleSet, decision: Decision): Promise<OtherVersionAnswer> {
  const { version, digest } = rules;
  const again = redecide(rules, decision, replayHoldouts(decision.holdout));
  const missing =
    again.kind === 'decided' ? again.missingQuotedFacts.map(({ label }) => label) : listLackingLabels(again);
  if (again.kind !== 'decided' || missing.length > 0)
    return { version, digest, missing, decision: null, rules: null };
  const { facts } = again;
  const asked = { ...decision, facts, ruleVersion: version, digest };
  const { rules: account, differences } = await explainByRules(rules, asked);
  // If the rules conclude something else, the explanation lists the new values.
  const concluded = differences.filter(({ member }) => member.startsWith('facts.'));
  const others = differences.filter((difference) => !concluded.includes(difference));
  return {
    version,
    digest,
    decision: removeStrays({
      ...asked,
      ...Object.fromEntries(others.map(({ member, rerun }) => [member, rerun])),
      facts: {
        ...facts,
        ...Object.fromEntries(concluded.map(({ member, rerun }) => [member.slice('facts.'.length), rerun])),
      },
    }),
    rules: account,
    missing,
  };
}

/** Removes members that the decision would not have: a wait without WAIT, and a requisite without GET_SAME_STICKY. */
function removeStrays(decision: Readonly<Record<string, unknown>>): Decision {
  const left = Object.fromEntries(
    Object.entries(decision).filter(
      ([member, value]) =>
        value !== null && (member !== 'stickyRequisiteRef' || decision['verdict'] === 'GET_SAME_STICKY'),
    ),
  );
  if (isWhole(left)) return left;
  throw new Error('a version that was asked again gave no whole decision');
}

/** Tells whether all required members are present. Only optional members are removed. */
function isWhole(decision: object): decision is Decision {
  return (DecisionSchema.required ?? []).every((member) => Object.hasOwn(decision, member));
}
