/** How often a worker says that its event loop runs, and how often the supervisor checks. */
export const BEAT_MS = 1000;

/** What a worker is to do, and where it listens. */
export interface Role {
  readonly leads: boolean;
  readonly nodeId: string;
  /** How many the node has. */
  readonly workers: number;
  readonly callerPort: number;
  readonly platformPort: number;
}

/** From the supervisor to a worker. Values of topics are JSON. */
export type ToWorker =
  | { readonly kind: 'role'; readonly role: Role }
  | { readonly kind: 'all ready' }
  | { readonly kind: 'asked'; readonly id: string; readonly topic: string; readonly argument: string }
  | { readonly kind: 'gathered'; readonly id: string; readonly values: readonly string[] }
  /** The last answer of a worker that is gone. */
  | { readonly kind: 'inherited'; readonly value: string }
  | { readonly kind: 'drain'; readonly signal: NodeJS.Signals };

/** From a worker to its supervisor. */
export type ToSupervisor =
  | { readonly kind: 'alive' }
  | { readonly kind: 'ready'; readonly line: string }
  | {
      readonly kind: 'ask';
      readonly id: string;
      readonly topic: string;
      readonly argument: string;
      readonly keep: boolean;
    }
  /** `value` is null when the worker has nothing to say on the topic. */
  | { readonly kind: 'answer'; readonly id: string; readonly value: string | null };

const TO_WORKER: ReadonlySet<unknown> = new Set([
  'role',
  'all ready',
  'asked',
  'gathered',
  'inherited',
  'drain',
]);
const TO_SUPERVISOR: ReadonlySet<unknown> = new Set(['alive', 'ready', 'ask', 'answer']);

/** Node itself sends messages on the same channel. */
export function isToWorker(message: unknown): message is ToWorker {
  return hasKind(message) && TO_WORKER.has(message.kind);
}

export function isToSupervisor(message: unknown): message is ToSupervisor {
  return hasKind(message) && TO_SUPERVISOR.has(message.kind);
}

function hasKind(message: unknown): message is { readonly kind: unknown } {
  return typeof message === 'object' && message !== null && 'kind' in message;
}
