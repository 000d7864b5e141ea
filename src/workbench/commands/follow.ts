import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { StoreUnavailable } from '#state/store-errors.ts';
import { escapeControls, printError } from './print.ts';

/** How often a followed log is asked for new entries. */
const POLL_MS = 250;

/** One page of a log: `cursor` is the place after its last entry, null when there is none yet. */
interface LogPage {
  readonly entries: readonly unknown[];
  readonly cursor: string | null;
}

interface ReadLog<Page extends LogPage> {
  readonly read: (after: string | null) => Promise<Page>;
  /** Null: from the oldest entry that is kept. */
  readonly after: string | null;
  /** Whether to wait for new entries, or to end with the last. */
  readonly follow: boolean;
  readonly stop: AbortSignal;
}

/**
 * The pages of a log, one after the other. Following survives a store that is away: it says so once, and continues as
 * soon as the store answers.
 */
export async function* readPages<Page extends LogPage>(log: ReadLog<Page>): AsyncGenerator<Page> {
  const read = log.follow ? patiently(log.read) : log.read;
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

/** Gives null while the store is away. */
function patiently<Page>(read: (after: string | null) => Promise<Page>) {
  let isAway = false;
  return async (after: string | null): Promise<Page | null> => {
    try {
      const page = await read(after);
      if (isAway) printError('The store answers again; it goes on from where it stopped.');
      isAway = false;
      return page;
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      if (!isAway)
        printError(`The store does not answer, and is asked again until it does: ${error.message}`);
      isAway = true;
      return null;
    }
  };
}

/** What a command that writes page by page gets. */
interface LongOutput {
  /** Comes with SIGINT and SIGTERM, and when nobody reads standard output any more. */
  readonly stop: AbortSignal;
  /** To standard output, as fast as its reader takes it. Throws when it cannot be written for another reason than that. */
  readonly write: (text: string) => Promise<void>;
}

/** Runs a command that writes until it has written all or is told to end. A reader that goes away, such as `head`, is no error. */
export async function withLongOutput<T>(run: (output: LongOutput) => Promise<T>): Promise<T> {
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
    // The last write may still fail.
    stdout.off('error', fail).off('error', ignore).on('error', ignore);
  }
}

function ignore(): void {}
