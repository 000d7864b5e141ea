import { Type } from '#base/json-schema.ts';
import * as s from '#base/shapes.ts';
import type { ARMS } from './decision-words.ts';
import { type NullableFactValue, nullableFactValueSchema } from './facts/fact.ts';
import { DrawnHoldoutSchema } from './holdout.ts';
import { createPlatformSchema, DECISION_ID_PATTERN } from './payer/client-key.ts';
import { clientGroupSchema } from './payer/client-state.ts';
import { LadderSchema } from './payer/ladder.ts';
import { NOT_KNOWN_TEXT } from './rules/condition.ts';
import {
  type AnswerPlaceholder,
  DIGEST_PATTERN,
  type RuleVersion,
  ruleVersionSchema,
  verdictSchema,
} from './rules/rule-set.ts';

/** Which rule set of a rollout decided. */
export type Arm = (typeof ARMS)[number];

/**
 * The objective of a trial, which says by what the trial is judged, as JSON text. Each decision of a trial keeps the
 * objective with which the trial began.
 */
export const objectiveTextSchema = s.plainText(
  'The objective by which a trial is judged: the members that were stated when it began, as a JSON object; absent if lasting money alone counts',
);

/** The draw of a client for a trial in which each version decides for a share of the clients. */
const DrawSchema = s.shape('The draw of the client in a trial', {
  version: Type.Unsafe<RuleVersion>(ruleVersionSchema),
  percent: Type.Number({ minimum: 0, maximum: 100, description: 'The chance of that draw, in percent' }),
  since: s.epochMs('The time since which the trial has these shares'),
  objective: Type.Optional(objectiveTextSchema),
});

export type TrialDraw = s.ValueOf<typeof DrawSchema>;

export const isBotSchema = s.withExample(s.yesNo('Bot flag'), false);

/** The name of the rule in a decision for which no rule matched. */
export const OTHERWISE = 'otherwise';

export const paymentScoreSchema = s.withExample(
  Type.String({
    pattern: '^[01]\\.[0-9]{4}$',
    description: 'Empirical probability of successful payment, 4 decimal places; "0.5000" for a new client',
  }),
  '0.5000',
);
export const waitSecondsSchema = Type.Integer({
  minimum: 1,
  description: 'Only with WAIT: show a timer, then ask again',
});
export const stickyRequisiteRefSchema = s.plainText('Only with GET_SAME_STICKY: the requisite to show');

/**
 * Everything that is recorded of a decision. The type, the stored row, the columns of the archive, the shape in the
 * API documents and the client library's record are made from this list. A new member is added here and filled in
 * `decideVerdict`.
 */
const RECORDED = {
  seq: Type.Integer({
    minimum: 1,
    description: 'Number of the decision among those of this client, from 1 and without gaps',
  }),
  at: s.epochMs('When it was decided'),
  platform: createPlatformSchema('Whose client'),
  sellPointKey: s.plainText('Point of sale', 'shop-1'),
  clientIdKey: s.plainText('Client', 'ann'),
  orderRef: s.plainText("The caller's order", 'order-1'),
  requestId: s.plainText('As in X-Request-Id and in the log', '0b9bfa1e-3a1c-4d5c-9f0e-5d2f8f6f3c11'),
  ruleVersion: Type.Unsafe<RuleVersion>(ruleVersionSchema),
  digest: s.withExample(
    Type.String({ pattern: DIGEST_PATTERN, description: 'SHA-256 over the files of the rule set' }),
    s.DIGEST_EXAMPLE,
  ),
  arm: s.describedChoice<Arm>(
    { active: 'the version that decides for all others', candidate: 'the one on trial' },
    'Which rule set of a rollout decided',
  ),
  draw: Type.Optional(DrawSchema),
  verdict: verdictSchema,
  waitSeconds: Type.Optional(waitSecondsSchema),
  ladder: Type.Optional(
    s.plainText(
      'The named ladder that the wait is of; absent without WAIT, and on the ladder without a name',
    ),
  ),
  waitFloorMs: Type.Optional(
    s.count('How long the wait before was, ms, where the ladder would have given a shorter one'),
  ),
  stickyRequisiteRef: Type.Optional(stickyRequisiteRefSchema),
  reason: s.plainText('As answered', 'No reason to hold the payer back.'),
  isBot: isBotSchema,
  clientGroup: clientGroupSchema,
  paymentScore: paymentScoreSchema,
  rule: s.plainText('The rule that gave the verdict, or "otherwise"', 'otherwise'),
  signals: s.list(Type.String(), 'The bot signals that matched'),
  flags: Type.Optional(
    s.list(Type.String(), 'What flags.yaml marks the request with, for people; absent without a flag'),
  ),
  facts: s.withExample(
    Type.Record(nullableFactValueSchema, {
      description:
        'The values that the rules saw, by label, like "verdicts(10m)"; null where none was known. A fact that is not there was not asked for',
    }),
    { paidCount: 0, clientGroup: 'NEW', 'verdicts(10m)': 1 },
  ),
  holdout: Type.Optional(
    s.list(DrawnHoldoutSchema, 'Rules that may be skipped, and matched; absent without one'),
  ),
  ladderBefore: LadderSchema,
  ladderAfter: LadderSchema,
};

