import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isClientHash, isPlatformName, type PlatformName } from '../client/client-key.ts';
import { isJsonObject } from '../files/json-object.ts';
import { makeOwnFolder } from '../files/own-folder.ts';
import { StoreUnavailable } from '../state/store-errors.ts';

/** A client who was erased: all that the ledger tells. */
export interface ErasedClient {
  /** When the erasure began, epoch ms. */
  readonly at: number;
  readonly platform: PlatformName;
  /** Salted by the store, so that it leads to nobody without it. */
  readonly clientHash: string;
}

/** The ledger cannot be used; the message says what to do. */
export class LedgerRefused extends Error {
  override readonly name = 'LedgerRefused';
}

/**
 * A file of erasures, a line each, that lies outside every backup: a store that is put back has forgotten whom it had
 * erased since, and this tells it. The first line names the ledger, so that a store knows how much of it it has seen.
 */
export class ErasureLedger {
  readonly id: string;
  readonly #path: string;

  /** Makes the file where there is none. Throws LedgerRefused. */
  constructor(path: string) {
    this.#path = path;
    try {
      makeOwnFolder(dirname(path));
      if (!existsSync(path)) begin(path);
      const text = readFileSync(path, 'utf8');
      // A line that a crash cut off stays alone, and the next one begins anew.
      if (!text.endsWith('\n')) writeSynced(path, '\n', 'a');
      this.id = idIn(text);
    } catch (cause) {
      if (cause instanceof LedgerRefused) throw cause;
      throw new LedgerRefused(
        `ERASURE_LEDGER names ${path}, which cannot be read and written; check the path and its permissions`,
        { cause },
      );
    }
  }

  /** On the disk when this resolves. Throws StoreUnavailable: what cannot be noted is not erased, and is tried again. */
  async append(erased: ErasedClient): Promise<void> {
    try {
      const file = await open(this.#path, 'a');
      try {
        await file.appendFile(`${JSON.stringify(erased)}\n`);
        await file.sync();
      } finally {
        await file.close();
      }
    } catch (cause) {
      throw new StoreUnavailable(`the erasure ledger ${this.#path} cannot be written`, { cause });
    }
  }

  /** In the order in which they were noted, and how many lines cannot be read. */
  read(): { readonly erased: readonly ErasedClient[]; readonly unreadable: number } {
    const [, ...lines] = readFileSync(this.#path, 'utf8').split('\n');
    const told = lines.filter((line) => line !== '').map(erasedClient);
    const erased = told.filter((one) => one !== null);
    return { erased, unreadable: told.length - erased.length };
  }
}

function begin(path: string): void {
  writeSynced(path, `${JSON.stringify({ ledger: randomUUID() })}\n`, 'wx');
  const folder = openSync(dirname(path), 'r');
  fsyncSync(folder);
  closeSync(folder);
}

function writeSynced(path: string, text: string, flag: 'a' | 'wx'): void {
  const file = openSync(path, flag, 0o600);
  try {
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function idIn(text: string): string {
  const head = objectIn(text.slice(0, text.indexOf('\n') + 1));
  const id = head?.['ledger'];
  if (typeof id === 'string') return id;
  throw new LedgerRefused(
    'ERASURE_LEDGER names a file that does not begin as an erasure ledger does; name another file, or put the ledger back',
  );
}

function erasedClient(line: string): ErasedClient | null {
  const { at, platform, clientHash } = objectIn(line) ?? {};
  if (typeof at !== 'number' || typeof platform !== 'string') return null;
  return isPlatformName(platform) && isClientHash(clientHash) ? { at, platform, clientHash } : null;
}

function objectIn(line: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(line);
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}
