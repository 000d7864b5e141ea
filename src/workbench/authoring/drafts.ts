import { randomUUID } from 'node:crypto';
import { Type } from '#base/json-schema.ts';
import { NamedError } from '#base/named-error.ts';
import { epochMs, plainText, shape, type ValueOf } from '#base/shapes.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import { type RuleVersion, ruleVersionSchema } from '#decision/rules/rule-set.ts';
import { computeDigest } from '#decision/rules/text/draft-text.ts';
import type { Store } from '#state/store.ts';

export const DRAFTS_MAX = 30;

/** A draft that nobody changes for this many days is deleted. */
export const DRAFT_DAYS_MAX = 60;

const DRAFT_MS_MAX = DRAFT_DAYS_MAX * 24 * 3600_000;

/** Files are kept longer than the entry that points at them, so that a listed draft can always be opened. */
const FILES_MS_MAX = DRAFT_MS_MAX + 3600_000;

/** How often a change is tried. Each further try means that somebody else changed one of the platform's drafts. */
const TRIES_MAX = 20;

export const DraftSummarySchema = shape('A rule set that people of a platform work on', {
  version: ruleVersionSchema,
  from: plainText('The version that the draft was begun with', 'p2.v10'),
  revision: Type.Integer({ minimum: 1, description: 'Greater after every change; the ETag of the draft' }),
  changedBy: plainText('Who changed it last', 'person:248289761001 (ann@example.com)'),
  changedAt: epochMs('When'),
});

export type DraftSummary = ValueOf<typeof DraftSummarySchema>;
export type DraftFiles = Readonly<Record<string, string>>;

export interface OpenedDraft {
  readonly draft: DraftSummary;
  readonly files: DraftFiles;
}

interface StoredDraft extends DraftSummary {
  readonly digest: string;
  /** The name of the document that holds the draft's files. */
  readonly filesId: string;
}

/** All drafts of a platform without their files, in one text that changes by compare-and-set. */
interface DraftRegister {
  /**
   * The last revision that was given. Revisions are never used again, so a draft that is begun anew differs from the
   * one before.
   */
  readonly lastRevision: number;
  readonly drafts: readonly StoredDraft[];
}

/** The change is refused, because the draft is no longer at the revision on which the change was made. */
export class DraftChanged extends NamedError {
  /** The present draft. Null if the platform has no draft of this version. */
  readonly now: DraftSummary | null;

  constructor(now: DraftSummary | null) {
    super('the draft was changed by somebody else');
    this.now = now;
  }
}

/** The platform has as many drafts as it may have. */
export class TooManyDrafts extends NamedError {}

/**
 * The drafts on which people work outside RULES_DIR, by platform. A change names the revision on which it was made,
 * so that nobody overwrites the changes of somebody else.
 */
export class Drafts {
  readonly #store: Pick<Store, 'registers' | 'documents'>;
  readonly #now: () => number;

  constructor(store: Pick<Store, 'registers' | 'documents'>, now: () => number) {
    this.#store = store;
    this.#now = now;
  }

  /** Lists the drafts of a platform, newest first. */
  async list(platform: PlatformName): Promise<readonly DraftSummary[]> {
    const { drafts } = this.#read(await this.#store.registers.read(getRegisterName(platform)));
    return drafts.map(toSummary);
  }

