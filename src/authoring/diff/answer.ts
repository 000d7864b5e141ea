import { type ClientGroup, clientGroup } from '../../client/client-state.ts';
import type { Ladder } from '../../client/ladder.ts';
import { formatPaymentScore, paymentScore } from '../../client/payment-score.ts';
import { type Assessment, conclude } from '../../decision/assess.ts';
import { concludeVerdict } from '../../decision/conclude-verdict.ts';
import { isBot } from '../../decision/decision.ts';
import type { HeldOut } from '../../decision/holdout.ts';
import type { FactValue } from '../../facts/fact.ts';
import { type PlatformSettings, type RuleSet, verdict } from '../../rules/rule-set.ts';
import { count, list, nullable, type Shape, shape, word, yesNo } from '../../shapes.ts';
import { drawLabel } from './both-versions.ts';

/** Everything in which two answers may differ; reasons and names of rules are only for people. */
export const ANSWER_MEMBERS = [
  'verdict',
  'wait',
  'ladder',
  'requisite',
  'group',
  'bot flag',
  'score',
  'limits',
  'held out',
] as const;

export type AnswerMember = (typeof ANSWER_MEMBERS)[number];

export const ASKED_FOR = ['verdict', 'score'] as const;

export type AskedFor = (typeof ASKED_FOR)[number];

export const AnswerSchema = shape('What a version answers to a payer with certain facts', {
  verdict: nullable(verdict),
  rule: nullable(word('That gave the verdict; null of a score')),
  /** After a longer wait it is as long as that. */
  waitSeconds: nullable(count('As the ladder alone has it; null without WAIT')),
  ladder: nullable(word('Where the client stands on it afterwards; null of a score')),
  requisite: yesNo('Whether the bound requisite, or its acceptors, are named'),
  clientGroup,
  isBot,
  paymentScore: word('As scores and records have it'),
  payLimitValue: nullable(list(word('Like EUR:250.00'), 'Of a score; null where answers have none')),
  heldOut: list(word('A rule, and the share of the clients'), 'What kept a rule from applying; of a verdict'),
  text: word('All of this, and all in which it differs from the answer of the other version'),
});

export type Answer = Shape<typeof AnswerSchema>;

/** A version as it answers on one platform. */
export interface AnsweringVersion {
  readonly rules: RuleSet;
  readonly settings: PlatformSettings;
  /** The value of a fact or a draw; undefined where it does not matter. */
  readonly factOf: (label: string) => FactValue | undefined;
}

export interface TwoAnswers {
  readonly before: Answer;
  readonly after: Answer;
  readonly differsIn: readonly AnswerMember[];
}

/** What two versions answer one payer. */
export function twoAnswers(
  askedFor: AskedFor,
  before: AnsweringVersion,
  after: AnsweringVersion,
): TwoAnswers {
  const was = answer(askedFor, before);
  const is = answer(askedFor, after);
  const differsIn = ANSWER_MEMBERS.filter((member) => memberText(was, member) !== memberText(is, member));
  return {
    before: { ...was, text: answerText(was, differsIn) },
    after: { ...is, text: answerText(is, differsIn) },
    differsIn,
  };
}

type Told = Omit<Answer, 'text'>;

function answer(askedFor: AskedFor, version: AnsweringVersion): Told {
  const { rules, factOf } = version;
  const isHeldOut = (rule: string, share: number) => factOf(drawLabel({ rule, share })) === true;
  const values = rules.facts.map(({ label }) => factOf(label) ?? false);
  const isNew = askedFor === 'score' && factOf('isNewClient') === true;
  const assessment = conclude(rules, values, isNew, isHeldOut);
  return askedFor === 'score' ? scored(version, assessment) : decided(version, assessment, isHeldOut);
}

function scored({ rules, settings, factOf }: AnsweringVersion, { clientGroup, isBot }: Assessment): Told {
  return {
    ...{ verdict: null, rule: null, waitSeconds: null, ladder: null, heldOut: [] },
    requisite: clientGroup === 'STICKY' && factOf('hasBinding') === true,
    clientGroup,
    isBot,
    paymentScore: scoreOf(settings, factOf),
    payLimitValue: limitsOf(rules, settings, clientGroup),
  };
}

