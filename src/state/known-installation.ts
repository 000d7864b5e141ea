import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseJsonObject } from '#base/files/json-object.ts';
import { replaceFile } from '#base/files/placed.ts';
import { StoreUnavailable } from './store-errors.ts';

/** Tells one installation from all others: its id, and the salt of its payers. */
export interface KnownInstallation {
  readonly id: string;
  readonly salt: string;
}

/** Holds the id of the installation; in Redis for a start that was broken off before every partition had it. */
export const INSTALLATION_REGISTER = 'installation';

/** What a store must hold because something beside it says that it did. */
export interface ExpectedInstallation {
  /** Null where only the salt is known, as beside an archive. */
  readonly id: string | null;
  readonly salt: string;
  /** For people: which file or folder says so. */
  readonly toldBy: string;
}

/** A store that is empty, or another one than what lies beside it names: a start must not begin there as if nothing had been. */
export class AnotherStore extends StoreUnavailable {}

export const ANOTHER_STORE_REMEDY =
  'put the known store back, or accept this one: "state accept-empty --reason TEXT"';

export function explainOtherInstallation(other: string, known: string): string {
  return `it belongs to installation ${other}, and this node to ${known}; ${ANOTHER_STORE_REMEDY}`;
}

export function explainEmptyStore(known: string): string {
  return `it holds nothing of installation ${known}; ${ANOTHER_STORE_REMEDY}`;
}

export function explainSaltDifference(): string {
  return `its payers are hashed under another salt, so this node would know none of them; ${ANOTHER_STORE_REMEDY}`;
}

/**
 * Throws AnotherStore when a store is empty where an installation was, or holds another one. The salt of an archive that
 * differs has a refusal of its own.
 */
export function requireExpectedInstallation(
  name: string,
  found: { readonly id: string; readonly salt: string | null } | null,
  expected: ExpectedInstallation | null,
): void {
  if (expected === null) return;
  const { id, toldBy } = expected;
  if (found === null)
    throw new AnotherStore(
      `the store ${name} is empty, and ${toldBy} says that an installation was there; ${ANOTHER_STORE_REMEDY}`,
    );
  if (id === null || found.id === id) return;
  throw new AnotherStore(
    `the store ${name} belongs to installation ${found.id}, and ${toldBy} names ${id}; ${ANOTHER_STORE_REMEDY}`,
  );
}

type StoreKind = 'sqlite' | 'redis';

function memoryPath(dataDir: string, kind: StoreKind): string {
  return join(dataDir, `${kind}-installation.json`);
}

/** Which installation of a kind of store a DATA_DIR served last; null before the first start. */
export function recallInstallation(dataDir: string, kind: StoreKind): ExpectedInstallation | null {
  const path = memoryPath(dataDir, kind);
  const text = textOf(path);
  const { id, salt } = text === null ? {} : (parseJsonObject(text) ?? {});
  return typeof id === 'string' && typeof salt === 'string' ? { id, salt, toldBy: path } : null;
}

/** Notes beside the data which installation it belongs to, for a start with a store that lost it. */
export function rememberInstallation(dataDir: string, kind: StoreKind, known: KnownInstallation): void {
  const text = JSON.stringify({ id: known.id, salt: known.salt });
  try {
    if (textOf(memoryPath(dataDir, kind)) !== text) replaceFile(memoryPath(dataDir, kind), text);
  } catch {
    // A read-only disk must not stop a node whose store works; of the rollout, which is kept there too, the node says so.
  }
}

function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