  /** Opens a draft. Returns null if there is no such draft, or if its files are lost. */
  async open(platform: PlatformName, version: string): Promise<OpenedDraft | null> {
    let missing: string | null = null;
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const { drafts } = this.#read(await this.#store.registers.read(getRegisterName(platform)));
      const found = drafts.find((one) => one.version === version);
      if (found === undefined || found.filesId === missing) return null;
      const files = await this.#store.documents.get<DraftFiles>(getCollectionName(platform), found.filesId);
      if (files !== undefined) return { draft: toSummary(found), files };
      // The draft may have been changed between the two reads.
      missing = found.filesId;
    }
    return null;
  }

  /**
   * Writes a draft on top of the revision `basis`. A basis of null means that there is no draft yet. A repeated write
   * does no harm, so a caller that got no answer the first time may try again. Throws `DraftChanged` and
   * `TooManyDrafts`.
   */
  async write(
    platform: PlatformName,
    { files, ...written }: Pick<DraftSummary, 'version' | 'from'> & { readonly files: DraftFiles },
    basis: number | null,
    changedBy: string,
  ): Promise<DraftSummary> {
    const filesId = randomUUID();
    const made = { ...written, changedBy, digest: computeDigest(new Map(Object.entries(files))), filesId };
    await this.#store.documents.set(getCollectionName(platform), filesId, files, FILES_MS_MAX);
    try {
      const [draft, unneeded] = await this.#change<readonly [StoredDraft, string | null]>(
        platform,
        (register) => {
          const { lastRevision, drafts } = register;
          const before = drafts.find(({ version }) => version === made.version);
          if (before !== undefined && isSame(before, made)) return [register, [before, filesId]];
          if ((before?.revision ?? null) !== basis) throw createChangedError(before);
          if (before === undefined && drafts.length >= DRAFTS_MAX) throw new TooManyDrafts();
          const revision = lastRevision + 1;
          const draft = { ...made, revision, changedAt: this.#now() };
          const others = drafts.filter((one) => one !== before);
          return [{ lastRevision: revision, drafts: [draft, ...others] }, [draft, before?.filesId ?? null]];
        },
      );
      if (unneeded !== null) await this.#store.documents.delete(getCollectionName(platform), unneeded);
      return toSummary(draft);
    } catch (error) {
      // A store that did not answer may have made the change. In that case the files belong to the draft and are
      // kept.
      if (error instanceof DraftChanged || error instanceof TooManyDrafts)
        await this.#store.documents.delete(getCollectionName(platform), filesId);
      throw error;
    }
  }

  /** Discards a draft and returns it. Throws `DraftChanged`. */
  async discard(platform: PlatformName, version: RuleVersion, basis: number): Promise<DraftSummary> {
    const gone = await this.#change(platform, ({ lastRevision, drafts }) => {
      const found = drafts.find((one) => one.version === version);
      if (found?.revision !== basis) throw createChangedError(found);
      return [{ lastRevision, drafts: drafts.filter((one) => one !== found) }, found];
    });
    await this.#store.documents.delete(getCollectionName(platform), gone.filesId);
    return toSummary(gone);
  }

  /** Changes the register. `change` returns the new register and the result. */
  async #change<T>(
    platform: PlatformName,
    change: (register: DraftRegister) => readonly [after: DraftRegister, given: T],
  ): Promise<T> {
    const name = getRegisterName(platform);
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const raw = await this.#store.registers.read(name);
      const [after, given] = change(this.#read(raw));
      if (!(await this.#store.registers.compareAndSet(name, raw, JSON.stringify(after)))) continue;
      const old = parseRegister(raw).drafts.filter((one) => !this.#isKept(one));
      for (const { filesId } of old) await this.#store.documents.delete(getCollectionName(platform), filesId);
      return given;
    }
    throw new Error(`others keep changing the drafts of ${platform}`);
  }

  #read(raw: string | null): DraftRegister {
    const { lastRevision, drafts } = parseRegister(raw);
    return { lastRevision, drafts: drafts.filter((one) => this.#isKept(one)) };
  }

  #isKept({ changedAt }: StoredDraft): boolean {
    return this.#now() < changedAt + DRAFT_MS_MAX;
  }
}

function parseRegister(raw: string | null): DraftRegister {
  return raw === null ? { lastRevision: 0, drafts: [] } : JSON.parse(raw);
}

function toSummary({ filesId: _, digest: __, ...draft }: StoredDraft): DraftSummary {
  return draft;
}

function isSame(before: StoredDraft, now: Pick<StoredDraft, 'digest' | 'changedBy' | 'from'>): boolean {
  return before.digest === now.digest && before.changedBy === now.changedBy && before.from === now.from;
}

function createChangedError(now: StoredDraft | undefined): DraftChanged {
  return new DraftChanged(now === undefined ? null : toSummary(now));
}

function getRegisterName(platform: PlatformName): string {
  return `drafts:${platform}`;
}

function getCollectionName(platform: PlatformName): string {
  return `draft-files:${platform}`;
}
