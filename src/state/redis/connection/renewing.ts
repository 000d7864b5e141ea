/** The part of a client that is needed to end its connection and to make another. */
interface Client {
  readonly isOpen: boolean;
  destroy(): unknown;
  connect(): Promise<unknown>;
}

/** Ends a client's connection without waiting for what is under way on it, and connects again until that works. */
export function renewing(clientNow: () => Client | undefined, onError: (error: Error) => void): () => void {
  let isRenewing = false;
  return () => {
    const client = clientNow();
    if (isRenewing || client === undefined || !client.isOpen) return;
    isRenewing = true;
    Promise.try(() => client.destroy())
      .then(() => client.connect())
      .catch(onError)
      .finally(() => {
        isRenewing = false;
      });
  };
}
