import { parentPort } from 'node:worker_threads';
import { lowerOwnPriority, STOP_JOB_MESSAGE } from './runner.ts';

/** Lets a job report progress and learn that it must stop. */
export interface JobContext<Progress = never> {
  readonly progress: (progress: Progress) => void;
  /** Aborted to stop an endless job. Other jobs are ended without notice. */
  readonly signal: AbortSignal;
}

/** The jobs of a module by name. Tasks, progress and results are plain data. */
export type Jobs = Readonly<Record<string, (task: never, watch: JobContext<unknown>) => unknown>>;

/** The messages that a job sends back: its progress, then its result or error. */
export type JobReply<Result, Progress> =
  | { readonly progress: Progress }
  | { readonly result: Result }
  | { readonly thrown: { readonly name: string; readonly message: string } };

/**
 * Runs the jobs of `BackgroundWork` in the thread or process of the calling module. The sender posts one job at a
 * time.
 */
export function serveWork(jobs: Jobs): void {
  lowerOwnPriority();
  const send = (message: JobReply<unknown, unknown>) => {
    if (parentPort !== null) parentPort.postMessage(message);
    // If sending fails, the receiver is gone.
    else process.send?.(message, () => {});
  };
  let stopping = new AbortController();
  const hear = async (order: { readonly kind: string; readonly task: never } | typeof STOP_JOB_MESSAGE) => {
    if (order === STOP_JOB_MESSAGE) return stopping.abort();
    stopping = new AbortController();
    const watch = { progress: (progress: unknown) => send({ progress }), signal: stopping.signal };
    try {
      send({ result: await jobs[order.kind]?.(order.task, watch) });
    } catch (error) {
      const { name, message } = error instanceof Error ? error : { name: 'Error', message: String(error) };
      send({ thrown: { name, message } });
    }
  };
  (parentPort ?? process).on('message', hear);
}
