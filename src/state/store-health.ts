/** The requirement that a server breaks, or `unchecked` if the requirements could not be checked. */
export const WARNING_KINDS = ['clock', 'version', 'eviction', 'append-only', 'memory', 'unchecked'] as const;

export interface StoreWarning {
  readonly kind: (typeof WARNING_KINDS)[number];
  /** Tells the operator what is wrong and what to do. */
  readonly text: string;
}

/** The result of a small test write on one server of the store. */
export interface ServerHealth {
  /** Kind and address for people, without credentials. */
  readonly server: string;
  /** Why the clients on this server get 503. Null if writes work. */
  readonly failure: string | null;
  /** Present if the server belongs to another store than the one that this process opened, or has lost its contents. */
  readonly isAnotherStore?: true;
  /**
   * Present if another node reaches this server and all others, so that the fault lies between this node and the
   * server.
   */
  readonly onlyHere?: true;
  readonly warnings: readonly StoreWarning[];
  /**
   * The used share of the server's memory limit, 0 to 1. Missing if there is no limit or the server does not report
   * it.
   */
  readonly memoryUsedShare?: number;
  /**
   * The number of keys that the server evicted to stay within its memory. Missing if the server does not report it.
   */
  readonly evictedKeys?: number;
}

/** The health of the store by server: the only server, or each master of a cluster. */
export type StoreHealth = readonly ServerHealth[];

/** Explains why a server refused a write, in the server's own words if there are any. */
export function explainStoreFailure(error: unknown): string {
  const { cause } = error instanceof Error ? error : { cause: undefined };
  const told = cause instanceof Error ? cause : error;
  // Redis appends which line of which script failed.
  return told instanceof Error ? told.message.replace(/\.?( script: [0-9a-f]{40}.*)?$/, '') : String(told);
}
