import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile } from '#base/files/atomic-file.ts';
import { parseJsonObjectOrNull } from '#base/files/json-object.ts';
import { StoreUnavailable } from './store-errors.ts';

/** What tells one installation from all others: its id, and the salt of its client hashes. */
export interface InstallationIdentity {
  readonly id: string;
  readonly salt: string;
}

/**
 * The register that holds the id of the installation. In Redis, a start reads the id there if an earlier start was
 * interrupted before every partition had the id.
 */
export const INSTALLATION_ID_REGISTER = 'installation';

/** The installation that a store must hold, because a file or folder beside the store names it. */
export interface ExpectedInstallation {
  /** Null if only the salt is known. An archive's folder, for example, has only the salt. */
  readonly id: string | null;
  readonly salt: string;
  /** The file or folder that names the installation, for people. */
  readonly toldBy: string;
}

/**
 * The store is empty, or holds another installation than the one named beside it. A start must not begin there as if
 * nothing had existed.
 */
export class AnotherStore extends StoreUnavailable {}

export const ANOTHER_STORE_REMEDY =
  'restore the known store, or accept this one: "state accept-empty --reason TEXT"';

export function explainOtherInstallation(other: string, known: string): string {
  return `it belongs to installation ${other}, and this node to ${known}; ${ANOTHER_STORE_REMEDY}`;
}

export function explainEmptyStore(known: string): string {
  return `it holds nothing of installation ${known}; ${ANOTHER_STORE_REMEDY}`;
}

export function explainSaltDifference(): string {
  return `its payers are hashed with another salt, so this node would recognise none of them; ${ANOTHER_STORE_REMEDY}`;
}

/**
 * Throws AnotherStore if a store is empty although an installation is expected, or if it holds another installation.
 * The salts are not compared here, because a salt that differs from the archive's has an error of its own, where the
 * archive is opened.
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
      `the store ${name} is empty, but ${toldBy} says that it held an installation; ${ANOTHER_STORE_REMEDY}`,
    );
  if (id === null || found.id === id) return;
  throw new AnotherStore(
    `the store ${name} belongs to installation ${found.id}, but ${toldBy} names ${id}; ${ANOTHER_STORE_REMEDY}`,
  );
}

type StoreKind = 'sqlite' | 'redis';

function memoryPath(dataDir: string, kind: StoreKind): string {
  return join(dataDir, `${kind}-installation.json`);
}

/** Reads which installation a DATA_DIR served last in this kind of store. Returns null before the first start. */
export function recallInstallation(dataDir: string, kind: StoreKind): ExpectedInstallation | null {
  const path = memoryPath(dataDir, kind);
  const text = readTextOrNull(path);
  const { id, salt } = text === null ? {} : (parseJsonObjectOrNull(text) ?? {});
  return typeof id === 'string' && typeof salt === 'string' ? { id, salt, toldBy: path } : null;
}

/** Notes in DATA_DIR which installation it belongs to. A later start then notices that the store lost its contents. */
export function rememberInstallation(dataDir: string, kind: StoreKind, known: InstallationIdentity): void {
  const text = JSON.stringify({ id: known.id, salt: known.salt });
  try {
    if (readTextOrNull(memoryPath(dataDir, kind)) !== text) replaceFile(memoryPath(dataDir, kind), text);
  } catch {
    // A read-only disk must not stop a node whose store works. The rollout is stored there too, and its failure is
    // reported.
  }
}

function readTextOrNull(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
