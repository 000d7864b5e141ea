import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';
import type { Pseudonym } from './decision/addresses.ts';
import type { ListOwner, PlatformNames } from './decision/shared-lists.ts';

/** As many bytes as a block of AES has, so that a platform's name of a pseudonym is as long. */
const PSEUDONYM_BYTES = 16;

/** Fingerprints and IPs as the first 128 bits of their HMAC-SHA256 under the fleet's secret. */
export function hmacPseudonym(secret: string): Pseudonym {
  return (kind, text) => {
    const digest = createHmac('sha256', secret).update(`${kind}\0${text}`).digest();
    return digest.toString('base64url', 0, PSEUDONYM_BYTES);
  };
}

/** Names are blocks of AES under a key of the platform: they lead back without a table of all devices. */
export function platformNames(secret: string): PlatformNames {
  const keyOf = (platform: ListOwner) =>
    createHmac('sha256', secret).update(`names on\0${platform}`).digest();
  return {
    nameOf: (platform, pseudonym) => {
      const whole = Buffer.from(pseudonym, 'base64url');
      const block = whole.length === PSEUDONYM_BYTES ? whole : Buffer.alloc(PSEUDONYM_BYTES, pseudonym);
      const name = oneBlock(createCipheriv('aes-256-ecb', keyOf(platform), null), block);
      return name.slice(0, pseudonym.length);
    },
    pseudonymOf: (platform, name) =>
      oneBlock(createDecipheriv('aes-256-ecb', keyOf(platform), null), Buffer.from(name, 'base64url')),
  };
}

interface BlockCipher {
  setAutoPadding(isPadded: boolean): unknown;
  update(block: Buffer): Buffer;
}

function oneBlock(cipher: BlockCipher, block: Buffer): string {
  cipher.setAutoPadding(false);
  return cipher.update(block).toString('base64url');
}
