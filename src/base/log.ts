import { type DestinationStream, type Logger, pino } from 'pino';

/** Names of members whose values may be secret or personal. A log line could contain them by mistake. */
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

/** The depth to which a log line is searched for SECRET_NAMES. */
const SEARCHED_LEVELS = 3;

/**
 * How many bytes are written at once. Lines are written in batches and in the background. One write for each line
 * took an eighth of the CPU under load, and a reader that stopped reading would stop the service. Such a reader now
 * misses lines.
 */
const WRITTEN_AT_ONCE_BYTES = 12 * 1024;
const LATEST_WRITE_MS = 200;
const UNWRITTEN_BYTES_MAX = 4 * 1024 * 1024;

/**
 * Creates a log of JSON lines on stderr. Stdout is left to the messages for the person who starts the service. A line
 * appears within LATEST_WRITE_MS, and all lines appear before the process ends, unless it is killed.
 */
export function createLog(level: string): Logger {
  joinedLines ??= new JoinedLines();
  return pino(
    {
      level,
      base: { service: 'client-scoring' },
      // The option `redact` of pino looks up every path in every line, which took a tenth of the CPU under load.
      formatters: { log: hideSecretValues },
      serializers: { err: serializeError },
    },
    joinedLines,
  );
}

/** One buffer for all logs of the process. */
let joinedLines: JoinedLines | null = null;

/**
 * Joins lines into one write. Pino's own destination counts the bytes of all waiting lines again with each new line.
 * That took 25 % of the time for a line, and 7 kB of the 80 kB that a verdict allocated.
 */
class JoinedLines implements DestinationStream {
  #lines = '';
  readonly #stderr;

  constructor() {
    const handOn = () => this.#handOn();
    // These handlers must be registered before those of the destination, because those write only the lines that were
    // handed on before.
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

  /** Pino calls this after a fatal line. */
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

function serializeError(error: unknown): unknown {
  return error instanceof Error ? hideSecretValues({ ...pino.stdSerializers.err(error) }) : error;
}

/** Hides the values of secret members. Returns the same object if nothing must be hidden, otherwise a copy. */
function hideSecretValues(line: Record<string, unknown>, level = 1): Record<string, unknown> {
  let copy: Record<string, unknown> | null = null;
  for (const name of Object.keys(line)) {
    const value = line[name];
    const shown = hideIfSecret(name, value, level);
    if (shown === value) continue;
    copy ??= { ...line };
    copy[name] = shown;
  }
  return copy ?? line;
}

function hideIfSecret(name: string, value: unknown, level: number): unknown {
  if (SECRET_NAMES.has(name)) return '[redacted]';
  return level < SEARCHED_LEVELS && isPlain(value) ? hideSecretValues(value, level + 1) : value;
}

/**
 * Whether a value is a plain object. Errors have their own serializer, and instances of other classes are logged
 * unchanged.
 */
function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** Switches to the level `debug` at a signal, and back at the next one, so that a running process can be examined. */
export function toggleDebugOnSignal(log: Logger, signal: NodeJS.Signals): void {
  const usual = log.level;
  process.on(signal, () => {
    log.level = log.level === usual ? 'debug' : usual;
    log.warn({ logLevel: log.level }, 'the log level was changed by a signal');
  });
}
