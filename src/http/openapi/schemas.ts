import { type TSchema, Type } from 'typebox';
import { OVERRIDE_GROUPS } from '../../client/client-state.ts';
import type { ConditionTrace } from '../../rules/evaluate/trace.ts';
import { OPERATORS } from '../../rules/operators.ts';
import { choice } from '../request/schemas.ts';
import {
  clientGroup,
  count,
  epochMs,
  factValue,
  isBot,
  list,
  location,
  nullable,
  percent,
  ref,
  ruleVersion,
  shape,
  verdict,
  word,
  yesNo,
} from './words.ts';

/** The shapes of all answers. Tests hold them equal to the types of the code and to live answers. */

const paymentScore = Type.String({
  pattern: '^[01]\\.[0-9]{4}$',
  description: 'Empirical probability of successful payment, 4 decimal places; "0.5000" for a new client',
});
const waitSeconds = Type.Integer({ minimum: 1, description: 'Only with WAIT: show a timer, then ask again' });
const stickyRequisiteRef = word('Only with GET_SAME_STICKY: the requisite to show');

/** Contract, section 2.2. */
export const ScoreAnswerSchema = shape('Contract, section 2.2', {
  clientGroup,
  paymentScore,
  isBot,
  preferredAcceptorKey: Type.Optional(list(Type.String(), 'Only for STICKY: the acceptors of the binding')),
  payLimitValue: Type.Optional(
    list(
      Type.String({ pattern: '^[A-Z0-9]{3,4}:[0-9]+(\\.[0-9]+)?$' }),
      'Only when the platform enables scoring limits: the most to be paid at once, by currency, like "EUR:250.00"',
    ),
  ),
});

/** Contract, section 2.4. */
export const VerdictAnswerSchema = shape('Contract, section 2.4', {
  verdict,
  waitSeconds: Type.Optional(waitSeconds),
  stickyRequisiteRef: Type.Optional(stickyRequisiteRef),
  reason: word('For people, free form'),
  ruleVersion,
  isBot,
});

/** RFC 9457 problem details, as every refusal carries them (contract, section 7). */
export const ProblemSchema = shape('RFC 9457 problem details', {
  title: word("The contract's message text, the same for every refusal of its kind"),
  status: Type.Integer({ minimum: 400, maximum: 599, description: 'The HTTP status' }),
  detail: word('What is wrong, and what is allowed'),
  errors: Type.Optional(
    Type.Array(
      shape('One thing that is wrong in the body', {
        pointer: word('RFC 6901 pointer into the body'),
        detail: word('What is wrong there'),
      }),
      { minItems: 1, description: 'Only with 400' },
    ),
  ),
  requestId: word('To quote; leads to the log line'),
});

const ladderMembers = {
  level: count('0 before any wait; otherwise the level last imposed'),
  attemptOpen: yesNo('A requisite was granted and is not paid yet'),
  waitUntil: nullable(epochMs('When the imposed wait is over; null when none is due since the last grant')),
};

export const LadderSchema = shape('Where a client stands on the cooldown ladder', ladderMembers);

export const DecisionSchema = shape('One answered verdict with all that explains it', {
  decisionId: word('As in X-Decision-Id'),
  seq: Type.Integer({ minimum: 1, description: 'Number of the decision among those of this client' }),
  at: epochMs('When'),
  platform: word('Whose client'),
  sellPointKey: word('Point of sale'),
  clientIdKey: word('Client'),
  orderRef: word("The caller's order"),
  requestId: word('As in X-Request-Id'),
  ruleVersion,
  digest: Type.String({ pattern: '^[0-9a-f]{64}$', description: 'SHA-256 over the files of the rule set' }),
  arm: choice(['active', 'candidate'] as const, 'Which rule set of a rollout decided'),
  verdict,
  waitSeconds: Type.Optional(waitSeconds),
  stickyRequisiteRef: Type.Optional(stickyRequisiteRef),
  reason: word('As answered'),
  isBot,
  clientGroup,
  paymentScore,
  rule: word('The rule that gave the verdict, or "otherwise"'),
  signals: list(Type.String(), 'The bot signals that matched'),
  facts: Type.Record(Type.String(), factValue, {
    description: 'The values that the rules saw, by label, like "verdicts(10m)"',
  }),
  ladderBefore: ref('Ladder', LadderSchema),
  ladderAfter: ref('Ladder', LadderSchema),
});

