import { hash } from 'node:crypto';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { parseJsonObjectOrNull } from '#base/files/json-object.ts';
import { Type } from '#base/json-schema.ts';
import * as s from '#base/shapes.ts';
import { objectiveTextSchema, type TrialDraw } from '#decision/decision.ts';
import { type RuleVersion, ruleVersionSchema } from '#decision/rules/rule-set.ts';

/** A version, and the digest of the files that somebody chose. */
const VERSION = {
  version: Type.Unsafe<RuleVersion>(ruleVersionSchema),
  digest: s.digestText('Digest of its files'),
};

export const createVersionRefSchema = (description: string) => s.shape(description, VERSION);

export type VersionRef = s.ValueOf<ReturnType<typeof createVersionRefSchema>>;

const DRAWN = {
  ...VERSION,
  percent: s.percent('Percent of the clients'),
  slices: s.list(
    s.shape('A part of the draw, in percent of all places', {
      from: s.percent('Where the part begins'),
      to: s.percent('Where the part ends; not part of it'),
    }),
    'The clients drawn into it; empty for a shadow',
  ),
};

/** A version on trial beside the active one. */
const CandidateSchema = s.shape('A version on trial', {
  ...DRAWN,
  mode: s.choice(['shadow', 'canary'], 'shadow: compared only; canary: decides for `percent`'),
  /** A new trial draws other clients than the last one. A change of a trial's percent keeps its clients. */
  trial: s.plainText('Name of the trial; the candidates of one draw share it', 'p2.v11@1795255200000'),
  since: s.epochMs('When its trial began'),
  stageSince: s.epochMs('When the shares of the candidates or the active version last changed'),
  guardPoints: s.nullable(
    s.percent('The guard: it ends the trial when a share differs by more points than this'),
  ),
  objective: Type.Optional(objectiveTextSchema),
});

export type Candidate = s.ValueOf<typeof CandidateSchema>;

/** One change of the rollout, kept so that anyone can see later what happened. */
const RolloutEntrySchema = s.shape('One change', {
  at: s.epochMs('When'),
  who: s.plainText('Who', 'ann'),
  action: s.describedChoice(
    {
      start: 'the first version of the store',
      shadow: 'a candidate is compared',
      canary: 'a candidate decides for a share',
      active: 'a version decides for all',
      rollback: 'somebody rolled it back',
      guard: 'the guard of a canary rolled it back',
      repair: 'a rollout that was lost or could not be read was written again',
    },
    'What',
  ),
  from: s.nullable(VERSION.version),
  to: VERSION.version,
  digest: s.digestText('Digest of the files of `to`'),
  percent: Type.Optional(s.percent('Percent of the clients; only for a canary')),
  also: Type.Optional(
    s.list(
      s.shape('Another candidate', {
        version: VERSION.version,
        percent: s.percent('Percent of the clients'),
      }),
      'Beside `to`',
    ),
  ),
  reason: s.plainText('Why', 'chargebacks'),
  acceptedDifference: Type.Optional(
    s.plainText(
      'How much the version answers otherwise, which the person who made the change accepted; never shown to a single platform',
    ),
  ),
  emergency: Type.Optional(s.yesNo('One person returned to the version alone, without approval')),
});

/** One change in the history of a rollout: who, when, what, from which version to which. */
export type RolloutHistoryEntry = s.ValueOf<typeof RolloutEntrySchema>;

/** Which version decides, shared by the fleet. Every change makes a new revision. */
export const RolloutSchema = s.named(
  'Rollout',
  s.shape('The active version, and the candidates on trial', {
    revision: Type.Integer({ minimum: 1, description: 'Number of the rollout, one more for every change' }),
    active: createVersionRefSchema('A rule set version, and its digest'),
    candidates: s.list(
      CandidateSchema,
      'The versions on trial: one shadow, or one or several canaries in one draw',
    ),
    ended: s.list(
      s.shape('A candidate that was rolled back', DRAWN),
      'Candidates that were rolled back; the active version decides for their clients, who are left out of comparisons until shares change',
    ),
    history: s.list(RolloutEntrySchema, 'Newest last'),
  }),
);

