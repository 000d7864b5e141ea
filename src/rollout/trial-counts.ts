import type { PlatformName } from '../client/client-key.ts';
import type { StageMark } from '../client/client-state.ts';
import type { Arm, Decision } from '../decision/decision.ts';
import {
  type ArmCounts,
  addCounts,
  type ClientFate,
  countsOf,
  countsOfClient,
  countsOfFate,
  NO_COUNTS,
} from './arm-counts.ts';

/** A kind of difference between the active version and its shadow, with decisions to look at. */
export interface TrialDifference {
  /** `WAIT/attempt-unpaid -> BLOCK/bot-blocked` */
  readonly change: string;
  readonly count: number;
  /** Only ids: the order is read from its decision, so that it is gone as soon as its client is erased. */
  readonly sampleDecisions: readonly string[];
}

/** What was seen of a trial on one platform, or on all together. */
export interface TrialFigures {
  readonly arms: Readonly<Record<Arm, ArmCounts>>;
  readonly shadow: {
    readonly compared: number;
    readonly different: number;
    readonly differences: readonly TrialDifference[];
  };
  /** Decisions for which the candidate threw and the active version stepped in. */
  readonly candidateErrors: number;
}

/** What was seen of a stage of a trial, platform by platform. */
export interface TrialCounts {
  /** Names the trial, its mode and its share of the clients: each is counted from zero. */
  readonly trial: string;
  readonly platforms: Readonly<Record<string, TrialFigures>>;
}

const DIFFERENCES_MAX = 50;
const SAMPLES_MAX = 5;

/** Further platforms are counted together under one name. */
const PLATFORMS_MAX = 100;
const LEFT_OVER = '';

const NO_FIGURES: TrialFigures = {
  arms: { active: NO_COUNTS, candidate: NO_COUNTS },
  shadow: { compared: 0, different: 0, differences: [] },
  candidateErrors: 0,
};

export function noTrialCounts(trial: string): TrialCounts {
  return { trial, platforms: {} };
}

/** The counts with one more answered verdict of a client that was drawn into an arm, and that had this mark. */
export function countDecision(
  counts: TrialCounts,
  decision: Decision,
  drawnInto: Arm,
  before: StageMark | null,
): TrialCounts {
  const { platform, arm, draw } = decision;
  const counted = countArm(counts, platform, arm, countsOf(decision));
  if (draw === undefined) return counted;
  return countArm(counted, platform, drawnInto, countsOfClient(before, draw.since, decision));
}

/** The counts with another fate of one client. */
export function countFate(
  counts: TrialCounts,
  platform: PlatformName,
  arm: Arm,
  fates: readonly [before: ClientFate, after: ClientFate],
): TrialCounts {
  return countArm(counts, platform, arm, countsOfFate(...fates));
}

/** The counts with one more verdict that the shadow decided, too. */
export function countShadow(counts: TrialCounts, decision: Decision, shadowed: Decision): TrialCounts {
  return change(counts, decision.platform, (figures) => {
    const { compared, different, differences } = figures.shadow;
    const what = changeBetween(decision, shadowed);
    const shadow =
      what === null
        ? { compared: compared + 1, different, differences }
        : {
            compared: compared + 1,
            different: different + 1,
            differences: noteDifference(differences, what, decision.decisionId),
          };
    return { ...figures, shadow };
  });
}

/** Null when the platform is not known. */
export function countCandidateError(counts: TrialCounts, platform: PlatformName | null): TrialCounts {
  return change(counts, platform ?? LEFT_OVER, (figures) => ({
    ...figures,
    candidateErrors: figures.candidateErrors + 1,
  }));
}

/** What was seen of a trial on one platform, or with null on all. */
export function sumTrialCounts({ platforms }: TrialCounts, platform: string | null): TrialFigures {
  return Object.entries(platforms)
    .filter(([name]) => platform === null || name === platform)
    .map(([, figures]) => figures)
    .reduce(addFigures, NO_FIGURES);
}

function countArm(counts: TrialCounts, platform: PlatformName, arm: Arm, more: ArmCounts): TrialCounts {
  return change(counts, platform, (figures) => ({
    ...figures,
    arms: { ...figures.arms, [arm]: addCounts(figures.arms[arm], more) },
  }));
}

function change(
  { trial, platforms }: TrialCounts,
  platform: string,
  by: (figures: TrialFigures) => TrialFigures,
): TrialCounts {
  const known = platforms[platform];
  const name = known === undefined && Object.keys(platforms).length >= PLATFORMS_MAX ? LEFT_OVER : platform;
  return { trial, platforms: { ...platforms, [name]: by(platforms[name] ?? NO_FIGURES) } };
}

function addFigures(a: TrialFigures, b: TrialFigures): TrialFigures {
  const differences = new Map(a.shadow.differences.map((difference) => [difference.change, difference]));
  for (const { change, count, sampleDecisions } of b.shadow.differences) {
    const known = differences.get(change) ?? { change, count: 0, sampleDecisions: [] };
    const samples = [...known.sampleDecisions, ...sampleDecisions].slice(0, SAMPLES_MAX);
    differences.set(change, { change, count: known.count + count, sampleDecisions: samples });
  }
  return {
    arms: {
      active: addCounts(a.arms.active, b.arms.active),
      candidate: addCounts(a.arms.candidate, b.arms.candidate),
    },
    shadow: {
      compared: a.shadow.compared + b.shadow.compared,
      different: a.shadow.different + b.shadow.different,
      differences: [...differences.values()].toSorted((x, y) => y.count - x.count).slice(0, DIFFERENCES_MAX),
    },
    candidateErrors: a.candidateErrors + b.candidateErrors,
  };
}

/** Null when the shadow answered alike: same verdict, wait, bot flag and group. */
function changeBetween(decision: Decision, shadowed: Decision): string | null {
  const words = ({ verdict, rule, waitSeconds, isBot, clientGroup }: Decision) =>
    [
      `${verdict}/${rule}`,
      waitSeconds === undefined ? '' : `${waitSeconds} s`,
      isBot ? 'bot' : '',
      clientGroup,
    ]
      .filter((word) => word !== '')
      .join(' ');
  const same =
    decision.verdict === shadowed.verdict &&
    decision.waitSeconds === shadowed.waitSeconds &&
    decision.isBot === shadowed.isBot &&
    decision.clientGroup === shadowed.clientGroup;
  return same ? null : `${words(decision)} -> ${words(shadowed)}`;
}

function noteDifference(
  differences: readonly TrialDifference[],
  change: string,
  decisionId: string,
): readonly TrialDifference[] {
  const known = differences.find((difference) => difference.change === change);
  if (known === undefined) {
    return differences.length >= DIFFERENCES_MAX
      ? differences
      : [...differences, { change, count: 1, sampleDecisions: [decisionId] }];
  }
  const { sampleDecisions } = known;
  const samples = sampleDecisions.length < SAMPLES_MAX ? [...sampleDecisions, decisionId] : sampleDecisions;
  return differences.map((difference) =>
    difference === known ? { change, count: known.count + 1, sampleDecisions: samples } : difference,
  );
}