/** A decision without its id. The id follows from the client, the number and the time. */
export const RecordedDecisionSchema = s.shape('One answered verdict with all that explains it', RECORDED);

/** A recorded decision. It contains no fingerprint, IP or User-Agent, only the facts about them. */
export const DecisionSchema = s.named(
  'Decision',
  s.shape('One answered verdict with all that explains it', {
    decisionId: s.withExample(
      Type.String({ pattern: DECISION_ID_PATTERN, description: 'As in X-Decision-Id' }),
      'gU2xN0cVq3b1T7mZk9Lw4q.1.mwq8lds0',
    ),
    ...RECORDED,
  }),
);

export const DECISION_MEMBER_NAMES = s.listMemberNames(DecisionSchema);

export type Decision = s.ValueOf<typeof DecisionSchema>;

/** The verdict answer of the interface (section 2.4), and nothing else. */
export type VerdictAnswer = Pick<
  Decision,
  'verdict' | 'waitSeconds' | 'stickyRequisiteRef' | 'reason' | 'ruleVersion' | 'isBot'
>;

export function toVerdictAnswer(decision: Decision): VerdictAnswer {
  const { verdict, waitSeconds, stickyRequisiteRef, reason, ruleVersion, isBot } = decision;
  return {
    verdict,
    ...(waitSeconds === undefined ? {} : { waitSeconds }),
    ...(stickyRequisiteRef === undefined ? {} : { stickyRequisiteRef }),
    reason,
    ruleVersion,
    isBot,
  };
}

/** The score answer of the interface, section 2.2. */
export const ScoreAnswerSchema = s.named(
  'ScoreAnswer',
  s.shape('The answer to a score request (interface, section 2.2)', {
    clientGroup: clientGroupSchema,
    paymentScore: paymentScoreSchema,
    isBot: isBotSchema,
    preferredAcceptorKey: Type.Optional(
      s.list(Type.String(), 'Only for STICKY: the acceptors of the binding'),
    ),
    payLimitValue: Type.Optional(
      s.list(
        Type.String({ pattern: '^[A-Z0-9]{3,4}:[0-9]+(\\.[0-9]+)?$' }),
        'Only when the platform enables scoring limits: the most to be paid at once, by currency, like "EUR:250.00"',
      ),
    ),
  }),
);

export type ScoreAnswer = s.ValueOf<typeof ScoreAnswerSchema>;

/** A part of a reason text, with the members that rendering needs. */
export type RenderableReasonPart =
  | { readonly kind: 'words'; readonly words: string }
  | { readonly kind: 'fact'; readonly fact: { readonly index: number } }
  | { readonly kind: 'answer'; readonly name: AnswerPlaceholder };

/** Renders the text of a reason. Values of facts and of the answer replace its placeholders. */
export function formatReason(
  parts: readonly RenderableReasonPart[],
  values: readonly NullableFactValue[],
  answer: Readonly<Record<AnswerPlaceholder, number>>,
): string {
  return parts.map((part) => renderPart(part, values, answer)).join('');
}

/** Renders the value of a fact. */
function formatReading(value: NullableFactValue): string {
  return value === null ? NOT_KNOWN_TEXT : String(value);
}

function renderPart(
  part: RenderableReasonPart,
  values: readonly NullableFactValue[],
  answer: Readonly<Record<AnswerPlaceholder, number>>,
): string {
  switch (part.kind) {
    case 'words':
      return part.words;
    case 'fact':
      return formatReading(values[part.fact.index] ?? null);
    case 'answer':
      return String(answer[part.name]);
    default:
      return part satisfies never;
  }
}