export type Rollout = s.ValueOf<typeof RolloutSchema>;

let isRollout: ValidateFunction<Rollout> | null = null;

/** Parses a stored rollout. Returns null if the text is no rollout. */
export function parseRollout(text: string): Rollout | null {
  // The schema is compiled when the first rollout is read.
  isRollout ??= new Ajv2020({ strict: false, validateSchema: false, meta: false }).compile(RolloutSchema);
  const value: unknown = parseJsonObjectOrNull(text);
  return isRollout(value) ? value : null;
}

/** Who changes a rollout, when and why. */
export interface RolloutChangeOrigin {
  readonly who: string;
  readonly at: number;
  readonly reason: string;
  /** The person's reason for accepting that the version answers very differently. */
  readonly acceptedDifference?: string;
  /** Whether one person returned to a version alone, without approval. */
  readonly emergency?: boolean;
}

/** A version and the percent of the clients for which it will decide. */
export interface VersionShare {
  readonly version: RuleVersion;
  readonly percent: number;
}

const KEPT_HISTORY = 200;

export function createFirstRollout(active: VersionRef, at: number): Rollout {
  return createRolloutOfOneVersion('start', 1, active, { who: 'service', at, reason: 'first start' });
}

/** Creates a rollout with one version and no earlier history. */
export function createRolloutOfOneVersion(
  action: 'start' | 'repair',
  revision: number,
  { version, digest }: VersionRef,
  { who, at, reason }: RolloutChangeOrigin,
): Rollout {
  const entry = { at, who, action, from: null, to: version, digest, reason };
  return { revision, active: { version, digest }, candidates: [], ended: [], history: [entry] };
}

/**
 * Creates the next revision of a rollout without one candidate, or without all candidates if `version` is null. If
 * `version` is null and there are no candidates, the version that was active before becomes active again. Returns
 * null if there is nothing to take back. The trial of the remaining candidates continues with the same clients.
 */
export function createRolledBackRollout(
  rollout: Rollout,
  change: RolloutChangeOrigin,
  { action = 'rollback', version = null }: { action?: 'rollback' | 'guard'; version?: string | null } = {},
): Rollout | null {
  const { active, candidates } = rollout;
  const back = candidates.filter((one) => version === null || one.version === version);
  if (back.length > 0) {
    const left = candidates.filter((one) => !back.includes(one));
    const drawn = back.map(({ version, digest, percent, slices }) => ({ version, digest, percent, slices }));
    const ended = left.length === 0 ? [] : [...rollout.ended, ...drawn];
    const steps = back.map((one) => ({ action, from: one.version, to: active }));
    return createNextRollout(rollout, { candidates: left, ended }, steps, change);
  }
  const before = version === null ? findPreviousActive(rollout) : null;
  return before === null
    ? null
    : createNextRollout(rollout, { active: before }, [{ action, to: before }], change);
}

/**
 * Finds the version that was active before the current one. Versions that were taken back are skipped, so a second
 * rollback goes one version further back.
 */
export function findPreviousActive({ active, history }: Rollout): VersionRef | null {
  let standing: readonly VersionRef[] = [];
  for (const { action, to, digest } of history) {
    const reached = { version: to, digest };
    if (action === 'start' || action === 'repair' || action === 'active')
      standing = [...excludeFromVersions(standing, to), reached];
    // When a candidate is taken back, `to` is the version that stays active.
    else if (action === 'rollback' || action === 'guard')
      standing = [...standing.slice(0, findPosition(standing, to)), reached];
  }
  return excludeFromVersions(standing, active.version).at(-1) ?? null;
}

/** Returns the versions without this one. */
export function excludeFromVersions<T extends VersionRef>(
  versions: readonly T[],
  version: string,
): readonly T[] {
  return versions.filter((one) => one.version !== version);
}

