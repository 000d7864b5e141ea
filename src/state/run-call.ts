/** Runs one call on a store within its time limit; throws StoreUnavailable when it fails or is late. */
export type RunCall = <T>(call: () => Promise<T>) => Promise<T>;
