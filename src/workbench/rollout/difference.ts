import { DAY_MS } from '#base/duration.ts';
import { searchThrottle } from '#base/work/step-throttle.ts';
import { AccessKeys } from '#checkout/access/access-keys.ts';
import { getTrialStage } from '#checkout/rollout/guard.ts';
import type { Candidate } from '#checkout/rollout/rollout.ts';
import { computeTrialStageFigures, readTrialCounts } from '#checkout/rollout/trial-counts.ts';
import { isAttempt } from '#decision/conclude-verdict.ts';
import type { Decision } from '#decision/decision.ts';
import { VERDICTS } from '#decision/decision-words.ts';
import { replayHoldouts } from '#decision/holdout.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import { createRedecider, listLackingLabels } from '#decision/redecision.ts';
import type { RuleSet } from '#decision/rules/rule-set.ts';
import type { Store, Tallies } from '#state/store.ts';

/** How the answers of a version differ from those of the active one, for the person who decides about the version. */
export interface AnswerComparisonTexts {
  /**
   * Why the version answers very differently from the active one, one sentence for each reason. Empty if it does not.
   */
  readonly largeDifferences: readonly string[];
  readonly comparison: string;
}

/** Reads a platform's newest decisions since a time (epoch ms). */
export type ReadRecentDecisions = (
  platform: PlatformName,
  from: number,
  limit: number,
) => Promise<readonly Decision[]>;

/** The sources for comparing versions: the store with its access keys and trial counts, and the recent decisions. */
export interface ComparisonSources {
  readonly store: Pick<Store, 'documents' | 'tallies'>;
  readonly decidedLately: ReadRecentDecisions;
}

/**
 * The share of compared payers above which a difference is large. A change of thresholds moves a few payers, and a
 * mistake moves most.
 */
const SHARE_MAX = 0.1;
/** The fewest compared payers from which a share is computed. */
const PAYERS_MIN = 20;
const DECISIONS_MAX = 5_000;
const DECISIONS_OF_PLATFORM_MAX = 1_000;
const DECISIONS_OF_PLATFORM_MIN = 100;

/**
 * The counts of a platform's payers by the answers that the active version gave, and by the answers that the other
 * version would have given.
 */
interface PlatformDifference {
  readonly platform: string;
  readonly letPay: number;
  readonly heldBack: number;
  readonly turned: Readonly<Record<'BLOCK' | 'WAIT' | 'let', number>>;
  /** How many payers cannot be compared, because their records lack facts that the version asks for. */
  readonly incomparable: number;
  readonly missing: readonly string[];
}

/**
 * Compares a version with the active one. It compares the last answer to each payer within the last day, and the
 * results so far if the version is a shadow.
 */
export async function compareWithActive(
  on: ComparisonSources,
  rules: RuleSet,
  active: RuleSet | null,
  candidate: Candidate | null,
  now: number,
): Promise<AnswerComparisonTexts> {
  const platforms = await comparePlatforms(on, rules, now);
  const { verdict } = rules.verdicts.otherwise;
  const closes = !isAttempt(verdict) && verdict !== active?.verdicts.otherwise.verdict;
  const largeDifferences = [
    ...(closes ? [`its verdicts end with otherwise: ${verdict}, unlike those of the active version`] : []),
    ...platforms.filter(isMuch).map(differenceSentence),
  ];
  const shadow = await readShadowFigures(on.store.tallies, rules, candidate);
  if (shadow === null) largeDifferences.push(...platforms.filter(isIncomparable).map(incomparableSentence));
  else if (shadow.otherwise > SHARE_MAX * shadow.compared) largeDifferences.push(shadowSentence(shadow));
  return { largeDifferences, comparison: comparedSentence(platforms, shadow) };
}

async function comparePlatforms(
  { store, decidedLately }: ComparisonSources,
  rules: RuleSet,
  now: number,
): Promise<readonly PlatformDifference[]> {
  const keys = await new AccessKeys(store.documents, () => now).list();
  const names = [
    ...new Set(keys.filter(({ operations }) => operations.includes('verdict')).map((key) => key.platform)),
  ];
  const share = Math.floor(DECISIONS_MAX / Math.max(1, names.length));
  const limit = Math.min(DECISIONS_OF_PLATFORM_MAX, Math.max(DECISIONS_OF_PLATFORM_MIN, share));
  const compared: PlatformDifference[] = [];
  for (const name of names) {
    compared.push(await comparePlatform(name, rules, await decidedLately(name, now - DAY_MS, limit)));
  }
  return compared.filter(({ letPay, heldBack }) => letPay + heldBack > 0);
}