/** The payLimitValue of a group; null where answers have none. */
export function limitsOf(
  { limits }: Pick<RuleSet, 'limits'>,
  { scoringLimits }: PlatformSettings,
  group: ClientGroup,
): readonly string[] | null {
  return scoringLimits ? (limits.get(group) ?? []) : null;
}

function decided(
  { rules, settings, factOf }: AnsweringVersion,
  assessment: Assessment,
  isHeldOut: (rule: string, share: number) => boolean,
): Told {
  // Without a wait before, the ladder alone gives the length of this one.
  const standing = { ladderBefore: ladderOf(factOf), lastWaitMs: 0, at: 0 };
  const concluded = concludeVerdict(rules, settings, assessment, standing, isHeldOut);
  const { verdict, rule, waitSeconds } = concluded;
  return {
    ...{ verdict, rule, waitSeconds, payLimitValue: null },
    ladder: ladderText(concluded.ladderAfter, concluded.ladder),
    requisite: verdict === 'GET_SAME_STICKY',
    clientGroup: assessment.clientGroup,
    isBot: assessment.isBot,
    paymentScore: scoreOf(settings, factOf),
    heldOut: [...assessment.heldOut, ...concluded.heldOut].map((held: HeldOut) => drawLabel(held)),
  };
}

/** The ladder at the moment 0. */
function ladderOf(factOf: AnsweringVersion['factOf']): Ladder {
  const remainingSeconds = Number(factOf('waitRemainingSeconds') ?? 0);
  const isWaiting = remainingSeconds > 0 || factOf('waitServed') === true;
  return {
    level: Number(factOf('ladderLevel') ?? 0),
    attemptOpen: factOf('attemptOpen') === true,
    waitUntil: isWaiting ? remainingSeconds * 1000 : null,
  };
}

function ladderText({ level, attemptOpen }: Ladder, name: string | null): string {
  return `level ${level}${name === null ? '' : ` of the ladder ${name}`}${attemptOpen ? ' with an attempt open' : ''}`;
}

function scoreOf({ smoothing }: PlatformSettings, factOf: AnsweringVersion['factOf']): string {
  const [paid, unpaid] = [Number(factOf('paidCount') ?? 0), Number(factOf('unpaidCount') ?? 0)];
  return formatPaymentScore(paymentScore(paid, paid + unpaid, smoothing));
}

function memberText(told: Told, member: AnswerMember): string {
  switch (member) {
    case 'verdict':
      return told.verdict ?? 'no verdict';
    case 'wait':
      return told.waitSeconds === null ? 'no wait' : `${told.waitSeconds} s`;
    case 'ladder':
      return told.ladder ?? 'no ladder';
    case 'requisite':
      return told.requisite ? 'the bound requisite' : 'no bound requisite';
    case 'group':
      return told.clientGroup;
    case 'bot flag':
      return told.isBot ? 'a bot' : 'no bot';
    case 'score':
      return `score ${told.paymentScore}`;
    case 'limits':
      return told.payLimitValue === null ? 'no limits' : `limits ${told.payLimitValue.join(' ') || 'none'}`;
    case 'held out':
      return told.heldOut.join(', ') || 'not held out';
    default:
      return member satisfies never;
  }
}

function answerText(told: Told, differsIn: readonly AnswerMember[]): string {
  const { verdict, rule, waitSeconds } = told;
  const wait = waitSeconds === null ? '' : ` ${memberText(told, 'wait')}`;
  // A verdict tells by itself whether a requisite is shown, and two verdicts where each leaves the ladder.
  const said: readonly AnswerMember[] = [
    ...(verdict === null ? [] : (['requisite'] as const)),
    ...(differsIn.includes('verdict') ? (['ladder'] as const) : []),
  ];
  const more = (['ladder', 'score', 'limits', 'requisite', 'held out'] as const).filter(
    (member) => differsIn.includes(member) && !said.includes(member),
  );
  return [
    ...(verdict === null ? [] : [`${verdict}${wait} by ${rule}`]),
    ...(['group', 'bot flag', ...more] as const).map((member) => memberText(told, member)),
  ].join(', ');
}
