import { randomBytes } from 'node:crypto';
import { NamedError } from '#base/named-error.ts';
import { ClientKeys } from '#decision/payer/client-key.ts';

/** The register that holds the salt of the store's client hashes. */
export const SALT_REGISTER = 'client-salt';

/** The salt of the store is damaged, or differs from the archive's. The message says what to do. */
export class SaltRefused extends NamedError {}

/** Creates the ClientKeys that hash clients under a salt. Throws SaltRefused if the text is no salt. */
export function createClientKeys(salt: string): ClientKeys {
  try {
    return new ClientKeys(salt);
  } catch (cause) {
    throw new SaltRefused(
      `what the store holds as register/${SALT_REGISTER} is not a salt, so no payer can be found; restore it from a backup of the store, or from the file ${SALT_REGISTER} in the folder of its archive`,
      { cause },
    );
  }
}

export function createSalt(): string {
  return randomBytes(16).toString('base64url');
}