export const DecisionListSchema = shape('Decisions, newest first', {
  decisions: list(ref('Decision', DecisionSchema), 'At most `limit`'),
  lookedAt: shape('How far was looked for them', {
    decisions: count('Decisions that were compared with what is asked for'),
    backTo: nullable(epochMs('The oldest of them; null when there was none')),
    complete: yesNo('Nothing older is kept that could fit; otherwise there may be more before `backTo`'),
  }),
});

/** What a report of an outcome did. */
export const OutcomeResultSchema = shape('What the report did', {
  clientIdKey: word('As reported'),
  orderRef: word('As reported'),
  result: choice(
    ['recorded', 'superseded', 'unchanged', 'stale'] as const,
    'recorded: counted; superseded: corrected an earlier one; unchanged: a repeat; stale: older than what is known',
  ),
});

export const OutcomeLineSchema = Type.Union([
  shape('A line that was taken', {
    line: Type.Integer({ minimum: 1, description: 'Number of the line, from 1' }),
    ...OutcomeResultSchema.properties,
  }),
  shape('A line that was refused; the others are not stopped by it', {
    line: Type.Integer({ minimum: 1, description: 'Number of the line, from 1' }),
    error: word('As the title of a problem'),
    detail: word('What is wrong, and what to do'),
  }),
]);

export const BindingSchema = shape('The requisite that a client is bound to', {
  requisiteRef: word('Answered as stickyRequisiteRef'),
  acceptorKeys: list(Type.String(), 'Answered as preferredAcceptorKey'),
  method: nullable(word('The only method it fits; null: all')),
  expiresAt: nullable(epochMs('When it ends; null: never')),
});

export const OverrideSchema = shape("A person's decision about a client", {
  group: choice(OVERRIDE_GROUPS, 'The group that the client is put into'),
  reason: word('Why'),
  by: word('Who'),
  at: epochMs('When it was made'),
  expiresAt: nullable(epochMs('When it ends; null: never')),
});

export const ClientSchema = shape('What is known of a client', {
  clientIdKey: word('As the caller chose it'),
  ruleVersion,
  clientGroup,
  paymentScore,
  isBot,
  signals: list(Type.String(), 'The bot signals that match now'),
  firstSeenAt: nullable(epochMs('First contact')),
  lastVerdictAt: nullable(epochMs('Last verdict')),
  decisionCount: count('Decisions made'),
  ladder: ref('Ladder', LadderSchema),
  outcomes: shape('Final outcomes, each order counted once', {
    paidCount: count('Paid orders'),
    unpaidCount: count('Unpaid orders'),
    lastPaidAt: nullable(epochMs('Last payment')),
    lastUnpaidAt: nullable(epochMs('Last unpaid order')),
  }),
  binding: nullable(ref('Binding', BindingSchema)),
  override: nullable(ref('Override', OverrideSchema)),
  facts: Type.Record(Type.String(), factValue, { description: 'What the rules would see now, by label' }),
  decisions: list(ref('Decision', DecisionSchema), 'The last ones, newest first'),
});

const passed = yesNo('Whether it holds');
const innerCondition = Type.Unsafe<ConditionTrace>({ $ref: '#/components/schemas/Condition' });

