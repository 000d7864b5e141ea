import type { PlatformName } from '../client/client-key.ts';
import type { Decision } from '../decision/decision.ts';
import { type ShareInterval, shareInterval } from '../statistics/share-interval.ts';
import type { ArmCounts, ClientCounts } from './arm-counts.ts';
import type { NodeReport } from './fleet.ts';
import { COMPARED_SHARES, guardBreach } from './guard.ts';
import type { Candidate } from './rollout.ts';
import { stageOf } from './stage.ts';
import { sumTrialCounts, type TrialFigures } from './trial-counts.ts';

/** A share of the clients of both arms; paid of those with an outcome. */
export interface ClientShare {
  readonly name: (typeof COMPARED_SHARES)[number]['name'];
  /** Null without a client. */
  readonly active: ShareInterval | null;
  readonly candidate: ShareInterval | null;
}

/** What was seen of a trial, for people. */
export interface TrialView {
  readonly trial: string;
  readonly arms: TrialFigures['arms'];
  /** Of a canary, by clients. */
  readonly shares: readonly ClientShare[];
  /** Why the guard takes the canary back; null while it does not, or there is none, and for one platform: the guard goes by all. */
  readonly breach: string | null;
  readonly shadow: {
    readonly compared: number;
    readonly different: number;
    readonly differences: readonly {
      readonly change: string;
      readonly count: number;
      readonly sampleOrders: readonly string[];
    }[];
  };
  readonly candidateErrors: number;
}

/**
 * What all nodes saw of the candidate's trial: on one platform, or with null on all. `decisionOf` reads the
 * decisions behind sample orders; those that are gone are left out.
 */
export async function viewOfTrial(
  candidate: Candidate,
  nodes: readonly NodeReport[],
  platform: PlatformName | null,
  decisionOf: (decisionId: string) => Promise<Decision | null>,
): Promise<TrialView> {
  const { trial } = stageOf(candidate);
  const parts = nodes.map(({ counts }) => counts).filter((counts) => counts !== null);
  const { arms, shadow, candidateErrors } = sumTrialCounts(trial, parts, platform);
  const differences = await Promise.all(
    shadow.differences.map(async ({ change, count, sampleDecisions }) => {
      const decisions = await Promise.all(sampleDecisions.map(decisionOf));
      const sampleOrders = decisions.filter((one) => one !== null).map(({ orderRef }) => orderRef);
      return { change, count, sampleOrders };
    }),
  );
  return {
    trial,
    arms,
    shares: candidate.mode === 'canary' ? sharesOf(arms.active, arms.candidate) : [],
    breach: platform === null ? breachOf(candidate, arms) : null,
    shadow: { ...shadow, differences },
    candidateErrors,
  };
}

/** Why the guard of this candidate takes it back; null when it does not, or there is no guard. */
export function breachOf({ guardPoints, percent }: Candidate, arms: TrialFigures['arms']): string | null {
  if (guardPoints === null) return null;
  const clients = { active: arms.active.clients, candidate: arms.candidate.clients };
  return guardBreach(clients, percent, guardPoints);
}

function sharesOf(active: ArmCounts, candidate: ArmCounts): readonly ClientShare[] {
  return COMPARED_SHARES.map(({ name, of, final }) => {
    const share = (clients: ClientCounts) =>
      shareInterval(of(clients), final ? clients.seen : clients.paid + clients.unpaid);
    return { name, active: share(active.clients), candidate: share(candidate.clients) };
  });
}
