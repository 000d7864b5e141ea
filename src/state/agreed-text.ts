import type { Registers } from './store.ts';

/** What all nodes of a store hold in a register that is written once: that of the first one. `own` is noted where there is none. */
export async function agreedText(
  registers: Pick<Registers, 'read' | 'compareAndSet'>,
  name: string,
  own: string,
): Promise<string> {
  const known = await registers.read(name);
  if (known !== null) return known;
  return (await registers.compareAndSet(name, null, own)) ? own : agreedText(registers, name, own);
}
