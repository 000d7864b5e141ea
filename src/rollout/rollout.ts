import { hash } from 'node:crypto';
import { isJsonObject, parseJsonObject } from '../files/json-object.ts';
import { Type } from '../json-schema.ts';
import { isRuleVersion, type RuleVersion, ruleVersion } from '../rules/rule-set.ts';
import {
  choice,
  epochMs,
  list,
  meaning,
  named,
  nullable,
  percent,
  type Shape,
  shape,
  word,
} from '../shapes.ts';

/** A version as it lay on disk when somebody chose it. */
const VERSION = { version: Type.Unsafe<RuleVersion>(ruleVersion), digest: word('Over its files') };

export const versionRef = (description: string) => shape(description, VERSION);

export type VersionRef = Shape<ReturnType<typeof versionRef>>;

/** A version on trial beside the active one. */
const CandidateSchema = shape('A version on trial', {
  ...VERSION,
  mode: choice(['shadow', 'canary'], 'shadow: compared only; canary: decides for `percent`'),
  percent: percent('Of the clients'),
  /** Makes one trial's clients others than the next one's; kept while the percent of a trial changes. */
  trial: word('Names the trial'),
  since: epochMs('Start of the trial'),
  stageSince: epochMs('Since when it decides for this percent, beside this active version'),
  guardPoints: nullable(percent('Ends the trial when a share is off by more points than this')),
});

export type Candidate = Shape<typeof CandidateSchema>;

/** One change of the rollout, for anyone who asks later what happened. */
const RolloutEntrySchema = shape('One change', {
  at: epochMs('When'),
  who: word('Who'),
  action: meaning(
    {
      start: 'the first version of the store',
      shadow: 'a candidate is compared',
      canary: 'a candidate decides for a share',
      active: 'a version decides for all',
      rollback: 'somebody took it back',
      guard: 'the guard of a canary took it back',
      repair: 'a rollout that could not be read was rewritten',
    },
    'What',
  ),
  from: nullable(VERSION.version),
  to: VERSION.version,
  digest: word('Over the files of `to`'),
  percent: Type.Optional(percent('Only of a canary')),
  reason: word('Why'),
  acceptedDifference: Type.Optional(
    word('What made it much another policy than the active one, which whoever did it accepted'),
  ),
});

export type RolloutEntry = Shape<typeof RolloutEntrySchema>;

export type RolloutAction = RolloutEntry['action'];

/** Which version decides, shared by the fleet. Every change makes a new revision. */
export const RolloutSchema = named(
  'Rollout',
  shape('Which version decides', {
    revision: Type.Integer({ minimum: 1, description: 'One more for every change' }),
    active: versionRef('The version that decides'),
    candidate: nullable(CandidateSchema),
    history: list(RolloutEntrySchema, 'Newest last'),
  }),
);

export type Rollout = Shape<typeof RolloutSchema>;

/** The rollout in a stored text; null when the text holds none. */
export function parseRollout(text: string): Rollout | null {
  const value: unknown = parseJsonObject(text);
  return isRollout(value) ? value : null;
}

function isRollout(value: unknown): value is Rollout {
  if (!isJsonObject(value)) return false;
  const { revision, active, candidate, history } = value;
  return (
    Number.isSafeInteger(revision) &&
    isVersionRef(active) &&
    (candidate === null || (isVersionRef(candidate) && isTrial(candidate))) &&
    Array.isArray(history) &&
    history.every(
      (entry) =>
        isJsonObject(entry) && typeof entry['to'] === 'string' && typeof entry['digest'] === 'string',
    )
  );
}

function isVersionRef(value: unknown): value is VersionRef {
  return (
    isJsonObject(value) &&
    typeof value['version'] === 'string' &&
    isRuleVersion(value['version']) &&
    typeof value['digest'] === 'string'
  );
}

function isTrial(value: object): boolean {
  const { mode, percent, trial, since, stageSince, guardPoints }: Partial<Record<keyof Candidate, unknown>> =
    value;
  const guarded = guardPoints === null || typeof guardPoints === 'number';
  const numbers = [percent, since, stageSince].every((value) => typeof value === 'number');
  return (mode === 'shadow' || mode === 'canary') && typeof trial === 'string' && numbers && guarded;
}

/** Who changes a rollout, when and why. */
export interface RolloutChange {
  readonly who: string;
  readonly at: number;
  readonly reason: string;
  /** What makes the version much another policy, when that was accepted. */
  readonly acceptedDifference?: string;
}

/** What a rollout may be told to do with a version. */
export type Goal =
  | { readonly mode: 'shadow' }
  | { readonly mode: 'canary'; readonly percent: number; readonly guardPoints: number | null }
  | { readonly mode: 'active' };

const KEPT_HISTORY = 200;

export function firstRollout({ version, digest }: VersionRef, at: number): Rollout {
  const entry = {
    at,
    who: 'service',
    action: 'start',
    from: null,
    to: version,
    digest,
    reason: 'first start',
  } as const;
  return { revision: 1, active: { version, digest }, candidate: null, history: [entry] };
}

