import type { Store } from '#state/store.ts';

/** A store with some parts replaced. */
export function storeWith(store: Store, parts: Partial<Store>): Store {
  return new Proxy(store, {
    get: (target, name) => {
      const part: unknown = Reflect.get(name in parts ? parts : target, name);
      return typeof part === 'function' ? part.bind(target) : part;
    },
  });
}
