import {
  type Candidate,
  createNextRollout,
  createRolloutOfOneVersion,
  type DrawRange,
  excludeFromVersions,
  type Rollout,
  type RolloutChangeOrigin,
  sumPercent,
  type VersionRef,
  type VersionShare,
} from '#checkout/rollout/rollout.ts';

/**
 * The goals to which a rollout may bring a version. `also` holds the other candidates for which the same draw chooses
 * clients.
 */
export type RolloutGoal<Also extends VersionShare = VersionShare> =
  | { readonly mode: 'shadow' }
  | {
      readonly mode: 'canary';
      readonly percent: number;
      readonly guardPoints: number | null;
      /** The objective by which the trial is judged, as a person gave it (see objective.ts). */
      readonly objective?: string;
      readonly also?: readonly Also[];
    }
  | { readonly mode: 'active' };

/** Returns the next rollout, in which the version has reached the goal. */
export function createAdvancedRollout(
  rollout: Rollout,
  to: VersionRef,
  goal: RolloutGoal<VersionShare & VersionRef>,
  change: RolloutChangeOrigin,
): Rollout {
  switch (goal.mode) {
    case 'shadow': {
      const how = { mode: 'shadow', guardPoints: null } as const;
      const candidates = createCandidates(rollout, [{ ...to, percent: 0 }], how, change);
      return createNextRollout(rollout, { candidates, ended: [] }, [{ action: 'shadow', to }], change);
    }
    case 'canary': {
      const { percent, guardPoints, objective, also = [] } = goal;
      const candidates = createCandidates(
        rollout,
        [{ ...to, percent }, ...also],
        { mode: 'canary', guardPoints, ...(objective === undefined ? {} : { objective }) },
        change,
      );
      const beside = also.map((one) => ({ version: one.version, percent: one.percent }));
      const step = { action: 'canary', to, percent, ...(also.length === 0 ? {} : { also: beside }) } as const;
      const [first] = candidates;
      const ended = first?.stageSince === change.at ? [] : rollout.ended;
      return createNextRollout(rollout, { candidates, ended }, [step], change);
    }
    case 'active': {
      const active = { version: to.version, digest: to.digest };
      // From now on the remaining candidates are compared with another version.
      const candidates = excludeFromVersions(rollout.candidates, to.version).map((other) => ({
        ...other,
        stageSince: change.at,
      }));
      return createNextRollout(
        rollout,
        { active, candidates, ended: [] },
        [{ action: 'active', to }],
        change,
      );
    }
    default:
      return goal satisfies never;
  }
}

/**
 * Creates a rollout in place of one that cannot be read. The version that decides stays, candidates end, and the
 * history starts again.
 */
export function createRolloutReplacingUnreadable(
  revision: number,
  active: VersionRef,
  change: RolloutChangeOrigin,
): Rollout {
  return createRolloutOfOneVersion('repair', revision + 1, active, change);
}

/**
 * Gives a rollout a revision above all known ones, so that it takes effect again. This is for a rollout that the
 * store had lost, or that a person declares right.
 */
export function createRolloutWithHigherRevision(
  rollout: Rollout,
  above: number,
  change: RolloutChangeOrigin,
): Rollout {
  const step = { action: 'repair', to: rollout.active } as const;
  return {
    ...createNextRollout(rollout, {}, [step], change),
    revision: Math.max(rollout.revision, above) + 1,
  };
}

/**
 * Returns the candidates among which one draw chooses. A client for whom a candidate decides stays with this
 * candidate. If the share of one candidate changes, a new stage of the trial begins for all candidates.
 */
function createCandidates(
  { candidates }: Rollout,
  wanted: readonly (VersionShare & VersionRef)[],
  how: Pick<Candidate, 'mode' | 'guardPoints' | 'objective'>,
  { at }: RolloutChangeOrigin,
): readonly Candidate[] {
  const before = wanted.map((one) => candidates.find(({ digest }) => digest === one.digest) ?? null);
  const { mode } = how;
  // The objective of a trial stays while its shares grow, unless a new one is given.
  const kept = mode === 'canary' ? before.flatMap((one) => one?.objective ?? []) : [];
  const [objective] = how.objective === undefined ? kept : [how.objective];
  const isSame = (place: number, one: Candidate) =>
    before[place]?.mode === mode &&
    before[place].percent === one.percent &&
    before[place].objective === objective;
  const [trial = `${wanted[0]?.version}@${at}`] = before.flatMap((one) => (one === null ? [] : [one.trial]));
  const slices = dealSlices(
    wanted.map(({ percent }, place) => ({ percent, before: before[place]?.slices ?? [] })),
  );
  const begun = wanted.map(({ version, digest, percent }, place): Candidate => {
    const since = before[place]?.mode === mode ? before[place].since : at;
    const drawn = { version, digest, percent, slices: slices[place] ?? [] };
    const judged = objective === undefined ? {} : { objective };
    return { ...drawn, ...how, ...judged, trial, since, stageSince: at };
  });
  const goesOn = begun.length === candidates.length && begun.every((one, place) => isSame(place, one));
  return goesOn
    ? begun.map((one, place) => ({ ...one, stageSince: before[place]?.stageSince ?? at }))
    : begun;
}

/**
 * The draw gives each client a point from 0 to 100. Points that are closer together than this count as one.
 * Percentages have few digits, so a smaller difference is only a rounding error.
 */
const SAME_PLACE_PERCENT = 1e-9;

/**
 * Deals out the draw ranges of each candidate for the next stage. A client of a candidate with 10 % is still its
 * client at 20 %, and no client leaves a candidate that keeps its share.
 */
function dealSlices(
  wanted: readonly { readonly percent: number; readonly before: readonly DrawRange[] }[],
): readonly (readonly DrawRange[])[] {
  const kept = wanted.map(({ percent, before }) => takePercent(percent, before));
  return wanted.reduce(
    (all, { percent }, place) =>
      all.with(place, takePercent(percent, [...(all[place] ?? []), ...findFreeSlices(all.flat())])),
    kept,
  );
}

/** Takes ranges from the beginning until they make up this percentage. */
function takePercent(percent: number, slices: readonly DrawRange[]): readonly DrawRange[] {
  let left = percent;
  return slices.flatMap(({ from, to }) => {
    const width = Math.min(left, to - from);
    left -= width;
    return width <= SAME_PLACE_PERCENT ? [] : [{ from, to: from + width }];
  });
}

function findFreeSlices(taken: readonly DrawRange[]): readonly DrawRange[] {
  const sorted = taken.toSorted((a, b) => a.from - b.from);
  const starts = [0, ...sorted.map(({ to }) => to)];
  const ends = [...sorted.map(({ from }) => from), 100];
  return starts.map((from, place) => ({ from, to: ends[place] ?? 100 }));
}

/** Says why candidates cannot be drawn with these shares. Returns null if they can. */
export function findSharesFault(shares: readonly VersionShare[]): string | null {
  const twice = shares.find(
    ({ version }, place) => shares.findIndex((one) => one.version === version) < place,
  );
  if (twice !== undefined) return `names ${twice.version} twice; each candidate has one share`;
  const percent = sumPercent(shares);
  return percent > 100
    ? `gives candidates ${percent} percent of the clients; choose at most 100 in all`
    : null;
}
