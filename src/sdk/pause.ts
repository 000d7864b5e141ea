/** An AbortSignal, where the project knows its type (lib DOM, @types/node); elsewhere what is used of one. */
export type Signal = typeof globalThis extends { AbortSignal: { prototype: infer Known } }
  ? Known
  : {
      readonly aborted: boolean;
      readonly reason: unknown;
      addEventListener(type: 'abort', listener: () => void, options?: { readonly once?: boolean }): void;
      removeEventListener(type: 'abort', listener: () => void): void;
    };

/** Resolves after `durationMs`; rejects with the signal's reason when it is aborted meanwhile. */
export function pause(durationMs: number, signal?: Signal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, durationMs);
    signal?.addEventListener('abort', abort, { once: true });
    return undefined;
  });
}
