import { hash } from 'node:crypto';
import type { Draw } from '../decision/decision.ts';
import type { Candidate, Rollout, Share } from './rollout.ts';

/** A part of the clients, from one place in the draw to another, in percent. */
export interface Slice {
  readonly from: number;
  readonly to: number;
}

/** Places closer together than this are the same: percent are written with few digits. */
const SAME_PLACE_PERCENT = 1e-9;

/**
 * The slices of each candidate from the next stage on: who is in at 10 % is in at 20 %, and nobody comes from another
 * candidate that stays as large.
 */
export function dealt(
  wanted: readonly { readonly percent: number; readonly before: readonly Slice[] }[],
): readonly (readonly Slice[])[] {
  const kept = wanted.map(({ percent, before }) => upTo(percent, before));
  return wanted.reduce(
    (all, { percent }, place) =>
      all.with(place, upTo(percent, [...(all[place] ?? []), ...freeBeside(all.flat())])),
    kept,
  );
}

/** The first of the slices that make up these percent. */
function upTo(percent: number, slices: readonly Slice[]): readonly Slice[] {
  let left = percent;
  return slices.flatMap(({ from, to }) => {
    const width = Math.min(left, to - from);
    left -= width;
    return width <= SAME_PLACE_PERCENT ? [] : [{ from, to: from + width }];
  });
}

function freeBeside(taken: readonly Slice[]): readonly Slice[] {
  const sorted = taken.toSorted((a, b) => a.from - b.from);
  const starts = [0, ...sorted.map(({ to }) => to)];
  const ends = [...sorted.map(({ from }) => from), 100];
  return starts.map((from, place) => ({ from, to: ends[place] ?? 100 }));
}

/** Why candidates cannot be drawn with these shares; null when they can. */
export function whyNoDraw(shares: readonly Share[]): string | null {
  const twice = shares.find(
    ({ version }, place) => shares.findIndex((one) => one.version === version) < place,
  );
  if (twice !== undefined) return `names ${twice.version} twice; each candidate has one share`;
  const percent = totalOf(shares);
  return percent > 100 ? `gives away ${percent} percent of the clients; choose 100 or fewer in all` : null;
}

/** Rounded: percent are written with few digits, and their binary sums are not. */
export function totalOf(shares: readonly { readonly percent: number }[]): number {
  return Number(shares.reduce((sum, { percent }) => sum + percent, 0).toFixed(6));
}

/** The percent of the clients that are drawn into no candidate: those that all of them are compared with. */
export function activePercent({ candidates, ended }: Pick<Rollout, 'candidates' | 'ended'>): number {
  return Math.max(0, 100 - totalOf([...candidates, ...ended]));
}

/**
 * Where a client stands in a draw, in percent: the same for all candidates of a trial, so that their clients are
 * others, and another one in the next trial.
 */
export function placeOf(trial: string, clientHash: string): number {
  return (Number.parseInt(hash('sha256', `${trial}/${clientHash}`, 'hex').slice(0, 8), 16) / 2 ** 32) * 100;
}

function holds(slices: readonly Slice[], place: number): boolean {
  return slices.some(({ from, to }) => from <= place && place < to);
}

/**
 * What a client was drawn into, whatever decides for it now: the clients of a candidate that was taken back stay
 * drawn into it until the shares of the others change, or they would flow into what those are compared with.
 */
export interface Drawn {
  readonly draw: Draw;
  /** Null: the active version decides. */
  readonly candidate: Candidate | null;
}

/** Null when nothing is drawn: no candidate decides for a share of the clients. */
export function drawOf(rollout: Rollout, clientHash: string): Drawn | null {
  const { active, candidates, ended } = rollout;
  const [first] = candidates;
  if (first?.mode !== 'canary') return null;
  const place = placeOf(first.trial, clientHash);
  const since = first.stageSince;
  const candidate = candidates.find(({ slices }) => holds(slices, place)) ?? null;
  const arm = candidate ?? ended.find(({ slices }) => holds(slices, place));
  const percent = arm?.percent ?? activePercent(rollout);
  return { draw: { version: arm?.version ?? active.version, percent, since }, candidate };
}
