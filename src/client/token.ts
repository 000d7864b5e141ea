import { hash } from 'node:crypto';

/**
 * A short stand-in for a text that is only ever compared for equality within one client's history.
 * 36 bits: two different texts among a client's 64 remembered requests meet once in 30 million.
 */
export function token(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, 6);
}
