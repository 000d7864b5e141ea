import { type DestinationStream, type Logger, pino } from 'pino';

/** Names under which something secret or personal could slip into a log line by mistake. */
const SECRET_NAMES: ReadonlySet<string> = new Set([
  'key',
  'accessKey',
  'x-ka-access-key',
  'fingerprint',
  'ip',
  'userAgent',
  'signalSecret',
  'password',
]);

/** How deep a line is searched for these names. */
const SEARCHED_LEVELS = 3;

/**
 * Lines are written several at a time and in the background: one by one they took an eighth of the CPU under
 * load, and a reader who stopped reading would stop the service. Such a reader misses lines instead.
 */
const WRITTEN_AT_ONCE_BYTES = 12 * 1024;
const LATEST_WRITE_MS = 200;
const UNWRITTEN_BYTES_MAX = 4 * 1024 * 1024;

/**
 * JSON lines on stderr; stdout is left to what a person starting the service reads. Lines appear within
 * LATEST_WRITE_MS, and all of them before the process ends, unless it is killed.
 */
export function createLog(level: string): Logger {
  joinedLines ??= new JoinedLines();
  return pino(
    {
      level,
      base: { service: 'client-scoring' },
      // Pino's own `redact` looks up every path in every line, which took a tenth of the CPU under load.
      formatters: { log: censored },
      serializers: { err: shownError },
    },
    joinedLines,
  );
}

/** Those of the process, whatever its logs. */
let joinedLines: JoinedLines | null = null;

/**
 * Joins lines to what is written at once. Pino's destination can do so, too, but counts the bytes of all that waits anew
 * with every line: a quarter of what a line took, and 7 of 80 kB that a verdict allocated.
 */
class JoinedLines implements DestinationStream {
  #lines = '';
  readonly #stderr;

  constructor() {
    const handOn = () => this.#handOn();
    // Before the destination listens, which writes at the end what it has by then.
    process.on('beforeExit', handOn).on('exit', handOn);
    setInterval(handOn, LATEST_WRITE_MS / 2).unref();
    this.#stderr = pino.destination({
      dest: 2,
      sync: false,
      minLength: WRITTEN_AT_ONCE_BYTES,
      maxLength: UNWRITTEN_BYTES_MAX,
      periodicFlush: LATEST_WRITE_MS / 2,
    });
  }

  write(line: string): void {
    this.#lines += line;
    if (this.#lines.length >= WRITTEN_AT_ONCE_BYTES) this.#handOn();
  }

  /** Pino asks for it after a fatal line. */
  flushSync(): void {
    this.#handOn();
    this.#stderr.flushSync();
  }

  #handOn(): void {
    if (this.#lines === '') return;
    this.#stderr.write(this.#lines);
    this.#lines = '';
  }
}

function shownError(error: unknown): unknown {
  return error instanceof Error ? censored({ ...pino.stdSerializers.err(error) }) : error;
}

/** The same object when there is nothing to hide in it, otherwise a copy that hides it. */
function censored(line: Record<string, unknown>, level = 1): Record<string, unknown> {
  let copy: Record<string, unknown> | null = null;
  for (const name of Object.keys(line)) {
    const value = line[name];
    const shown = shownAs(name, value, level);
    if (shown === value) continue;
    copy ??= { ...line };
    copy[name] = shown;
  }
  return copy ?? line;
}

function shownAs(name: string, value: unknown, level: number): unknown {
  if (SECRET_NAMES.has(name)) return '[redacted]';
  return level < SEARCHED_LEVELS && isPlain(value) ? censored(value, level + 1) : value;
}

/** Errors are left to their serializer; what else has a class knows how to write itself. */
function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** Turns to `debug`, and at the next signal back to the level before; for a look at a process that runs. */
export function toggleDebugOnSignal(log: Logger, signal: NodeJS.Signals): void {
  const usual = log.level;
  process.on(signal, () => {
    log.level = log.level === usual ? 'debug' : usual;
    log.warn({ logLevel: log.level }, 'the log level was changed by a signal');
  });
}