/**
 * Finds the position of a version. A missing version gets the position after all others, because the beginning of a
 * long history is cut off.
 */
function findPosition(versions: readonly VersionRef[], version: string): number {
  const place = versions.findIndex((one) => one.version === version);
  return place === -1 ? versions.length : place;
}

type Step = Pick<RolloutHistoryEntry, 'action' | 'percent' | 'also'> & {
  readonly to: VersionRef;
  readonly from?: RuleVersion;
};

/** Creates the next revision of a rollout, with changed parts and the steps in its history. */
export function createNextRollout(
  rollout: Rollout,
  parts: Partial<Pick<Rollout, 'active' | 'candidates' | 'ended'>>,
  steps: readonly Step[],
  { who, at, reason, acceptedDifference, emergency = false }: RolloutChangeOrigin,
): Rollout {
  const entries = steps.map(
    ({ action, from = rollout.active.version, to, percent, also }): RolloutHistoryEntry => ({
      at,
      who,
      action,
      from,
      to: to.version,
      digest: to.digest,
      ...(percent === undefined ? {} : { percent }),
      ...(also === undefined ? {} : { also }),
      reason,
      ...(acceptedDifference === undefined ? {} : { acceptedDifference }),
      ...(emergency ? { emergency } : {}),
    }),
  );
  return {
    ...rollout,
    ...parts,
    revision: rollout.revision + 1,
    history: [...rollout.history, ...entries].slice(-KEPT_HISTORY),
  };
}

/** A range of draw points in percent, from `from` to below `to`. */
export interface DrawRange {
  readonly from: number;
  readonly to: number;
}

/** Adds percentages. The sum is rounded, because decimal fractions are not exact in binary. */
export function sumPercent(shares: readonly { readonly percent: number }[]): number {
  return Number(shares.reduce((sum, { percent }) => sum + percent, 0).toFixed(6));
}

/** Returns the percent of the clients who are drawn into no candidate. Every candidate is compared with them. */
export function getActivePercent({ candidates, ended }: Pick<Rollout, 'candidates' | 'ended'>): number {
  return Math.max(0, 100 - sumPercent([...candidates, ...ended]));
}

/**
 * Computes a client's point in a draw, in percent. All candidates of a trial use the same point, so that no client
 * belongs to two of them. In the next trial the client has another point.
 */
function computeDrawPoint(trial: string, clientHash: string): number {
  return (Number.parseInt(hash('sha256', `${trial}/${clientHash}`, 'hex').slice(0, 8), 16) / 2 ** 32) * 100;
}

function includesPoint(slices: readonly DrawRange[], place: number): boolean {
  return slices.some(({ from, to }) => from <= place && place < to);
}

/**
 * The version that a client was drawn into, which need not be the version that decides now. Clients of a candidate
 * that was taken back stay drawn into it until the shares of the other candidates change. Otherwise they would join
 * the clients with whom the other candidates are compared.
 */
interface Drawn {
  readonly draw: TrialDraw;
  /** Null if the active version decides. */
  readonly candidate: Candidate | null;
}

/** Draws the version of a client. Returns null if no candidate decides for a share of the clients. */
export function drawArm(rollout: Rollout, clientHash: string): Drawn | null {
  const { active, candidates, ended } = rollout;
  const [first] = candidates;
  if (first?.mode !== 'canary') return null;
  const place = computeDrawPoint(first.trial, clientHash);
  const since = first.stageSince;
  const candidate = candidates.find(({ slices }) => includesPoint(slices, place)) ?? null;
  const arm = candidate ?? ended.find(({ slices }) => includesPoint(slices, place));
  const percent = arm?.percent ?? getActivePercent(rollout);
  const objective = first.objective === undefined ? {} : { objective: first.objective };
  return { draw: { version: arm?.version ?? active.version, percent, since, ...objective }, candidate };
}
