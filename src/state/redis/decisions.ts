import { searchThrottle } from '#base/work/step-throttle.ts';
import type { Decision } from '#decision/decision.ts';
import { type ClientKey, type PlatformName, parseDecisionId } from '#decision/payer/client-key.ts';
import * as redis from '#state/keys.ts';
import { RETENTION } from '#state/retention.ts';
import { StoreUnavailable } from '#state/store-errors.ts';
import { RecordReader, type StoredRecord } from '#state/stored-parts.ts';
import type { RedisAccess } from './connection/connection.ts';
import { callChecked, createTextsCheck, isTextOrNull } from './connection/reply.ts';

/** The most records that one command reads. */
const BATCH_RECORDS_MAX = 100;

interface DecisionPlace {
  readonly clientHash: string;
  readonly seq: number;
}

/** Reads decision records by client and number, and by order. */
export class RedisDecisionReader {
  readonly reader: RecordReader;
  readonly #door: RedisAccess;

  constructor(door: RedisAccess) {
    this.#door = door;
    this.reader = new RecordReader((id, clientHash) => {
      const key = redis.shapeKey(redis.getPartitionTag(clientHash), id);
      return door.runOn(key)(() => callChecked('GET', door.commands.get(key), isTextOrNull));
    });
  }

  async findById(decisionId: string): Promise<Decision | null> {
    const place = parseDecisionId(decisionId);
    if (place === null) return null;
    const [decision = null] = await this.readAt([place]);
    return decision?.decisionId === decisionId ? decision : null;
  }

  /**
   * Reads the decisions at some positions of one partition, in the sequence of the positions. A missing decision is
   * null.
   */
  async readAt(places: readonly DecisionPlace[]): Promise<readonly (Decision | null)[]> {
    return (await this.readEach(places)).map((read) => read?.() ?? null);
  }

  /** Reads decisions as `readAt` does. A decision that cannot be read throws only when the caller takes it. */
  async readEach(places: readonly DecisionPlace[]): Promise<readonly ((() => Decision) | null)[]> {
    const decisions: ((() => Decision) | null)[] = [];
    for (let start = 0; start < places.length; start += BATCH_RECORDS_MAX) {
      const some = places.slice(start, start + BATCH_RECORDS_MAX);
      const texts = await this.#texts(some);
      for (const [index, { clientHash }] of some.entries()) {
        const text = texts[index] ?? null;
        decisions.push(text === null ? null : await this.#read({ clientHash, text }));
      }
    }
    return decisions;
  }

  async #read(record: StoredRecord): Promise<() => Decision> {
    try {
      const decision = await this.reader.decodeRecord(record);
      return () => decision;
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      return () => {
        throw error;
      };
    }
  }

  /** Reads a client's decisions up to the number `newest`, the newest first. */
  async listOfClient(clientHash: string, newest: number, limit: number): Promise<readonly Decision[]> {
    const count = Math.max(0, Math.min(limit, newest));
    const places = Array.from({ length: count }, (_, index) => ({ clientHash, seq: newest - index }));
    return (await searchThrottle.mapInSteps(places, (some) => this.readAt(some))).filter(
      (decision) => decision !== null,
    );
  }

  /**
   * Finds the newest decisions of an order, the newest first. The commit of a decision notes the order on the server
   * that holds the client. Therefore a verdict asks only one server, and the rare search for an order asks all
   * servers.
   */
  async listOfOrder(platform: PlatformName, orderRef: string): Promise<readonly Decision[]> {
    const order = redis.hashOrderRef(platform, orderRef);
    const name = redis.formatOrderNote(order, '');
    const noted = await Promise.all(
      redis.PARTITION_TAGS.map((partition) => {
        const key = redis.ordersKey(partition, order);
        return this.#door.runOn(key)(() =>
          callChecked('ZRANGE', this.#door.commands.zRangeWithScores(key, 0, -1), Array.isArray),
        );
      }),
    );
    const places = noted
      .flat()
      .filter(({ value }) => value.startsWith(name))
      .map(({ value, score }) => {
        const [seq = '', clientHash = ''] = value.slice(name.length).split('.');
        return { clientHash, seq: Number(seq.slice(1)), score };
      })
      .toSorted((a, b) => b.score - a.score || b.seq - a.seq)
      .slice(0, RETENTION.decisionsPerOrder);
    const found = await searchThrottle.mapInSteps(places, (some) =>
      Promise.all(some.map((place) => this.readAt([place]))),
    );
    return found
      .flat()
      .filter((decision) => decision !== null)
      .filter((decision) => decision.platform === platform && decision.orderRef === orderRef)
      .toSorted((a, b) => b.at - a.at || b.seq - a.seq);
  }

  /** Removes the notes that a client's decisions were about an order. */
  async forgetOrder(
    { platform, hash }: Pick<ClientKey, 'platform' | 'hash'>,
    orderRef: string,
  ): Promise<void> {
    const order = redis.hashOrderRef(platform, orderRef);
    const key = redis.ordersKey(redis.getPartitionTag(hash), order);
    const run = this.#door.runOn(key);
    const notes = await run(() => this.#door.commands.zRange(key, 0, -1));
    const name = redis.formatOrderNote(order, '');
    const mine = notes.filter((note) => note.startsWith(name) && note.endsWith(`.${hash}`));
    if (mine.length > 0) await run(() => this.#door.commands.zRem(key, mine));
  }

  #texts(places: readonly DecisionPlace[]): Promise<readonly (string | null)[]> {
    const keys = places.map(({ clientHash, seq }) => redis.decisionKey(clientHash, seq));
    return this.#door.runOn(redis.stateKey(places[0]?.clientHash ?? 'A'))(() =>
      callChecked('MGET', this.#door.commands.mGet(keys), createTextsCheck(keys.length)),
    );
  }
}
