import { randomUUID } from 'node:crypto';
import { installationKey, PARTITIONS } from '../keys.ts';
import type { Registers } from '../store.ts';
import { StoreUnavailable } from '../store-errors.ts';
import type { RedisDoor } from './connection/connection.ts';
import { areSomeTexts, checked } from './connection/reply.ts';
import { agreedText } from './shared-records.ts';

/** Holds the id from the first start until every partition has had a commit. */
const REGISTER = 'installation';

/**
 * What stands beside the installation for a shape that is kept in its partition, so that a commit asks for both at once. They are written
 * together, and whoever believes that a shape is there has stored it long before it ends.
 */
export const shapeMember = (installation: string, shapeId: string): string => `${installation} ${shapeId}`;

/**
 * Which installation the masters belong to. Each partition has a key that says so and moves with it, and a commit is refused
 * where it names another one: a restored copy that finds its way into the running cluster must not decide for its payers.
 */
export class Installation {
  readonly #door: RedisDoor;
  readonly #registers: Pick<Registers, 'read' | 'compareAndSet'>;
  #id = '';

  constructor(door: RedisDoor, registers: Pick<Registers, 'read' | 'compareAndSet'>) {
    this.#door = door;
    this.#registers = registers;
  }

  get id(): string {
    return this.#id;
  }

  /** Takes over the id that the masters have, or makes one for new ones. Throws StoreUnavailable when they have several. */
  async open(): Promise<void> {
    const owners = new Map<string, string>();
    const made = await this.#registers.read(REGISTER);
    if (made !== null) owners.set(made, this.#door.connection.name);
    for (const [partition, id] of await this.#idsOf(PARTITIONS))
      owners.set(id, this.#door.connection.nodeOf(installationKey(partition)));
    const [first, second] = owners;
    if (first !== undefined && second !== undefined)
      throw new StoreUnavailable(
        `the masters belong to several installations: ${first[1]} to ${first[0]}, ${second[1]} to ${second[0]}; take the restored copies out of this cluster`,
      );
    this.#id = first?.[0] ?? (await agreedText(this.#registers, REGISTER, randomUUID()));
  }

  /** Why commits on a server are refused; null when they are not. */
  async strangerOn(node: string): Promise<string | null> {
    const own = PARTITIONS.filter((one) => this.#door.connection.nodeOf(installationKey(one)) === node);
    for (const [, id] of await this.#idsOf(own.slice(0, 1)))
      if (id !== this.#id) return `it belongs to installation ${id}, and this node to ${this.#id}`;
    return null;
  }

  async #idsOf(
    partitions: readonly string[],
  ): Promise<readonly (readonly [partition: string, id: string])[]> {
    const ids = await Promise.all(
      partitions.map(async (partition) => {
        const key = installationKey(partition);
        const members = () => checked('SMEMBERS', this.#door.commands.sMembers(key), areSomeTexts);
        const ids = (await this.#door.runOn(key)(members)).filter((member) => !member.includes(' '));
        return ids.map((id) => [partition, id] as const);
      }),
    );
    return ids.flat();
  }
}
