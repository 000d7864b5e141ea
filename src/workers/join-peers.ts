import { randomUUID } from 'node:crypto';
import { BEAT_MS, isToWorker, type Role, type ToSupervisor, type ToWorker } from './messages.ts';
import type { Peers } from './peers.ts';

/** This worker's peers, and its role. */
export interface Joined {
  readonly peers: Peers;
  readonly role: Role;
}

type Answer = (argument: string) => Promise<unknown>;

/** Waits for the role that the supervisor gives this worker. */
export async function joinPeers(): Promise<Joined> {
  const channel = new Channel();
  const role = await channel.role;
  const peers: Peers = {
    leads: role.leads,
    nodeId: role.nodeId,
    workers: role.workers,
    pid: process.ppid,
    topic: <T>(name: string, answer: (argument: string) => Promise<T>, inherit?: (left: T) => void) => {
      channel.answers.set(name, answer);
      if (inherit !== undefined) channel.onInherited = (text) => inherit(JSON.parse(text));
      return async (argument: string) => {
        const texts = await channel.ask(name, argument, inherit !== undefined);
        return texts.map((text): T => JSON.parse(text));
      };
    },
    ready: async (line) => {
      send({ kind: 'ready', line });
      await channel.allReady;
    },
    onDrain: (drain) => {
      process.on('SIGTERM', drain);
      // Ctrl-C reaches all processes at once; the supervisor decides what happens.
      process.on('SIGINT', () => {});
      void channel.drain.then(drain);
    },
  };
  return { peers, role };
}

/** The messages between this worker and its supervisor. */
class Channel {
  readonly answers = new Map<string, Answer>();
  onInherited: (text: string) => void = () => {};
  readonly #asked = new Map<string, (values: readonly string[]) => void>();
  readonly #role = Promise.withResolvers<Role>();
  readonly #allReady = Promise.withResolvers<void>();
  readonly #drain = Promise.withResolvers<NodeJS.Signals>();

  constructor() {
    process.on('message', (message) => {
      if (isToWorker(message)) this.#take(message);
    });
    setInterval(() => send({ kind: 'alive' }), BEAT_MS).unref();
    // Without a supervisor nobody would end this process. Node's orderly exit was seen to wait for a thread for ever
    // when the store and the reader of the log were gone, too.
    process.prependOnceListener('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  }

  get role(): Promise<Role> {
    return this.#role.promise;
  }

  get allReady(): Promise<void> {
    return this.#allReady.promise;
  }

  get drain(): Promise<NodeJS.Signals> {
    return this.#drain.promise;
  }

  ask(topic: string, argument: string, keep: boolean): Promise<readonly string[]> {
    const id = randomUUID();
    const { promise, resolve } = Promise.withResolvers<readonly string[]>();
    this.#asked.set(id, resolve);
    send({ kind: 'ask', id, topic, argument, keep });
    return promise;
  }

  #take(message: ToWorker): void {
    switch (message.kind) {
      case 'role':
        this.#role.resolve(message.role);
        break;
      case 'all ready':
        this.#allReady.resolve();
        break;
      case 'drain':
        this.#drain.resolve(message.signal);
        break;
      case 'gathered':
        this.#asked.get(message.id)?.(message.values);
        this.#asked.delete(message.id);
        break;
      case 'inherited':
        this.onInherited(message.value);
        break;
      case 'asked':
        void this.#answer(message.id, message.topic, message.argument);
        break;
      default:
        throw new Error(message satisfies never);
    }
  }

  async #answer(id: string, topic: string, argument: string): Promise<void> {
    // A worker that is still starting has no answer yet.
    const answer = this.answers.get(topic);
    const value = answer === undefined ? null : JSON.stringify(await answer(argument));
    send({ kind: 'answer', id, value });
  }
}

function send(message: ToSupervisor): void {
  // Without a supervisor this process ends, too.
  if (process.connected) process.send?.(message);
}
