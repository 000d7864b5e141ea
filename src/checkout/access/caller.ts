import type { PlatformName } from '#decision/payer/client-key.ts';
import type { AccessKey, Operation } from './access-keys.ts';

/** A key or person that uses the HTTP API. */
export interface Actor {
  /** Unique, like `key 3f9a0c51d2e7` or `person:248289761001`. */
  readonly id: string;
  /** The person or team that answers for it; null when nobody was named. */
  readonly owner: string | null;
  /** The name shown to people, like `key 3f9a0c51d2e7 of risk-team`. */
  readonly text: string;
}

export function toActor({ id, owner }: Pick<AccessKey, 'id' | 'owner'>): Actor {
  const name = `key ${id}`;
  return owner === undefined
    ? { id: name, owner: null, text: name }
    : { id: name, owner, text: `${name} of ${owner}` };
}

export interface Credential {
  /** `user`: of the operating system, who holds the store and asks by a command. */
  readonly kind: 'key' | 'session' | 'user';
  readonly id: string;
}

export interface Caller {
  readonly actor: Actor;
  /** Whose clients, orders and decisions it sees; `*` is the whole installation. */
  readonly platform: PlatformName;
  readonly operations: readonly Operation[];
  /** The key or session; when it ends, so does long work that it started. */
  readonly credential: Credential;
  /** ISO 8601; null: never. */
  readonly expiresAt: string | null;
}

export function toCaller(key: AccessKey): Caller {
  const { id, platform, operations, expiresAt } = key;
  return { actor: toActor(key), platform, operations, credential: { kind: 'key', id }, expiresAt };
}
