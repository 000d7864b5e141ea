import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { StoreUnavailable } from '#state/store-errors.ts';
import { escapeControls, printError } from './print.ts';

/** The interval, in ms, at which a followed log is asked for new entries. */
const POLL_MS = 250;

/** One page of a log. `cursor` is the position after its last entry, or null if the log has no entry yet. */
interface LogPage {
  readonly entries: readonly unknown[];
  readonly cursor: string | null;
}

interface LogReadOptions<Page extends LogPage> {
  readonly read: (after: string | null) => Promise<Page>;
  /** The cursor after which reading begins. Null begins with the oldest entry that is kept. */
  readonly after: string | null;
  /** Whether to wait for new entries when the last one was read. */
  readonly follow: boolean;
  readonly stop: AbortSignal;
}

/**
 * Yields the pages of a log, one after the other. If the store does not answer while the log is followed, a message
 * says so once, and reading continues as soon as the store answers.
 */
export async function* readLogPages<Page extends LogPage>(log: LogReadOptions<Page>): AsyncGenerator<Page> {
  const read = log.follow ? waitForStore(log.read) : log.read;
  let { after } = log;
  while (!log.stop.aborted) {
    const page = await read(after);
    if (page !== null) yield page;
    if (page !== null && page.cursor !== after) {
      after = page.cursor;
      continue;
    }
    if (!log.follow) return;
    await sleep(POLL_MS, undefined, { signal: log.stop }).catch(() => {});
  }
}

/** Wraps a reader so that it returns null while the store does not answer. */
function waitForStore<Page>(read: (after: string | null) => Promise<Page>) {
  let isAway = false;
  return async (after: string | null): Promise<Page | null> => {
    try {
      const page = await read(after);
      if (isAway) printError('The store answers again; the command goes on where it stopped.');
      isAway = false;
      return page;
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      if (!isAway) printError(`The store does not answer; trying again until it does: ${error.message}`);
      isAway = true;
      return null;
    }
  };
}

/** The output of a command that writes page by page. */
interface StoppableOutput {
  /** Aborts at SIGINT and SIGTERM, and when the reader of standard output has gone. */
  readonly stop: AbortSignal;
  /**
   * Writes to standard output as fast as its reader takes the text. A reader that has gone is no error. Every other
   * failure throws.
   */
  readonly write: (text: string) => Promise<void>;
}

/**
 * Runs a command that writes until it has written everything or is told to end. A reader that goes away, such as
 * `head`, is no error.
 */
export async function withStoppableOutput<T>(run: (output: StoppableOutput) => Promise<T>): Promise<T> {
  const { stdout } = process;
  const ending = new AbortController();
  const end = () => ending.abort();
  let failure: NodeJS.ErrnoException | null = null;
  const fail = (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') failure = error;
    end();
  };
  const write = async (text: string) => {
    const isTaken = stdout.write(escapeControls(text));
    if (!isTaken) await once(stdout, 'drain', { signal: ending.signal }).catch(() => {});
    if (failure !== null) throw failure;
  };
  process.once('SIGINT', end).once('SIGTERM', end);
  stdout.on('error', fail);
  try {
    return await run({ stop: ending.signal, write });
  } finally {
    process.off('SIGINT', end).off('SIGTERM', end);
    // A write that is still under way may fail later. That error is ignored.
    stdout.off('error', fail).off('error', ignore).on('error', ignore);
  }
}

function ignore(): void {}