/** A condition with what it saw; holds itself, so its type is that of the code. */
export const ConditionSchema = Type.Unsafe<ConditionTrace>({
  description: 'A condition as the analyst wrote it, with the values it saw',
  oneOf: [
    shape('All or any of several', {
      kind: choice(['all', 'any'] as const, 'Which of the two'),
      passed,
      at: location,
      conditions: list(innerCondition, 'In the order written'),
    }),
    shape('The opposite of another', {
      kind: choice(['not'] as const, 'Always "not"'),
      passed,
      at: location,
      condition: innerCondition,
    }),
    shape('Another by its name', {
      kind: choice(['reference'] as const, 'Always "reference"'),
      name: word('The shared condition'),
      passed,
      at: location,
      condition: innerCondition,
    }),
    shape('A fact compared with a value', {
      kind: choice(['comparison'] as const, 'Always "comparison"'),
      passed,
      at: location,
      fact: word('By label, like "verdicts(10m)"'),
      operator: choice(OPERATORS, "json-rules-engine's"),
      expected: Type.Union([factValue, Type.Array(factValue)]),
      seen: factValue,
    }),
  ],
});

export const RuleTraceSchema = shape('One rule with what it saw', {
  name: word('Of the rule'),
  description: word("The analyst's words"),
  priority: Type.Number({ description: 'Higher is asked first' }),
  at: location,
  gives: Type.Unsafe<string | number>({
    type: ['string', 'number'],
    description: 'What it gives when it matches: a group, a weight, a verdict',
  }),
  asked: yesNo('False behind the first match: the decision did not depend on it'),
  matched: yesNo('Whether its conditions hold, asked or not'),
  condition: ref('Condition', ConditionSchema),
});

const why = word('Why, in a sentence');
const tracedRules = list(ref('RuleTrace', RuleTraceSchema), 'In the order of asking');
const difference = shape('A member that comes out differently', {
  member: word('Of the decision'),
  recorded: Type.Unknown({ description: 'What the record says' }),
  rerun: Type.Unknown({ description: 'What the rules say' }),
});
const ladderInWords = shape('The ladder, also in words', { ...ladderMembers, words: word('For people') });

export const RulesAccountSchema = shape('How the rules came to a verdict', {
  groups: shape('How the group came about', {
    group: clientGroup,
    rule: word('That gave it'),
    why,
    rules: tracedRules,
  }),
  signals: shape('How the bot flag came about', {
    isBot,
    weight: Type.Number({ description: 'Of the matching signals' }),
    threshold: Type.Number({ description: 'A bot from here on' }),
    why,
    rules: tracedRules,
  }),
  verdicts: shape('How the verdict came about', {
    verdict,
    rule: word('That gave it'),
    why,
    rules: tracedRules,
  }),
});

export const ExplanationSchema = shape('Why a decision fell as it did', {
  decision: ref('Decision', DecisionSchema),
  rules: nullable(ref('RulesAccount', RulesAccountSchema)),
  ladder: shape('Before and after', { before: ladderInWords, after: ladderInWords }),
  reproduced: yesNo('Asked again with the recorded facts, the rule set gives this very decision'),
  differences: list(difference, 'Where it does not'),
  verification: word('The same in a sentence'),
});

const arm = shape('What one version answered', {
  verdicts: count('All'),
  blocks: count('BLOCK'),
  waits: count('WAIT'),
  bots: count('isBot true'),
});

export const TrialCountsSchema = shape('What was seen of a trial since it began', {
  trial: word('Names the trial'),
  arms: shape('By version', { active: arm, candidate: arm }),
  shadow: shape('Answers of a shadow compared with those given', {
    compared: count('Verdicts that both decided'),
    different: count('Of these, answered otherwise'),
    differences: list(
      shape('A kind of difference', {
        change: word('Like "WAIT/attempt-unpaid -> BLOCK/bot-blocked"'),
        count: count('How often'),
        sampleOrders: list(Type.String(), 'Some orderRefs to look at'),
      }),
      'By kind',
    ),
  }),
  candidateErrors: count('Decisions for which the candidate threw'),
});

export const NodeSchema = shape('One node, as it reports itself', {
  nodeId: word('New at every start'),
  host: word('Its machine'),
  pid: count('Its process'),
  startedAt: epochMs('Start'),
  seenAt: epochMs('Last report'),
  revision: count('Of the rollout that it follows'),
  versions: list(
    shape('A loaded version', {
      version: word('Like p2.v10'),
      digest: word('Over its files'),
      released: yesNo('False for a draft'),
    }),
    'What it has loaded',
  ),
  refused: list(
    shape('A folder that is not sound', {
      version: ruleVersion,
      problems: list(Type.String(), 'With file, line and column'),
    }),
    'What it refuses',
  ),
  trouble: nullable(word('Why it does not follow the newest revision; null when it does')),
  counts: nullable(ref('TrialCounts', TrialCountsSchema)),
});

