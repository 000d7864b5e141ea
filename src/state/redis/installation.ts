import { randomUUID } from 'node:crypto';
import { createSalt, SALT_REGISTER } from '#state/client-salt.ts';
import { DOCUMENTS, getPartition, installationKey, PARTITIONS, VERSIONS } from '#state/keys.ts';
import {
  ANOTHER_STORE_REMEDY,
  type ExpectedInstallation,
  explainEmptyStore,
  explainOtherInstallation,
  explainSaltDifference,
  INSTALLATION_REGISTER,
  type KnownInstallation,
  requireExpectedInstallation,
} from '#state/known-installation.ts';
import type { Registers } from '#state/store.ts';
import { StoreUnavailable } from '#state/store-errors.ts';
import type { RedisAccess } from './connection/connection.ts';
import { areSomeTexts, callChecked, isTextOrNull } from './connection/reply.ts';
import { agreeOnText } from './shared-records.ts';

/** Among the versions that every node reads twice a second: says so that the store was not emptied. */
const HINT = 'installation';

/**
 * What stands beside the installation for a shape that is kept in its partition, so that a commit asks for both at once. They are written
 * together, and whoever believes that a shape is there has stored it long before it ends.
 */
export const shapeMember = (installation: string, shapeId: string): string => `${installation} ${shapeId}`;

/** What a store is expected to hold, and with which salt a new one begins. */
interface OpenInstallation {
  readonly expected: ExpectedInstallation | null;
  /** Somebody accepts whatever the store holds, or that it holds nothing. */
  readonly isAccepted: boolean;
  readonly salt: string | undefined;
}

type OwnRegisters = Pick<Registers, 'read' | 'compareAndSet'>;

/**
 * Which installation the masters belong to. Each partition has a key that says so since the first start and moves with it, and a
 * commit is refused where it is missing or names another one: neither a restored copy that finds its way into the running cluster nor
 * a server that came back empty may decide for payers.
 */
export class Installation {
  readonly #door: RedisAccess;
  readonly #registers: OwnRegisters;
  #known: KnownInstallation = { id: '', salt: '' };
  #refusal: StoreUnavailable | null = null;
  #verifying: Promise<void> | null = null;
  /** Partitions whose commits were refused. */
  readonly #suspects = new Set<string>();

  /** `door` and `registers` must not ask `refusal`: they also reach a store that is refused. */
  constructor(door: RedisAccess, registers: OwnRegisters) {
    this.#door = door;
    this.#registers = registers;
  }

  get known(): KnownInstallation {
    return this.#known;
  }

  /** Why nothing may be asked of this store now; null while it is the one that was opened. */
  readonly refusal = (): StoreUnavailable | null => this.#refusal;

