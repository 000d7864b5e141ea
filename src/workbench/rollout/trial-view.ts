import { Type } from '#base/json-schema.ts';
import {
  choice,
  count,
  epochMs,
  list,
  named,
  nullable,
  plainText,
  shape,
  type ValueOf,
} from '#base/shapes.ts';
import {
  explainCandidateGuardBreach,
  GUARDED_SHARES,
  listCandidateImprovements,
} from '#checkout/rollout/guard.ts';
import type { Candidate, Rollout } from '#checkout/rollout/rollout.ts';
import {
  type ArmClientCounts,
  type ArmCounts,
  ArmCountsSchema,
  computeTrialStageFigures,
  type TrialStageCounts,
} from '#checkout/rollout/trial-counts.ts';
import type { Decision } from '#decision/decision.ts';
import { computeClientInFiguresTime, parseObjective } from '#decision/objective.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import { type RuleVersion, ruleVersionSchema } from '#decision/rules/rule-set.ts';
import { estimateShare } from '#history/statistics/intervals.ts';

const interval = nullable(
  shape(
    'A share of the clients with its 95 % interval, 0 to 1; for paid, of the clients with an outcome; null without any',
    {
      value: Type.Number(),
      low: Type.Number(),
      high: Type.Number(),
    },
  ),
);

const ClientShareSchema = shape('A share of the clients of both versions', {
  name: choice(
    GUARDED_SHARES.map(({ name }) => name),
    'What the clients of the share got or did',
  ),
  active: interval,
  candidate: interval,
});

type ClientShare = ValueOf<typeof ClientShareSchema>;

export const TrialSchema = named(
  'TrialCounts',
  shape('Figures of the trial of a candidate', {
    version: Type.Unsafe<RuleVersion>(ruleVersionSchema),
    trial: plainText('Name of the trial'),
    arms: shape('Counts by version', { active: ArmCountsSchema, candidate: ArmCountsSchema }),
    earliest: nullable(
      epochMs(
        'The earliest time at which the experiment answers; later by the days that reversals take, where the objective does not say them. Null for a shadow, and where the objective cannot be read',
      ),
    ),
    shares: list(ClientShareSchema, 'Shares of the clients of a canary; empty for a shadow'),
    breach: nullable(
      plainText(
        'Why the guard rolls the canary back, by the clients of all platforms; null while it does not, and for a key of one platform',
      ),
    ),
    gains: list(
      Type.String(),
      'What the canary does better by more than the points of its guard, which does not act on that; empty for a key of one platform',
    ),
    shadow: shape('Answers of a shadow compared with those given', {
      compared: count('Verdicts that both decided'),
      different: count('The verdicts among them that differ'),
      differences: list(
        shape('A kind of difference', {
          change: plainText('Like "WAIT/attempt-unpaid -> BLOCK/bot-blocked"'),
          count: count('How often'),
          sampleOrders: list(Type.String(), 'Some orderRefs to look at'),
        }),
        'By kind',
      ),
    }),
    candidateErrors: count('Decisions for which the candidate failed with an error'),
  }),
);

export type TrialView = ValueOf<typeof TrialSchema>;

/**
 * Returns what all nodes counted in a candidate's trial. If `platform` is null, the counts are for all platforms.
 * `decisionOf` reads the decisions from which sample orders are taken. Missing decisions are left out.
 */
export async function toTrialView(
  rollout: Rollout,
  candidate: Candidate,
  counts: TrialStageCounts,
  platform: PlatformName | null,
  decisionOf: (decisionId: string) => Promise<Decision | null>,
): Promise<TrialView> {
  const { trial } = counts;
  const { arms, shadow, candidateErrors } = computeTrialStageFigures(counts, platform);
  const differences = await Promise.all(
    shadow.differences.map(async ({ change, count, sampleDecisions }) => {
      const decisions = await Promise.all(sampleDecisions.map(decisionOf));
      const sampleOrders = decisions.filter((one) => one !== null).map(({ orderRef }) => orderRef);
      return { change, count, sampleOrders };
    }),
  );
  return {
    version: candidate.version,
    trial,
    arms,
    earliest: findEarliest(candidate),
    shares: candidate.mode === 'canary' ? estimateShares(arms.active, arms.candidate) : [],
    breach: platform === null ? explainCandidateGuardBreach(rollout, candidate, arms) : null,
    gains: platform === null ? listCandidateImprovements(rollout, candidate, arms) : [],
    shadow: { ...shadow, differences },
    candidateErrors,
  };
}

/**
 * Returns when the experiment of a canary can answer at the earliest (epoch ms). Returns null for a shadow, and if
 * the objective is damaged.
 */
function findEarliest({ mode, stageSince, objective }: Candidate): number | null {
  const judged = parseObjective(objective ?? null);
  return mode === 'canary' && judged !== null ? computeClientInFiguresTime(stageSince, judged) : null;
}

function estimateShares(active: ArmCounts, candidate: ArmCounts): readonly ClientShare[] {
  return GUARDED_SHARES.map(({ name, of, final }) => {
    const share = (clients: ArmClientCounts) =>
      estimateShare(of(clients), final ? clients.seen : clients.paid + clients.unpaid);
    return { name, active: share(active.clients), candidate: share(candidate.clients) };
  });
}
