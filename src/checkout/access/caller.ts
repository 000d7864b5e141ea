import type { PlatformName } from '#decision/payer/client-key.ts';
import type { AccessKey, GrantableOperation } from './access-keys.ts';

/** A key or a person that uses the HTTP API. */
export interface Actor {
  /** A unique id, like `key 3f9a0c51d2e7` or `person:248289761001`. */
  readonly id: string;
  /** The person or team that answers for the actor. Null if nobody was named. */
  readonly owner: string | null;
  /** The name that people see, like `key 3f9a0c51d2e7 of risk-team`. */
  readonly text: string;
}

export function toKeyActor({ id, owner }: Pick<AccessKey, 'id' | 'owner'>): Actor {
  const name = `key ${id}`;
  return owner === undefined
    ? { id: name, owner: null, text: name }
    : { id: name, owner, text: `${name} of ${owner}` };
}

export interface CredentialRef {
  /** `user` is a user of the operating system who can reach the store and uses commands. */
  readonly kind: 'key' | 'session' | 'user';
  readonly id: string;
}

export interface Caller {
  readonly actor: Actor;
  /** The platform whose clients, orders and decisions the caller sees. `*` is the whole installation. */
  readonly platform: PlatformName;
  readonly operations: readonly GrantableOperation[];
  /** The key or session. When it ends, long work that the caller started ends as well. */
  readonly credential: CredentialRef;
  /** ISO 8601. Null if the key or session does not expire. */
  readonly expiresAt: string | null;
}

export function toKeyCaller(key: AccessKey): Caller {
  const { id, platform, operations, expiresAt } = key;
  return { actor: toKeyActor(key), platform, operations, credential: { kind: 'key', id }, expiresAt };
}
