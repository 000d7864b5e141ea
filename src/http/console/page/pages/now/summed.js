import { count, share } from '../../parts/format.js';

/**
 * @template T
 * @param {readonly T[]} slots
 * @param {(slot: T) => number} pick
 */
export function sumOf(slots, pick) {
  return slots.reduce((sum, slot) => sum + pick(slot), 0);
}

/**
 * Series of one value a slot, with the sum of the whole span, or its share of `all`.
 * @template T
 * @param {readonly T[]} slots
 * @param {number | null} all
 * @param {readonly { name: string, color: string, pick: (slot: T) => number }[]} parts
 */
export function summed(slots, all, parts) {
  return parts.map(({ name, color, pick }) => {
    const sum = sumOf(slots, pick);
    return { name, color, values: slots.map(pick), total: all === null ? count(sum) : share(sum, all) };
  });
}
