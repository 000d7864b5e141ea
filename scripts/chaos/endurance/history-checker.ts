/** What a verdict told its caller, as far as the ladder of one client decides it. */
export interface VerdictSeen {
  readonly verdict: string;
  /** Null when the answer carried none. */
  readonly waitSeconds: number | null;
  /** Number of the decision among those of the client, from 1. */
  readonly seq: number;
}

/** What became of one operation, seen from outside. */
export type Seen =
  /** It took effect, and this is what was answered. */
  | { readonly kind: 'verdict'; readonly answer: VerdictSeen }
  | { readonly kind: 'paid' }
  /** Nobody heard what became of it: it took effect once, between its start and its end, or never. */
  | { readonly kind: 'unknown'; readonly operation: 'verdict' | 'paid' };

/**
 * One operation on one client. Moments are on one clock. One whose answer nobody heard never ends (Infinity);
 * one that was refused (503) ends with the refusal, after which it must not take effect any more.
 */
export interface Operation {
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly seen: Seen;
}

/** The ladder of one client, as the interface has it (section 3.2), while no wait is served. */
export interface Model {
  /** 0: no attempt; 1: an attempt is open; from 2 on: the wait of level 1, 2, ... */
  readonly rung: number;
  /** Decisions so far. */
  readonly seq: number;
}

const START: Model = { rung: 0, seq: 0 };

/** Operations are kept as bits of a number. */
const OPERATIONS_MAX = 30;

/**
 * Whether the operations of one client could have happened one after the other, each at one moment between
 * its start and its end, on a ladder with these waits (seconds, level 1 first). Tries every order, and
 * remembers where it has been: Wing and Gong's search with Lowe's memory.
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
    const place = `${done} ${model.rung} ${model.seq}`;
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
 * Those that may be the next: none that must still come ended before they started, and none that was done
 * started after they ended.
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

/** The ladder after an operation; null when the operation cannot have been answered like that here. */
export function apply(model: Model, seen: Seen, waitsSeconds: readonly number[]): Model | null {
  switch (seen.kind) {
    case 'paid':
      return { ...model, rung: 0 };
    case 'verdict':
      return isAnswerOf(model, seen.answer, waitsSeconds) ? stepped(model, waitsSeconds) : null;
    case 'unknown':
      return seen.operation === 'paid' ? { ...model, rung: 0 } : stepped(model, waitsSeconds);
    default:
      throw new Error(seen satisfies never);
  }
}

function stepped({ rung, seq }: Model, waitsSeconds: readonly number[]): Model {
  return { rung: Math.min(rung + 1, waitsSeconds.length + 1), seq: seq + 1 };
}

function isAnswerOf(model: Model, answer: VerdictSeen, waitsSeconds: readonly number[]): boolean {
  const { rung, seq } = stepped(model, waitsSeconds);
  if (answer.seq !== seq) return false;
  if (rung === 1) return answer.verdict === 'GET_NEW' && answer.waitSeconds === null;
  return answer.verdict === 'WAIT' && answer.waitSeconds === waitsSeconds[rung - 2];
}
