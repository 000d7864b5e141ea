import cluster, { type Worker } from 'node:cluster';
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { type Address, reservePort } from '../http/server/listener.ts';
import { BEAT_MS, isToSupervisor, type ToSupervisor, type ToWorker } from './messages.ts';

interface SupervisorParts {
  readonly workers: number;
  readonly caller: Address;
  readonly platform: Address;
  readonly log: Logger;
}

const EXIT_FAILURE = 1;

/**
 * Runs the node in several processes that share its ports, replaces those that die, and ends when all have drained.
 * The first one leads: it starts alone, so that what cannot start is said once and ends the node with its exit code.
 * Throws ListenError when a port is taken.
 */
export async function supervise(parts: SupervisorParts): Promise<void> {
  const [callerPort, platformPort] = [
    await reservePort(parts.caller, 'PORT'),
    await reservePort(parts.platform, 'PLATFORM_PORT'),
  ];
  await new Supervisor(parts, callerPort, platformPort).run();
}

/** How a worker ended. */
interface Death {
  readonly pid: number | undefined;
  readonly code: number | null;
  readonly signal: string | null;
  readonly deathsInARow: number;
}

class Supervisor {
  readonly #nodeId = randomUUID();
  readonly #parts: SupervisorParts;
  readonly #ports: { readonly callerPort: number; readonly platformPort: number };
  readonly #gathering = new Gathering();
  readonly #slots: readonly WorkerSlot[];
  /** Workers that serve, and the line that each printed when it was ready. */
  readonly #ready = new Map<Worker, string>();
  /** Workers that run, and their slots. */
  readonly #alive = new Map<Worker, WorkerSlot>();
  #leader: Worker | null = null;
  #stopping: NodeJS.Signals | null = null;
  #exitCode = 0;
  #othersStarted = false;
  #announced = false;
  /** Counts of workers that are gone, kept until another worker can take them over. */
  #unclaimed: string[] = [];

  constructor(parts: SupervisorParts, callerPort: number, platformPort: number) {
    this.#parts = parts;
    this.#slots = Array.from({ length: parts.workers }, () => new WorkerSlot());
    this.#ports = { callerPort, platformPort };
  }