/** The rollout with a version brought to the goal. */
export function advance(rollout: Rollout, to: VersionRef, goal: Goal, change: RolloutChange): Rollout {
  switch (goal.mode) {
    case 'shadow':
      return next(
        rollout,
        { candidate: trial(rollout, to, { mode: 'shadow', percent: 0, guardPoints: null }, change) },
        'shadow',
        to,
        change,
      );
    case 'canary': {
      const { percent, guardPoints } = goal;
      const candidate = trial(rollout, to, { mode: 'canary', percent, guardPoints }, change);
      return next(rollout, { candidate }, 'canary', to, change, percent);
    }
    case 'active': {
      const active = { version: to.version, digest: to.digest };
      const other = rollout.candidate?.version === to.version ? null : rollout.candidate;
      // It is compared with another version from now on.
      const candidate = other === null ? null : { ...other, stageSince: change.at };
      return next(rollout, { active, candidate }, 'active', to, change);
    }
    default:
      return goal satisfies never;
  }
}

/** The candidate taken back; without one, the version that was active before. Null when there is neither. */
export function takeBack(
  rollout: Rollout,
  change: RolloutChange,
  action: 'rollback' | 'guard' = 'rollback',
): Rollout | null {
  if (rollout.candidate !== null) return next(rollout, { candidate: null }, action, rollout.active, change);
  const before = previousActive(rollout);
  return before === null ? null : next(rollout, { active: before }, action, before, change);
}

/**
 * A rollout that takes the place of one that cannot be read: what the nodes decide with stays, and a
 * candidate ends with it. The history starts again.
 */
export function repaired(revision: number, active: VersionRef, { who, at, reason }: RolloutChange): Rollout {
  const { version, digest } = active;
  const entry = { at, who, action: 'repair', from: null, to: version, digest, reason } as const;
  return { revision: revision + 1, active: { version, digest }, candidate: null, history: [entry] };
}

/** The version that was active before, but for those that were taken back since: a second rollback brings none of them in again. */
export function previousActive({ active, history }: Rollout): VersionRef | null {
  let standing: readonly VersionRef[] = [];
  for (const { action, to, digest } of history) {
    const reached = { version: to, digest };
    if (action === 'start' || action === 'repair' || action === 'active')
      standing = [...without(standing, to), reached];
    // Of a candidate that was taken back, `to` is what was active all the time.
    else if (action === 'rollback' || action === 'guard')
      standing = [...standing.slice(0, placeOf(standing, to)), reached];
  }
  return without(standing, active.version).at(-1) ?? null;
}

function without(versions: readonly VersionRef[], version: string): readonly VersionRef[] {
  return versions.filter((one) => one.version !== version);
}

/** Behind all of them when it is not there: a long history has lost its beginning. */
function placeOf(versions: readonly VersionRef[], version: string): number {
  const place = versions.findIndex((one) => one.version === version);
  return place === -1 ? versions.length : place;
}

/**
 * Whether a client belongs to the canary. The same client always gets the same answer within a trial,
 * and who is in at 10 % is in at 20 %.
 */
export function inCanary({ trial, percent }: Candidate, clientHash: string): boolean {
  const bucket = Number.parseInt(hash('sha256', `${trial}/${clientHash}`, 'hex').slice(0, 8), 16) / 2 ** 32;
  return bucket * 100 < percent;
}

function trial(
  { candidate }: Rollout,
  { version, digest }: VersionRef,
  how: Pick<Candidate, 'mode' | 'percent' | 'guardPoints'>,
  { at }: RolloutChange,
): Candidate {
  const goesOn = candidate?.version === version && candidate.digest === digest;
  const sameMode = goesOn && candidate.mode === how.mode;
  return {
    version,
    digest,
    ...how,
    trial: goesOn ? candidate.trial : `${version}@${at}`,
    since: sameMode ? candidate.since : at,
    stageSince: sameMode && candidate.percent === how.percent ? candidate.stageSince : at,
  };
}

function next(
  rollout: Rollout,
  parts: Partial<Pick<Rollout, 'active' | 'candidate'>>,
  action: RolloutAction,
  to: VersionRef,
  { who, at, reason, acceptedDifference }: RolloutChange,
  percent?: number,
): Rollout {
  const entry: RolloutEntry = {
    at,
    who,
    action,
    from:
      rollout.candidate !== null && (action === 'rollback' || action === 'guard')
        ? rollout.candidate.version
        : rollout.active.version,
    to: to.version,
    digest: to.digest,
    ...(percent === undefined ? {} : { percent }),
    reason,
    ...(acceptedDifference === undefined ? {} : { acceptedDifference }),
  };
  return {
    ...rollout,
    ...parts,
    revision: rollout.revision + 1,
    history: [...rollout.history, entry].slice(-KEPT_HISTORY),
  };
}
