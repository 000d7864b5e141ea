import { readFileSync } from 'node:fs';
import { LRUCache } from 'lru-cache';
import type { Archive } from '../archive.ts';
import type { Segment } from '../archive-log.ts';
import { OrderFilter, orderNumber } from '../order-filter.ts';

/** Filters of fifty million decisions. */
const KEPT_BYTES_MAX = 64 << 20;

/** The order filters of segments, kept in memory once they were read: a segment never changes. */
export class OrderFilters {
  readonly #archive: Archive;
  readonly #filters = new LRUCache<string, OrderFilter>({
    maxSize: KEPT_BYTES_MAX,
    sizeCalculation: (filter) => filter.bytes.length,
  });

  constructor(archive: Archive) {
    this.#archive = archive;
  }

  /** Those that may hold a decision about one of the orders. */
  async holding(segments: readonly Segment[], orderRefs: readonly string[]): Promise<readonly Segment[]> {
    const unknown = segments.filter(({ name }) => !this.#filters.has(name));
    await this.#archive.bring(unknown, ['orders']);
    const numbers = orderRefs.map(orderNumber);
    return segments.filter((segment) => {
      const filter = this.#filters.get(segment.name) ?? this.#read(segment);
      return filter === null || numbers.some((number) => filter.mayHold(number));
    });
  }

  /** Null when the file is missing: then the segment itself is looked through. */
  #read(segment: Segment): OrderFilter | null {
    try {
      const filter = OrderFilter.from(readFileSync(this.#archive.pathOf(segment, 'orders')));
      this.#filters.set(segment.name, filter);
      return filter;
    } catch {
      return null;
    }
  }
}