  async run(): Promise<void> {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => this.#stop(signal));
    process.on('SIGUSR2', () => {
      for (const worker of this.#alive.keys()) worker.process.kill('SIGUSR2');
    });
    setInterval(() => this.#listen(), BEAT_MS);
    for (const slot of this.#slots.slice(0, 1)) this.#startIn(slot);
  }

  #startIn(slot: WorkerSlot): void {
    const worker = cluster.fork();
    const leads = this.#leader === null;
    if (leads) this.#leader = worker;
    this.#alive.set(worker, slot);
    worker.on('message', (message: unknown) => {
      if (isToSupervisor(message)) this.#take(worker, slot, message);
    });
    worker.once('exit', (code, signal) => this.#ended(worker, slot, code, signal));
    worker.on('error', (error) => {
      // A message to a worker that has just died is lost; its exit is noticed separately.
      this.#parts.log.debug({ err: error, pid: worker.process.pid }, 'a worker could not be reached');
      if (worker.process.pid === undefined) this.#ended(worker, slot, null, null);
    });
    const { workers } = this.#parts;
    tell(worker, { kind: 'role', role: { leads, nodeId: this.#nodeId, workers, ...this.#ports } });
  }

  #take(worker: Worker, slot: WorkerSlot, message: ToSupervisor): void {
    slot.heard();
    switch (message.kind) {
      case 'alive':
        break;
      case 'ready':
        slot.serves(performance.now());
        this.#nowReady(worker, message.line);
        break;
      case 'answer':
        this.#gathering.answer(message.id, worker.id, message.value);
        break;
      case 'ask':
        this.#ask(worker, message);
        break;
      default:
        throw new Error(message satisfies never);
    }
  }

  /** The others start once the first one serves; the node is announced once all do. */
  #nowReady(worker: Worker, line: string): void {
    this.#ready.set(worker, line);
    this.#bequeath();
    if (this.#stopping !== null) return;
    if (this.#announced) tell(worker, { kind: 'all ready' });
    else if (this.#ready.size === this.#slots.length) this.#announce(line);
    else if (!this.#othersStarted) {
      this.#othersStarted = true;
      for (const slot of this.#slots.slice(1)) this.#startIn(slot);
    }
  }

  /** Gives the counts of workers that are gone to one that serves, so that the node's counters never fall. */
  #bequeath(): void {
    const [heir] = this.#ready.keys();
    if (heir === undefined) return;
    for (const value of this.#unclaimed.splice(0)) tell(heir, { kind: 'inherited', value });
  }

  #announce(line: string): void {
    this.#announced = true;
    console.log(`${line}, ${this.#slots.length} workers`);
    for (const one of this.#ready.keys()) tell(one, { kind: 'all ready' });
  }

  #ask(asker: Worker, { id, topic, argument, keep }: Extract<ToSupervisor, { kind: 'ask' }>): void {
    const asked = [...this.#ready.keys()];
    if (!asked.includes(asker)) asked.push(asker);
    this.#gathering.begin({ id, workers: asked.map((worker) => worker.id), keep }, (values) =>
      tell(asker, { kind: 'gathered', id, values }),
    );
    for (const worker of asked) tell(worker, { kind: 'asked', id, topic, argument });
  }

  /** A worker that hangs keeps its connections, so it is ended and replaced. */
  #listen(): void {
    for (const [worker, slot] of this.#alive) {
      if (!slot.isSilentTooLong()) continue;
      this.#parts.log.error({ pid: worker.process.pid }, 'a worker hangs and is ended');
      worker.process.kill('SIGKILL');
    }
  }

  #ended(worker: Worker, slot: WorkerSlot, code: number | null, signal: string | null): void {
    const served = this.#ready.delete(worker);
    this.#alive.delete(worker);
    const left = this.#gathering.gone(worker.id);
    if (left !== null) this.#unclaimed.push(left);
    this.#bequeath();
    if (this.#leader === worker) this.#leader = null;
    if (this.#stopping !== null) {
      if (served && code !== 0) this.#exitCode = code ?? EXIT_FAILURE;
      this.#endWithLast();
      return;
    }
    const waitMs = slot.died(performance.now());
    const death = { pid: worker.process.pid, code, signal, deathsInARow: slot.deathsInARow };
    if (!served && !this.#announced) this.#neverServed(death);
    else if (waitMs === null) {
      this.#parts.log.fatal(
        { ...death, exitCode: EXIT_FAILURE },
        'workers die again and again within a minute: the node drains and ends',
      );
      this.#giveUp(EXIT_FAILURE);
    } else this.#replace(slot, waitMs, death);
  }

  /** The exit code says enough for a worker that ended by itself: it has printed why. */
  #neverServed(death: Death): void {
    if (death.signal !== null)
      this.#parts.log.fatal(death, 'a worker was killed before the node served: the node ends');
    this.#giveUp(death.code ?? EXIT_FAILURE);
  }

  #giveUp(exitCode: number): void {
    this.#exitCode = exitCode;
    this.#stop('SIGTERM');
  }

  #replace(slot: WorkerSlot, waitMs: number, death: Death): void {
    this.#parts.log.error({ ...death, waitMs }, 'a worker ended and is replaced');
    setTimeout(() => {
      if (this.#stopping === null) this.#startIn(slot);
    }, waitMs);
  }

  /** All workers drain at once: a proxy must find none of them ready. A second signal ends them at once. */
  #stop(signal: NodeJS.Signals): void {
    if (this.#stopping !== null) {
      for (const worker of this.#alive.keys()) worker.process.kill('SIGKILL');
      return;
    }
    this.#stopping = signal;
    for (const worker of this.#alive.keys()) {
      if (this.#ready.has(worker)) tell(worker, { kind: 'drain', signal });
      // A worker that is still starting has nothing to drain; one that became ready meanwhile drains on SIGTERM, too.
      else worker.process.kill('SIGTERM');
    }
    this.#endWithLast();
  }

  #endWithLast(): void {
    if (this.#alive.size === 0) process.exit(this.#exitCode);
  }
}

function tell(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message);
}

/** The longest that a question waits for a worker that hangs. */
const GATHER_MS = 500;

/** One question to several workers. */
interface Question {
  readonly id: string;
  /** Their ids. */
  readonly workers: readonly number[];
  /** Whether the last answer of a worker counts when it does not answer in time. */
  readonly keep: boolean;
}

interface Gathered {
  readonly waitingFor: Set<number>;
  readonly keep: boolean;
  readonly values: string[];
  readonly done: (values: readonly string[]) => void;
  readonly timer: NodeJS.Timeout;
}

/** Collects the answers of several workers to one question. */
export class Gathering {
  readonly #open = new Map<string, Gathered>();
  readonly #kept = new Map<number, string>();

  /** `done` is called once, with what came in time. */
  begin({ id, workers, keep }: Question, done: (values: readonly string[]) => void): void {
    const timer = setTimeout(() => this.#end(id), GATHER_MS).unref();
    this.#open.set(id, { waitingFor: new Set(workers), keep, values: [], done, timer });
  }

  answer(id: string, worker: number, value: string | null): void {
    const gathered = this.#open.get(id);
    if (gathered === undefined || !gathered.waitingFor.delete(worker)) return;
    if (value !== null) gathered.values.push(value);
    if (value !== null && gathered.keep) this.#kept.set(worker, value);
    if (gathered.waitingFor.size === 0) this.#end(id);
  }

  /** Notes that a worker is gone; gives its last kept answer, or null. */
  gone(worker: number): string | null {
    const left = this.#kept.get(worker) ?? null;
    for (const [id, { keep }] of [...this.#open]) this.answer(id, worker, keep ? left : null);
    this.#kept.delete(worker);
    return left;
  }

  #end(id: string): void {
    const gathered = this.#open.get(id);
    if (gathered === undefined) return;
    this.#open.delete(id);
    clearTimeout(gathered.timer);
    const { keep, values, waitingFor } = gathered;
    const kept = keep ? [...waitingFor].flatMap((worker) => this.#kept.get(worker) ?? []) : [];
    gathered.done([...values, ...kept]);
  }
}

/** A worker that served this long before it died does not count as dying in a row. */
const SOUND_MS = 60_000;

/** The pause before a dead worker is replaced; it doubles with each death in a row. */
const WAIT_MS_MIN = 500;

/** After this many the worker is not replaced any more. */
const DEATHS_IN_A_ROW_MAX = 5;

/**
 * Far above the pauses of a sound worker: garbage collection takes less than a second, and long work runs in threads.
 */
const SILENT_BEATS_MAX = 10;

/** Starting may take long on a busy machine. */
const SILENT_BEATS_MAX_AT_START = 60;

/**
 * One of a node's slots for workers: when its worker hangs, and whether a dead one is replaced. It knows no process:
 * the supervisor tells it what happened, and when on a monotonic clock, in ms.
 */
export class WorkerSlot {
  #servesSinceMs: number | null = null;
  #silentBeats = 0;
  #deathsInARow = 0;

  get deathsInARow(): number {
    return this.#deathsInARow;
  }

  serves(nowMs: number): void {
    this.#servesSinceMs = nowMs;
  }

  heard(): void {
    this.#silentBeats = 0;
  }

  /**
   * To be called once a beat. Counts beats instead of time, so that nobody counts as silent after a pause of the
   * whole machine.
   */
  isSilentTooLong(): boolean {
    this.#silentBeats++;
    return this.#silentBeats > (this.#servesSinceMs === null ? SILENT_BEATS_MAX_AT_START : SILENT_BEATS_MAX);
  }

  /** How long to wait before the dead worker is replaced, in ms; null: it is not. */
  died(nowMs: number): number | null {
    const wasSound = this.#servesSinceMs !== null && nowMs - this.#servesSinceMs >= SOUND_MS;
    this.#deathsInARow = wasSound ? 1 : this.#deathsInARow + 1;
    this.#servesSinceMs = null;
    this.#silentBeats = 0;
    if (this.#deathsInARow >= DEATHS_IN_A_ROW_MAX) return null;
    return WAIT_MS_MIN * 2 ** (this.#deathsInARow - 1);
  }
}
