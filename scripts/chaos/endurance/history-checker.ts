/** The part of a verdict that depends on the ladder. */
export interface VerdictSeen {
  readonly verdict: string;
  /** Null when the answer had none. */
  readonly waitSeconds: number | null;
  /** Number of the decision among those of the client, from 1. */
  readonly seq: number;
}

/** The result of one operation, as seen by the caller. */
export type Seen =
  /** It took effect, and this is what was answered. */
  | { readonly kind: 'verdict'; readonly answer: VerdictSeen }
  | { readonly kind: 'paid' }
  /** The result is unknown: it took effect once, between its start and its end, or never. */
  | { readonly kind: 'unknown'; readonly operation: 'verdict' | 'paid' };

/**
 * One operation on one client; all times are on one clock. An operation without an answer never ends (Infinity); a
 * refused one (503) ends with the refusal, after which it must not take effect.
 */
export interface Operation {
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly seen: Seen;
}

/** The ladder of one client, as the interface has it (section 3.2), while no wait is served. */
export interface Model {
  /** 0: no attempt; 1: an attempt is open; from 2 on: the wait of level 1, 2, ... */
  readonly waitLevel: number;
  /** Decisions so far. */
  readonly seq: number;
}

const START: Model = { waitLevel: 0, seq: 0 };

/** Operations are kept as bits of a number. */
const OPERATIONS_MAX = 30;

/**
 * Whether the operations of one client could have happened one after the other, each at one moment between its start
 * and its end, on a ladder with these waits (seconds, level 1 first). Tries every order without visiting a state
 * twice: Wing and Gong's search with Lowe's cache.
 */
export function isLinearizable(history: readonly Operation[], waitsSeconds: readonly number[]): boolean {
  if (history.length > OPERATIONS_MAX) throw new RangeError(`at most ${OPERATIONS_MAX} operations`);
  const known = history.reduce(
    (bits, { seen }, index) => (seen.kind === 'unknown' ? bits : bits | (1 << index)),
    0,
  );
  const visited = new Set<string>();
  const search = (done: number, model: Model): boolean => {
    if ((done & known) === known) return true;
    const place = `${done} ${model.waitLevel} ${model.seq}`;
    if (visited.has(place)) return false;
    visited.add(place);
    return nextOperations(history, done).some((index) => {
      const operation = history[index];
      const next = operation === undefined ? null : apply(model, operation.seen, waitsSeconds);
      return next !== null && search(done | (1 << index), next);
    });
  };
  return search(0, START);
}

/**
 * Operations that may be next: no remaining one ended before they started, and no done one started after they ended.
 */
function nextOperations(history: readonly Operation[], done: number): readonly number[] {
  const isDone = (index: number) => (done & (1 << index)) !== 0;
  const missing = history.filter(({ seen }, index) => !isDone(index) && seen.kind !== 'unknown');
  const firstEndMs = Math.min(...missing.map(({ endedAtMs }) => endedAtMs));
  const latestStartMs = Math.max(
    ...history.filter((_, index) => isDone(index)).map(({ startedAtMs }) => startedAtMs),
  );
  return history.flatMap(({ startedAtMs, endedAtMs }, index) =>
    !isDone(index) && startedAtMs <= firstEndMs && endedAtMs >= latestStartMs ? [index] : [],
  );
}

/** The ladder after an operation; null when that answer is impossible here. */
export function apply(model: Model, seen: Seen, waitsSeconds: readonly number[]): Model | null {
  switch (seen.kind) {
    case 'paid':
      return { ...model, waitLevel: 0 };
    case 'verdict':
      return isAnswerOf(model, seen.answer, waitsSeconds) ? stepped(model, waitsSeconds) : null;
    case 'unknown':
      return seen.operation === 'paid' ? { ...model, waitLevel: 0 } : stepped(model, waitsSeconds);
    default:
      throw new Error(seen satisfies never);
  }
}

function stepped({ waitLevel, seq }: Model, waitsSeconds: readonly number[]): Model {
  return { waitLevel: Math.min(waitLevel + 1, waitsSeconds.length + 1), seq: seq + 1 };
}

function isAnswerOf(model: Model, answer: VerdictSeen, waitsSeconds: readonly number[]): boolean {
  const { waitLevel, seq } = stepped(model, waitsSeconds);
  if (answer.seq !== seq) return false;
  if (waitLevel === 1) return answer.verdict === 'GET_NEW' && answer.waitSeconds === null;
  return answer.verdict === 'WAIT' && answer.waitSeconds === waitsSeconds[waitLevel - 2];
}