export const RolloutSchema = shape('Which version decides', {
  revision: Type.Integer({ minimum: 1, description: 'One more for every change' }),
  active: shape('The version that decides', { version: ruleVersion, digest: word('Over its files') }),
  candidate: nullable(
    shape('A version on trial', {
      version: ruleVersion,
      digest: word('Over its files'),
      mode: choice(['shadow', 'canary'] as const, 'shadow: compared only; canary: decides for `percent`'),
      percent: percent('Of the clients'),
      trial: word('Names the trial'),
      since: epochMs('Start of the trial'),
      guardPoints: nullable(percent('Ends the trial when a share is off by more points than this')),
    }),
  ),
  history: list(
    shape('One change', {
      at: epochMs('When'),
      who: word('Who'),
      action: choice(['start', 'shadow', 'canary', 'active', 'rollback', 'guard'] as const, 'What'),
      from: nullable(ruleVersion),
      to: ruleVersion,
      digest: word('Over the files of `to`'),
      percent: Type.Optional(percent('Only of a canary')),
      reason: word('Why'),
    }),
    'Newest last',
  ),
});

export const RolloutStatusSchema = shape('The rollout and the fleet', {
  rollout: nullable(ref('Rollout', RolloutSchema)),
  nodes: list(ref('Node', NodeSchema), 'Those heard of in the last 10 s'),
  trial: nullable(ref('TrialCounts', TrialCountsSchema)),
});

export const FollowingSchema = shape('A change of the rollout, and who follows it', {
  rollout: ref('Rollout', RolloutSchema),
  following: list(ref('Node', NodeSchema), 'Nodes that follow it'),
  lagging: list(ref('Node', NodeSchema), 'Nodes that do not yet'),
});

export const LivenessSchema = shape('The process runs', { status: choice(['live'] as const, 'Always so') });

export const ReadinessSchema = shape('Whether the process should get traffic', {
  status: choice(['ready', 'not ready'] as const, 'In a word'),
  why: Type.Optional(word('Only when it should not')),
});

/** The names under which a document keeps its schemas. */
export type SchemaName =
  | 'Binding'
  | 'Client'
  | 'Condition'
  | 'Decision'
  | 'DecisionList'
  | 'Explanation'
  | 'Following'
  | 'Ladder'
  | 'Liveness'
  | 'Node'
  | 'OutcomeLine'
  | 'OutcomeResult'
  | 'Override'
  | 'Problem'
  | 'Readiness'
  | 'Rollout'
  | 'RolloutStatus'
  | 'RuleTrace'
  | 'RulesAccount'
  | 'ScoreAnswer'
  | 'TrialCounts'
  | 'VerdictAnswer';

export const ANSWER_SCHEMAS: Readonly<Record<SchemaName, TSchema>> = {
  Binding: BindingSchema,
  Client: ClientSchema,
  Condition: ConditionSchema,
  Decision: DecisionSchema,
  DecisionList: DecisionListSchema,
  Explanation: ExplanationSchema,
  Following: FollowingSchema,
  Ladder: LadderSchema,
  Liveness: LivenessSchema,
  Node: NodeSchema,
  OutcomeLine: OutcomeLineSchema,
  OutcomeResult: OutcomeResultSchema,
  Override: OverrideSchema,
  Problem: ProblemSchema,
  Readiness: ReadinessSchema,
  Rollout: RolloutSchema,
  RolloutStatus: RolloutStatusSchema,
  RuleTrace: RuleTraceSchema,
  RulesAccount: RulesAccountSchema,
  ScoreAnswer: ScoreAnswerSchema,
  TrialCounts: TrialCountsSchema,
  VerdictAnswer: VerdictAnswerSchema,
};
