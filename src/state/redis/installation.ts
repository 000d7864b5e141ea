import { randomUUID } from 'node:crypto';
import { createSalt, SALT_REGISTER } from '#state/client-salt.ts';
import {
  DOCUMENTS_TAG,
  getPartitionTag,
  installationKey,
  PARTITION_TAGS,
  VERSIONS_KEY,
} from '#state/keys.ts';
import {
  ANOTHER_STORE_REMEDY,
  type ExpectedInstallation,
  explainEmptyStore,
  explainOtherInstallation,
  explainSaltDifference,
  INSTALLATION_ID_REGISTER,
  type InstallationIdentity,
  requireExpectedInstallation,
} from '#state/known-installation.ts';
import type { Registers } from '#state/store.ts';
import { StoreUnavailable } from '#state/store-errors.ts';
import type { RedisAccess } from './connection/connection.ts';
import { areAllTexts, callChecked, isTextOrNull } from './connection/reply.ts';
import { agreeOnText } from './shared-records.ts';

/**
 * A field of VERSIONS_KEY, which every node reads twice a second. It holds the id of the installation. If it is
 * missing, the store may have been emptied.
 */
const HINT = 'installation';

/**
 * The member of a partition's set (`installationKey`) that stands for the installation and for a stored shape, so
 * that a commit asks for both at once. The member and the shape are written together, and a node that believes that a
 * shape is there stored it long before it expires.
 */
export const formatInstallationShapeMember = (installation: string, shapeId: string): string =>
  `${installation} ${shapeId}`;

/** What a store is expected to hold, and the salt with which a new store begins. */
interface OpenInstallation {
  readonly expected: ExpectedInstallation | null;
  /** Whether somebody accepts the store whatever it holds, even if it is empty. */
  readonly isAccepted: boolean;
  readonly salt: string | undefined;
}

type OwnRegisters = Pick<Registers, 'read' | 'compareAndSet'>;

/**
 * Checks which installation the masters belong to. Since the first start each partition has a key with the
 * installation's id, and the key moves with the partition. A commit is refused if the key is missing or names another
 * installation. Therefore neither a restored copy that joins the running cluster nor a server that came back empty
 * decides for payers.
 */
export class InstallationCheck {
  readonly #door: RedisAccess;
  readonly #registers: OwnRegisters;
  #known: InstallationIdentity = { id: '', salt: '' };
  #refusal: StoreUnavailable | null = null;
  #verifying: Promise<void> | null = null;
  /** Partitions whose commits were refused. */
  readonly #suspects = new Set<string>();

  /** `door` and `registers` must not check `refusal`, because they must also reach a refused store. */
  constructor(door: RedisAccess, registers: OwnRegisters) {
    this.#door = door;
    this.#registers = registers;
  }

  get known(): InstallationIdentity {
    return this.#known;
  }

  /** Returns why this store may not be used now. Returns null if it is the store that was opened. */
  readonly refusal = (): StoreUnavailable | null => this.#refusal;

