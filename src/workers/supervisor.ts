import cluster, { type Worker } from 'node:cluster';
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { type Address, reservePort } from '../http/server/listener.ts';
import { Gathering } from './gathering.ts';
import { isToSupervisor, type ToSupervisor, type ToWorker } from './messages.ts';

export interface SupervisorParts {
  readonly workers: number;
  readonly caller: Address;
  readonly platform: Address;
  readonly log: Logger;
}

/** A worker that died is replaced after this, doubled with each death that follows soon. */
const REPLACE_MS_MIN = 500;
const REPLACE_MS_MAX = 30_000;

/** Deaths are forgotten after this. */
const DEATHS_WINDOW_MS = 60_000;

/** With more deaths within the window, for each worker, the node ends: whoever runs it should see that. */
const DEATHS_MAX = 5;

/** Workers kept dying. */
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

class Supervisor {
  readonly #nodeId = randomUUID();
  readonly #parts: SupervisorParts;
  readonly #ports: { readonly callerPort: number; readonly platformPort: number };
  readonly #gathering = new Gathering();
  /** Those that serve, and what they said when they began. */
  readonly #ready = new Map<Worker, string>();
  readonly #alive = new Set<Worker>();
  #leader: Worker | null = null;
  #deathsMs: number[] = [];
  #stopping: NodeJS.Signals | null = null;
  #exitCode = 0;
  #announced = false;

  constructor(parts: SupervisorParts, callerPort: number, platformPort: number) {
    this.#parts = parts;
    this.#ports = { callerPort, platformPort };
  }

  async run(): Promise<void> {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => this.#stop(signal));
    process.on('SIGUSR2', () => {
      for (const worker of this.#alive) worker.process.kill('SIGUSR2');
    });
    this.#start();
  }

  #start(): void {
    const worker = cluster.fork();
    const leads = this.#leader === null;
    if (leads) this.#leader = worker;
    this.#alive.add(worker);
    worker.on('message', (message: unknown) => {
      if (isToSupervisor(message)) this.#take(worker, message);
    });
    worker.once('exit', (code, signal) => this.#ended(worker, code, signal));
    tell(worker, { kind: 'role', role: { leads, nodeId: this.#nodeId, ...this.#ports } });
  }

  #take(worker: Worker, message: ToSupervisor): void {
    switch (message.kind) {
      case 'ready':
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

  /** The others are started once the first one serves, and the node is announced once all do. */
  #nowReady(worker: Worker, line: string): void {
    this.#ready.set(worker, line);
    const { workers } = this.#parts;
    if (this.#announced) tell(worker, { kind: 'all ready' });
    else if (this.#ready.size === workers) this.#announce(line);
    else if (this.#alive.size === 1) for (let n = 1; n < workers; n++) this.#start();
  }

  #announce(line: string): void {
    this.#announced = true;
    console.log(`${line}, ${this.#parts.workers} workers`);
    for (const one of this.#ready.keys()) tell(one, { kind: 'all ready' });
  }

  #ask(asker: Worker, { id, topic, argument }: Extract<ToSupervisor, { kind: 'ask' }>): void {
    const asked = [...this.#ready.keys()];
    if (!asked.includes(asker)) asked.push(asker);
    this.#gathering.begin(
      id,
      asked.map((worker) => worker.id),
      (values) => tell(asker, { kind: 'gathered', id, values }),
    );
    for (const worker of asked) tell(worker, { kind: 'asked', id, topic, argument });
  }

  #ended(worker: Worker, code: number | null, signal: string | null): void {
    const served = this.#ready.delete(worker);
    this.#alive.delete(worker);
    this.#gathering.gone(worker.id);
    if (this.#leader === worker) this.#leader = null;
    if (this.#stopping !== null) {
      if (served && code !== 0) this.#exitCode = code ?? EXIT_FAILURE;
      this.#endWithLast();
      return;
    }
    const death = { pid: worker.process.pid, code, signal };
    // It has said itself why; whoever starts the node is told by the exit code.
    if (!served && !this.#announced) this.#giveUp(code ?? EXIT_FAILURE);
    else if (this.#deathsWithThis() > DEATHS_MAX * this.#parts.workers) {
      this.#parts.log.fatal(death, 'workers keep dying; the node ends');
      this.#giveUp(EXIT_FAILURE);
    } else this.#replace(death);
  }

  #deathsWithThis(): number {
    const now = performance.now();
    this.#deathsMs = [...this.#deathsMs.filter((ms) => now - ms < DEATHS_WINDOW_MS), now];
    return this.#deathsMs.length;
  }

  #giveUp(exitCode: number): void {
    this.#exitCode = exitCode;
    this.#stop('SIGTERM');
  }

  #replace(death: object): void {
    const waitMs = Math.min(REPLACE_MS_MAX, REPLACE_MS_MIN * 2 ** (this.#deathsMs.length - 1));
    this.#parts.log.error({ ...death, waitMs }, 'a worker ended and is replaced');
    setTimeout(() => {
      if (this.#stopping === null) this.#start();
    }, waitMs);
  }

  /** All workers drain at once: a proxy must find none of them ready. A second signal ends them at once. */
  #stop(signal: NodeJS.Signals): void {
    if (this.#stopping !== null) {
      for (const worker of this.#alive) worker.process.kill('SIGKILL');
      return;
    }
    this.#stopping = signal;
    // One that is still starting hears of it as soon as it could serve.
    for (const worker of this.#alive) tell(worker, { kind: 'drain', signal });
    this.#endWithLast();
  }

  #endWithLast(): void {
    if (this.#alive.size === 0) process.exit(this.#exitCode);
  }
}

function tell(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message);
}
