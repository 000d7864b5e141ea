import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';
import type { Pseudonymize } from './addresses.ts';
import { type AttributePseudonymizer, combineIntoAttributePseudonymizer } from './payer/attribute-hmacs.ts';
import { type NodeSecretIds, SECRET_ID_CHARACTERS } from './payer/attribute-secrets.ts';
import type { DevicePseudonymConverter, ListOwner } from './shared-lists.ts';

/** The size of an AES block, so that the name of a pseudonym on a platform is as long as the pseudonym. */
const PSEUDONYM_BYTES = 16;

/**
 * Creates the function that makes pseudonyms under the fleet's secret. A pseudonym is the first 128 bits of an
 * HMAC-SHA256. In the pseudonym of an attribute the id of the secret replaces the last characters, because only
 * pseudonyms under the same secret can be compared.
 */
export function createPseudonymizer(secret: string): Pseudonymize {
  const id = deriveSecretId(secret);
  return (kind, text) => {
    const digest = createHmac('sha256', secret).update(`${kind}\0${text}`).digest();
    const hmac = digest.toString('base64url', 0, PSEUDONYM_BYTES);
    return kind === 'attribute' ? hmac.slice(0, -SECRET_ID_CHARACTERS) + id : hmac;
  };
}

/** Returns the ids of the secrets with which a node makes pseudonyms. */
export function deriveNodeSecretIds(secret: string, former: string | null): NodeSecretIds {
  return { own: deriveSecretId(secret), former: former === null ? null : deriveSecretId(former) };
}

/**
 * Computes an id that tells secrets apart and does not reveal them. Two secrets have the same id once in 262,144
 * times.
 */
function deriveSecretId(secret: string): string {
  const digest = createHmac('sha256', secret).update('id of the secret').digest('base64url');
  return digest.slice(0, SECRET_ID_CHARACTERS);
}

/** Creates the HMACs of attributes under these secrets. The present secret comes first. */
export function createAttributePseudonymizer(secrets: readonly string[]): AttributePseudonymizer {
  const pseudonyms = secrets.map(createPseudonymizer);
  return combineIntoAttributePseudonymizer(
    ...pseudonyms.map((pseudonym) => (text: string) => pseudonym('attribute', text)),
  );
}

/**
 * Creates the functions that name the devices of a platform. A name is a pseudonym, encrypted as one AES block under
 * a key of the platform. So a name can be decrypted to the pseudonym without a table of all devices.
 */
export function createPlatformDeviceNameConverter(secret: string): DevicePseudonymConverter {
  const keyOf = (platform: ListOwner) =>
    createHmac('sha256', secret).update(`names on\0${platform}`).digest();
  return {
    nameOf: (platform, pseudonym) => {
      const whole = Buffer.from(pseudonym, 'base64url');
      const block = whole.length === PSEUDONYM_BYTES ? whole : Buffer.alloc(PSEUDONYM_BYTES, pseudonym);
      const name = cipherBlock(createCipheriv('aes-256-ecb', keyOf(platform), null), block);
      return name.slice(0, pseudonym.length);
    },
    pseudonymOf: (platform, name) =>
      cipherBlock(createDecipheriv('aes-256-ecb', keyOf(platform), null), Buffer.from(name, 'base64url')),
  };
}

interface BlockCipher {
  setAutoPadding(isPadded: boolean): unknown;
  update(block: Buffer): Buffer;
}

function cipherBlock(cipher: BlockCipher, block: Buffer): string {
  cipher.setAutoPadding(false);
  return cipher.update(block).toString('base64url');
}