async function comparePlatform(
  platform: string,
  rules: RuleSet,
  decisions: readonly Decision[],
): Promise<PlatformDifference> {
  const payers = findLastOfEachPayer(decisions.filter(({ arm }) => arm === 'active'));
  const missing = new Set<string>();
  const redecide = createRedecider(rules);
  const statuses = await searchThrottle.mapInSteps(payers, async (some) =>
    some.map((decision) => {
      // A client who was held out of a rule at that decision is held out of it here, too.
      const again = redecide(decision, replayHoldouts(decision.holdout));
      if (again.kind !== 'decided') {
        for (const label of listLackingLabels(again)) missing.add(label);
        return 'incomparable';
      }
      const then = again.concluded.verdict;
      if (isAttempt(then) === isAttempt(decision.verdict)) return 'same';
      return then === 'BLOCK' || then === 'WAIT' ? then : 'let';
    }),
  );
  const times = (status: (typeof statuses)[number]) => statuses.filter((one) => one === status).length;
  const letPay = payers.filter(({ verdict }) => isAttempt(verdict)).length;
  return {
    platform,
    letPay,
    heldBack: payers.length - letPay,
    turned: { BLOCK: times('BLOCK'), WAIT: times('WAIT'), let: times('let') },
    incomparable: times('incomparable'),
    missing: [...missing].toSorted(),
  };
}

/** Returns the newest decision about each payer. The decisions must be sorted, the newest first. */
function findLastOfEachPayer(decisions: readonly Decision[]): readonly Decision[] {
  const last = new Map<string, Decision>();
  for (const decision of decisions)
    if (!last.has(decision.clientIdKey)) last.set(decision.clientIdKey, decision);
  return [...last.values()];
}

function isMuch({ letPay, heldBack, turned, incomparable }: PlatformDifference): boolean {
  const payers = letPay + heldBack - incomparable;
  return payers >= PAYERS_MIN && turned.BLOCK + turned.WAIT + turned.let > SHARE_MAX * payers;
}

function isIncomparable({ letPay, heldBack, incomparable }: PlatformDifference): boolean {
  return incomparable >= PAYERS_MIN && incomparable > (letPay + heldBack) / 2;
}

function incomparableSentence({ platform, missing }: PlatformDifference): string {
  return `it cannot be compared on ${platform}, where recent decisions did not record ${missing.join(', ')}; bring it to shadow first`;
}

function differenceSentence({ platform, letPay, heldBack, turned }: PlatformDifference): string {
  const away = (['BLOCK', 'WAIT'] as const)
    .filter((verdict) => turned[verdict] > 0)
    .map(
      (verdict) =>
        `${verdict} ${formatFigure(turned[verdict])} of ${formatFigure(letPay)} recent payers of ${platform} whom the active version let pay`,
    );
  const back =
    turned.let === 0
      ? []
      : [`let ${formatFigure(turned.let)} of ${formatFigure(heldBack)} pay whom it held back`];
  return `it would ${[...away, ...back].join(', and ')}`;
}

/**
 * The result of a shadow: how often it would have let a payer pay whom the active version held back, or the other way
 * round.
 */
interface ShadowFigures {
  readonly compared: number;
  readonly otherwise: number;
  /** The most frequent of these changes of an answer. Null if there is no change. */
  readonly most: string | null;
}

/**
 * Reads the results of the version's shadow so far. Returns null if the version is not a shadow, or has answered too
 * few requests.
 */
async function readShadowFigures(
  tallies: Tallies,
  { version, digest }: RuleSet,
  candidate: Candidate | null,
): Promise<ShadowFigures | null> {
  if (candidate?.mode !== 'shadow' || candidate.version !== version || candidate.digest !== digest)
    return null;
  const counts = await readTrialCounts(tallies, getTrialStage(candidate).trial);
  const { compared, differences } = computeTrialStageFigures(counts, null).shadow;
  if (compared < PAYERS_MIN) return null;
  const others = differences.filter(
    ({ change }) => letsPay(change) !== letsPay(change.split(' -> ')[1] ?? ''),
  );
  const otherwise = others.reduce((sum, { count }) => sum + count, 0);
  return { compared, otherwise, most: others[0]?.change ?? null };
}

/** Tells whether an answer lets the payer pay. Answers in a trial have the form `GET_NEW/rule`. */
function letsPay(answer: string): boolean {
  return VERDICTS.some((verdict) => answer.startsWith(`${verdict}/`) && isAttempt(verdict));
}

function shadowSentence({ compared, otherwise, most }: ShadowFigures): string {
  const mostly = most === null ? '' : `, most often ${most}`;
  return `as a shadow it would have let through or held back ${formatFigure(otherwise)} of ${formatFigure(compared)} differently${mostly}`;
}

function comparedSentence(platforms: readonly PlatformDifference[], shadow: ShadowFigures | null): string {
  const sum = (of: (platform: PlatformDifference) => number) =>
    platforms.reduce((total, platform) => total + of(platform), 0);
  const payers = sum(({ letPay, heldBack }) => letPay + heldBack);
  const seen = shadow === null ? '' : `; ${shadowSentence(shadow)}`;
  if (payers === 0) return `nobody, because no payer asked for a verdict in the last day${seen}`;
  const others = sum(({ turned }) => turned.BLOCK + turned.WAIT + turned.let);
  return `${formatFigure(payers)} payers of the last day, of whom ${formatFigure(others)} would be let through or held back differently${seen}`;
}

function formatFigure(count: number): string {
  return count.toLocaleString('en-US');
}