  /**
   * Takes over what the masters hold, or makes it where they are empty. Throws StoreUnavailable when they belong to several
   * installations, and AnotherStore when they do not hold what is expected.
   */
  async open({ expected, isAccepted, salt }: OpenInstallation): Promise<void> {
    const { name } = this.#door.connection;
    const { id, salt: kept, held } = await this.#found();
    if (!isAccepted) requireExpectedInstallation(name, id === null ? null : { id, salt: kept }, expected);
    // A new salt would make every payer unknown.
    if (held.size > 0 && kept === null && expected === null) throw new StoreUnavailable(lostSalt(name));
    this.#known = {
      id: id ?? (await agreeOnText(this.#registers, INSTALLATION_REGISTER, expected?.id ?? randomUUID())),
      salt: await agreeOnText(this.#registers, SALT_REGISTER, expected?.salt ?? salt ?? createSalt()),
    };
    const unclaimed = PARTITIONS.filter((one) => !held.has(one));
    if (held.size === 0 || isAccepted) await Promise.all(unclaimed.map((one) => this.#claim(one)));
    await this.#putHint();
  }

  /** What the masters hold: an id and a salt, each null where there is none, and which partitions have the id. */
  async #found() {
    const registered = await this.#registers.read(INSTALLATION_REGISTER);
    const ids = await this.#idsOf(PARTITIONS);
    const { name } = this.#door.connection;
    const owners = new Map<string, string>(registered === null ? [] : [[registered, name]]);
    for (const [partition, id] of ids) owners.set(id, this.#nodeOf(partition));
    const [first, second] = owners;
    if (first !== undefined && second !== undefined)
      throw new StoreUnavailable(
        `the masters belong to several installations: ${first[1]} to ${first[0]}, ${second[1]} to ${second[0]}; take the restored copies out of this cluster`,
      );
    const salt = await this.#registers.read(SALT_REGISTER);
    return { id: first?.[0] ?? null, salt, held: new Set(ids.map(([partition]) => partition)) };
  }

  /**
   * Compares with the hint that was read just now, and looks closely where it is missing or another one. Throws
   * StoreUnavailable when this is not the known store.
   */
  async verify(hint: string | undefined): Promise<void> {
    if (hint !== this.#known.id || this.#refusal !== null) await this.look();
    if (this.#refusal !== null) throw this.#refusal;
  }

  /** The same for those who did not read a hint. It never rejects: whatever cannot be read stays as it was known. */
  async recheck(): Promise<void> {
    const { commands, runOn } = this.#door;
    try {
      const [hint, salt] = await Promise.all([
        runOn(VERSIONS)(() => callChecked('HGET', commands.hGet(VERSIONS, HINT), isTextOrNull)),
        this.#registers.read(SALT_REGISTER),
      ]);
      const isKnown = hint === this.#known.id && salt === this.#known.salt && this.#refusal === null;
      if (!isKnown) await this.look();
    } catch {
      // The check of the servers says which of them is away.
    }
  }

  /** Finds out whether the server with the documents still holds this installation, and settles `refusal` by that. */
  look(): Promise<void> {
    this.#verifying ??= this.#look().finally(() => {
      this.#verifying = null;
    });
    return this.#verifying;
  }

  /** Notes that a commit on a client was refused because its partition does not hold this installation. */
  suspect(clientHash: string): void {
    this.#suspects.add(getPartition(clientHash));
    this.look().catch(() => {
      // The next check says what is wrong.
    });
  }

  /** Why commits on a server are refused; null when they are not. `evicts` says whether it has forgotten keys. */
  async strangerOn(node: string, evicts: () => Promise<boolean>): Promise<string | null> {
    const own = PARTITIONS.filter((one) => this.#nodeOf(one) === node);
    const asked = new Set([...own.slice(0, 1), ...own.filter((one) => this.#suspects.has(one))]);
    const { others, without } = await this.#heldBy([...asked]);
    const [other] = others;
    if (other !== undefined) return explainOtherInstallation(other, this.#known.id);
    if (without.length > 0) return this.#lossOn(own, evicts);
    for (const one of asked) this.#suspects.delete(one);
    return null;
  }

  /** A server that forgets keys may also forget to whom its partitions belong, which is written again. */
  async #lossOn(own: readonly string[], evicts: () => Promise<boolean>): Promise<string | null> {
    const { without } = await this.#heldBy(own);
    if (without.length === own.length) return explainEmptyStore(this.#known.id);
    if (!(await evicts()))
      return `${without.length} of its ${own.length} partitions hold nothing of installation ${this.#known.id}; ${ANOTHER_STORE_REMEDY}`;
    for (const partition of without) await this.#claim(partition);
    return null;
  }

  async #look(): Promise<void> {
    const { id, salt } = this.#known;
    const home = this.#door.connection.nodeOf(DOCUMENTS);
    const near = PARTITIONS.filter((one) => this.#nodeOf(one) === home);
    const asked = near.length === 0 ? PARTITIONS : near;
    const [{ others, without }, kept] = await Promise.all([
      this.#heldBy(asked),
      this.#registers.read(SALT_REGISTER),
    ]);
    const [other] = others;
    const why =
      other !== undefined
        ? explainOtherInstallation(other, id)
        : without.length === asked.length
          ? explainEmptyStore(id)
          : kept !== null && kept !== salt
            ? explainSaltDifference()
            : null;
    const { name } = this.#door.connection;
    this.#refusal = why === null ? null : new StoreUnavailable(`${name} is another store: ${why}`);
    if (why !== null) return;
    if (kept === null) await agreeOnText(this.#registers, SALT_REGISTER, salt);
    await this.#putHint();
  }

  async #putHint(): Promise<void> {
    const { commands, runOn } = this.#door;
    await runOn(VERSIONS)(() => commands.hSet(VERSIONS, HINT, this.#known.id));
  }

  async #claim(partition: string): Promise<void> {
    const { commands, runOn } = this.#door;
    const key = installationKey(partition);
    await runOn(key)(() => commands.sAdd(key, this.#known.id));
  }

  /** Whose partitions these are: other installations, and the partitions that are nobody's. */
  async #heldBy(partitions: readonly string[]) {
    const ids = await this.#idsOf(partitions);
    const held = new Set(ids.map(([partition]) => partition));
    return {
      others: new Set(ids.map(([, id]) => id).filter((id) => id !== this.#known.id)),
      without: partitions.filter((one) => !held.has(one)),
    };
  }

  async #idsOf(
    partitions: readonly string[],
  ): Promise<readonly (readonly [partition: string, id: string])[]> {
    const ids = await Promise.all(
      partitions.map(async (partition) => {
        const key = installationKey(partition);
        const members = () => callChecked('SMEMBERS', this.#door.commands.sMembers(key), areSomeTexts);
        const ids = (await this.#door.runOn(key)(members)).filter((member) => !member.includes(' '));
        return ids.map((id) => [partition, id] as const);
      }),
    );
    return ids.flat();
  }

  #nodeOf(partition: string): string {
    return this.#door.connection.nodeOf(installationKey(partition));
  }

  /** The hint among versions that were read. */
  readonly hintIn = (versions: Readonly<Record<string, unknown>>): string | undefined => {
    const hint = versions[HINT];
    return typeof hint === 'string' ? hint : undefined;
  };
}

function lostSalt(name: string): string {
  return `${name} has lost its register ${SALT_REGISTER}, so no payer could be found; put back what stood there, from a backup of the store or from the file ${SALT_REGISTER} in the folder of its archive`;
}
