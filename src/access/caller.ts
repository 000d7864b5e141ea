import type { PlatformName } from '../client/client-key.ts';
import type { AccessKey, Operation } from './access-keys.ts';
import { type Actor, actorOfKey } from './actor.ts';

/** By its id. */
export interface Credential {
  readonly kind: 'key' | 'session';
  readonly id: string;
}

/** Whoever asks something of the service, and what it may do. */
export interface Caller {
  readonly actor: Actor;
  /** Whose clients, orders and decisions it sees; `*` is the whole installation. */
  readonly platform: PlatformName;
  readonly operations: readonly Operation[];
  /** What ends work that lasts, when it ends: a key or a session. */
  readonly credential: Credential;
  /** ISO 8601; null: it may ask for ever. */
  readonly expiresAt: string | null;
}

export function callerOfKey(key: AccessKey): Caller {
  const { id, platform, operations, expiresAt } = key;
  return { actor: actorOfKey(key), platform, operations, credential: { kind: 'key', id }, expiresAt };
}
