import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { LRUCache } from 'lru-cache';
import type { Archive } from './archive.ts';
import type { Segment } from './archive-log.ts';

const BITS_PER_ORDER = 10;

/**
 * The filter has ten bits for each order and tests seven of them, so about one segment in a hundred is read in vain.
 */
const PROBES = 7;

const HASH_BITS = 32n;
const LOW_BITS = (1n << HASH_BITS) - 1n;

/**
 * A Bloom filter beside a segment that says which orders the segment may hold. It takes 1.3 bytes for each order.
 * Parquet has Bloom filters, too, but the engine writes them only for columns with a dictionary. A dictionary of
 * values that never repeat takes 16 bytes a row.
 */
export class OrderBloomFilter {
  readonly #bits: Buffer;

  private constructor(bits: Buffer) {
    this.#bits = bits;
  }

  static of(orders: readonly bigint[]): OrderBloomFilter {
    const filter = new OrderBloomFilter(
      Buffer.alloc(Math.max(8, Math.ceil((orders.length * BITS_PER_ORDER) / 8))),
    );
    for (const order of orders) for (const bit of filter.#probes(order)) filter.#set(bit);
    return filter;
  }

  static from(bytes: Buffer): OrderBloomFilter {
    return new OrderBloomFilter(bytes);
  }

  get bytes(): Buffer {
    return this.#bits;
  }

  /** Returns false only if the segment does not hold the order. */
  mayHold(order: bigint): boolean {
    return this.#probes(order).every((bit) => ((this.#bits[bit >>> 3] ?? 0) & (1 << (bit & 7))) !== 0);
  }

  #set(bit: number): void {
    this.#bits[bit >>> 3] = (this.#bits[bit >>> 3] ?? 0) | (1 << (bit & 7));
  }

  #probes(order: bigint): readonly number[] {
    const size = this.#bits.length * 8;
    const first = Number(order & LOW_BITS);
    // The step is odd, so that the probes of one order are different bits.
    const step = Number(order >> HASH_BITS) | 1;
    return Array.from({ length: PROBES }, (_, probe) => (first + probe * (step >>> 0)) % size);
  }
}

/** SQL for the number of an order. `toOrderNumber` computes the same number outside of SQL. */
export const ORDER_NUMBER_SQL = 'md5_number_lower(order_ref)';

/** Returns the 64-bit number of an order, which is made of its orderRef. */
export function toOrderNumber(orderRef: string): bigint {
  return hash('md5', orderRef, 'buffer').readBigUInt64LE(8);
}

/** The memory, in bytes, for filters that were read. It has room for the filters of fifty million decisions. */
const KEPT_BYTES_MAX = 64 << 20;

/** The order filters of segments. They stay in memory after they were read, because a segment never changes. */
export class OrderBloomFilters {
  readonly #archive: Archive;
  readonly #filters = new LRUCache<string, OrderBloomFilter>({
    maxSize: KEPT_BYTES_MAX,
    sizeCalculation: (filter) => filter.bytes.length,
  });

  constructor(archive: Archive) {
    this.#archive = archive;
  }

  async selectSegmentsThatMayHold(
    segments: readonly Segment[],
    orderRefs: readonly string[],
  ): Promise<readonly Segment[]> {
    const unknown = segments.filter(({ name }) => !this.#filters.has(name));
    await this.#archive.makeReadable(unknown, ['orders']);
    const numbers = orderRefs.map(toOrderNumber);
    return segments.filter((segment) => {
      const filter = this.#filters.get(segment.name) ?? this.#read(segment);
      return filter === null || numbers.some((number) => filter.mayHold(number));
    });
  }

  /** Reads a filter. Returns null if its file cannot be read, so that the segment itself is searched. */
  #read(segment: Segment): OrderBloomFilter | null {
    try {
      const filter = OrderBloomFilter.from(readFileSync(this.#archive.getSegmentPath(segment, 'orders')));
      this.#filters.set(segment.name, filter);
      return filter;
    } catch {
      return null;
    }
  }
}