  /**
   * Adopts the installation that the masters hold, or creates one if they are empty. Throws StoreUnavailable if they
   * belong to several installations, and AnotherStore if they do not hold the expected one.
   */
  async open({ expected, isAccepted, salt }: OpenInstallation): Promise<void> {
    const { name } = this.#door.connection;
    const { id, salt: kept, held } = await this.#findHeld();
    if (!isAccepted) requireExpectedInstallation(name, id === null ? null : { id, salt: kept }, expected);
    // A new salt would make every payer unknown.
    if (held.size > 0 && kept === null && expected === null)
      throw new StoreUnavailable(explainLostSalt(name));
    this.#known = {
      id: id ?? (await agreeOnText(this.#registers, INSTALLATION_ID_REGISTER, expected?.id ?? randomUUID())),
      salt: await agreeOnText(this.#registers, SALT_REGISTER, expected?.salt ?? salt ?? createSalt()),
    };
    const unclaimed = PARTITION_TAGS.filter((one) => !held.has(one));
    if (held.size === 0 || isAccepted) await Promise.all(unclaimed.map((one) => this.#claim(one)));
    await this.#putHint();
  }

  /** Finds what the masters hold: an id and a salt (null if there is none), and the partitions that have the id. */
  async #findHeld() {
    const registered = await this.#registers.read(INSTALLATION_ID_REGISTER);
    const ids = await this.#readIds(PARTITION_TAGS);
    const { name } = this.#door.connection;
    const owners = new Map<string, string>(registered === null ? [] : [[registered, name]]);
    for (const [partition, id] of ids) owners.set(id, this.#nodeOf(partition));
    const [first, second] = owners;
    if (first !== undefined && second !== undefined)
      throw new StoreUnavailable(
        `the masters belong to several installations: ${first[1]} to ${first[0]}, ${second[1]} to ${second[0]}; remove the restored copies from this cluster`,
      );
    const salt = await this.#registers.read(SALT_REGISTER);
    return { id: first?.[0] ?? null, salt, held: new Set(ids.map(([partition]) => partition)) };
  }

  /**
   * Compares a hint that was just read with the known installation. If it is missing or differs, the store is
   * examined. Throws StoreUnavailable if this is not the known store.
   */
  async verify(hint: string | undefined): Promise<void> {
    if (hint !== this.#known.id || this.#refusal !== null) await this.look();
    if (this.#refusal !== null) throw this.#refusal;
  }

  /** Reads the hint and verifies it. It never rejects. If something cannot be read, the known result stays. */
  async recheck(): Promise<void> {
    const { commands, runOn } = this.#door;
    try {
      const [hint, salt] = await Promise.all([
        runOn(VERSIONS_KEY)(() => callChecked('HGET', commands.hGet(VERSIONS_KEY, HINT), isTextOrNull)),
        this.#registers.read(SALT_REGISTER),
      ]);
      const isKnown = hint === this.#known.id && salt === this.#known.salt && this.#refusal === null;
      if (!isKnown) await this.look();
    } catch {
      // The health check reports which server is away.
    }
  }

  /** Examines whether the server with the documents still holds this installation, and sets `refusal` accordingly. */
  look(): Promise<void> {
    this.#verifying ??= this.#look().finally(() => {
      this.#verifying = null;
    });
    return this.#verifying;
  }

  /** Notes that a commit was refused because the client's partition does not hold this installation. */
  suspect(clientHash: string): void {
    this.#suspects.add(getPartitionTag(clientHash));
    this.look().catch(() => {
      // The next check reports what is wrong.
    });
  }

  /**
   * Explains why commits on a server are refused. Returns null if they are not. `evicts` says whether the server has
   * evicted keys.
   */
  async strangerOn(node: string, evicts: () => Promise<boolean>): Promise<string | null> {
    const own = PARTITION_TAGS.filter((one) => this.#nodeOf(one) === node);
    const asked = new Set([...own.slice(0, 1), ...own.filter((one) => this.#suspects.has(one))]);
    const { others, without } = await this.#findHolders([...asked]);
    const [other] = others;
    if (other !== undefined) return explainOtherInstallation(other, this.#known.id);
    if (without.length > 0) return this.#explainLoss(own, evicts);
    for (const one of asked) this.#suspects.delete(one);
    return null;
  }

  /**
   * Explains what a server lost. A server that evicts keys may also have evicted the ids of its partitions. These ids
   * are written again.
   */
  async #explainLoss(own: readonly string[], evicts: () => Promise<boolean>): Promise<string | null> {
    const { without } = await this.#findHolders(own);
    if (without.length === own.length) return explainEmptyStore(this.#known.id);
    if (!(await evicts()))
      return `${without.length} of its ${own.length} partitions hold nothing of installation ${this.#known.id}; ${ANOTHER_STORE_REMEDY}`;
    for (const partition of without) await this.#claim(partition);
    return null;
  }

  async #look(): Promise<void> {
    const { id, salt } = this.#known;
    const home = this.#door.connection.serverOf(DOCUMENTS_TAG);
    const near = PARTITION_TAGS.filter((one) => this.#nodeOf(one) === home);
    const asked = near.length === 0 ? PARTITION_TAGS : near;
    const [{ others, without }, kept] = await Promise.all([
      this.#findHolders(asked),
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
    await runOn(VERSIONS_KEY)(() => commands.hSet(VERSIONS_KEY, HINT, this.#known.id));
  }

  async #claim(partition: string): Promise<void> {
    const { commands, runOn } = this.#door;
    const key = installationKey(partition);
    await runOn(key)(() => commands.sAdd(key, this.#known.id));
  }

  /** Finds which other installations hold some of these partitions, and which partitions nobody holds. */
  async #findHolders(partitions: readonly string[]) {
    const ids = await this.#readIds(partitions);
    const held = new Set(ids.map(([partition]) => partition));
    return {
      others: new Set(ids.map(([, id]) => id).filter((id) => id !== this.#known.id)),
      without: partitions.filter((one) => !held.has(one)),
    };
  }

  async #readIds(
    partitions: readonly string[],
  ): Promise<readonly (readonly [partition: string, id: string])[]> {
    const ids = await Promise.all(
      partitions.map(async (partition) => {
        const key = installationKey(partition);
        const members = () => callChecked('SMEMBERS', this.#door.commands.sMembers(key), areAllTexts);
        const ids = (await this.#door.runOn(key)(members)).filter((member) => !member.includes(' '));
        return ids.map((id) => [partition, id] as const);
      }),
    );
    return ids.flat();
  }

  #nodeOf(partition: string): string {
    return this.#door.connection.serverOf(installationKey(partition));
  }

  /** Finds the hint among versions that were read. */
  readonly hintIn = (versions: Readonly<Record<string, unknown>>): string | undefined => {
    const hint = versions[HINT];
    return typeof hint === 'string' ? hint : undefined;
  };
}

function explainLostSalt(name: string): string {
  return `${name} has lost its register ${SALT_REGISTER}, so no payer could be found; restore it from a backup of the store, or from the file ${SALT_REGISTER} in the folder of its archive`;
}
