/** A promise that a server does not keep, or that could not be checked. */
export const WARNING_KINDS = ['clock', 'version', 'eviction', 'append-only', 'memory', 'unchecked'] as const;

export interface StoreWarning {
  readonly kind: (typeof WARNING_KINDS)[number];
  /** For the operator: what is wrong, and what to do. */
  readonly text: string;
}

/** The result of a small test write on one server of the store. */
export interface ServerHealth {
  /** For people: kind and address, without credentials. */
  readonly server: string;
  /** Why the clients that it keeps get 503; null when writes work. */
  readonly failure: string | null;
  /** It is not the store that this process opened, or lost what it held. */
  readonly isAnotherStore?: true;
  /** Another node reaches this server and all others: what is wrong is between this node and the server. */
  readonly onlyHere?: true;
  readonly warnings: readonly StoreWarning[];
  /** How much of its memory limit it uses, 0 to 1; absent without a limit, or when it does not say. */
  readonly memoryUsedShare?: number;
  /** How many keys it has forgotten to stay within its memory; absent when it does not say. */
  readonly evictedKeys?: number;
}

/** The health of the store, server by server: the only one, or each master of a cluster. */
export type StoreHealth = readonly ServerHealth[];

/** Why a server did not take a write, in its own words where it has some. */
export function explainFailure(error: unknown): string {
  const { cause } = error instanceof Error ? error : { cause: undefined };
  const told = cause instanceof Error ? cause : error;
  // Redis adds which line of which script it refused.
  return told instanceof Error ? told.message.replace(/\.?( script: [0-9a-f]{40}.*)?$/, '') : String(told);
}
