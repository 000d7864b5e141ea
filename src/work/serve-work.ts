import { parentPort } from 'node:worker_threads';
import { giveWay, STOP } from './far-end.ts';

/** Who waits for work, as the work sees him. */
export interface Watch<Progress = never> {
  readonly progress: (progress: Progress) => void;
  /** That nobody waits any more; only a servant lives to see it. */
  readonly signal: AbortSignal;
}

/** What a module does for others, by name; tasks, progress and results are plain data. */
export type Works = Readonly<Record<string, (task: never, watch: Watch<unknown>) => unknown>>;

/** What comes back: how far the work is, then its result or what it threw. */
export type Word<Result, Progress> =
  | { readonly progress: Progress }
  | { readonly result: Result }
  | { readonly thrown: { readonly name: string; readonly message: string } };

/** Does what `WorkElsewhere` orders of the module that calls this, in its thread or process: one work at a time. */
export function serveWork(works: Works): void {
  giveWay();
  const send = (word: Word<unknown, unknown>) => {
    if (parentPort !== null) parentPort.postMessage(word);
    // Nobody is left to be told when it fails.
    else process.send?.(word, () => {});
  };
  let stopping = new AbortController();
  const hear = async (order: { readonly kind: string; readonly task: never } | typeof STOP) => {
    if (order === STOP) return stopping.abort();
    stopping = new AbortController();
    const watch = { progress: (progress: unknown) => send({ progress }), signal: stopping.signal };
    try {
      send({ result: await works[order.kind]?.(order.task, watch) });
    } catch (error) {
      const { name, message } = error instanceof Error ? error : { name: 'Error', message: String(error) };
      send({ thrown: { name, message } });
    }
  };
  (parentPort ?? process).on('message', hear);
}
