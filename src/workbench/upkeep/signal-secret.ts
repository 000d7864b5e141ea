import { createHmac } from 'node:crypto';
import { DAY_MS } from '#base/duration.ts';
import { NamedError } from '#base/named-error.ts';
import { KNOWN_DEVICE_DAYS } from '#decision/payer/known-devices.ts';
import { RETENTION } from '#state/retention.ts';
import type { Registers } from '#state/store.ts';

/** The secret that keys the HMACs of fingerprints and IPs. */
interface SignalSecrets {
  readonly signalSecret: string;
  /** The secret before; null when it is not being changed. */
  readonly signalSecretPrevious: string | null;
}

/** Which secret made the HMACs in a store, by fingerprints of secrets that do not reveal them. */
interface KnownSecret {
  readonly fingerprint: string;
  /** Of the secret before; null when there was none. */
  readonly former: string | null;
  /** When the secret took the place of the former one, epoch ms. */
  readonly since: number;
}

/** This node would not recognise any device that the others know; the message says what to set. */
export class SecretRefused extends NamedError {}

export const SECRET_REGISTER = 'signal-secret';

/** How long a node may go on with the secret before: as long as it is remembered who was seen on a device. */
const CHANGE_MS = RETENTION.sightingMs;

/** How long the secret before may still recognise a device that a payer showed before the change. */
const RECOGNITION_MS = KNOWN_DEVICE_DAYS * DAY_MS;

/**
 * Makes all nodes of a store use one secret: it notes the first one ever used and refuses a different one with
 * SecretRefused. A node that brings the noted one as its previous secret changes it for all. Gives the previous
 * secret as long as a payer's devices may still be known under it, otherwise null.
 */
export async function agreeOnSecret(
  registers: Registers,
  { signalSecret, signalSecretPrevious: previous }: SignalSecrets,
  now: number,
): Promise<string | null> {
  const own = fingerprintOf(signalSecret);
  const former = previous === null ? null : fingerprintOf(previous);
  const raw = await registers.read(SECRET_REGISTER);
  const known = raw === null ? null : parseKnownSecret(raw);
  const begins =
    known === null || (former !== null && former === known.fingerprint && own !== known.fingerprint);
  if (begins) {
    const next: KnownSecret = { fingerprint: own, former, since: now };
    const written = await registers.compareAndSet(SECRET_REGISTER, raw, JSON.stringify(next));
    // Another node was faster: its note holds.
    if (!written) return agreeOnSecret(registers, { signalSecret, signalSecretPrevious: previous }, now);
    return previous;
  }
  const age = now - known.since;
  const isChanging = age < CHANGE_MS;
  if (own === known.fingerprint) return age < RECOGNITION_MS && former === known.former ? previous : null;
  // A node that still has the previous secret may restart until the change is finished.
  if (own === known.former && isChanging) return null;
  throw new SecretRefused(
    "SIGNAL_SECRET is not the one under which this store's fingerprints and IPs are kept, so none of them would be recognised. Give every node the same SIGNAL_SECRET (a node without one makes its own, in the file signal-secret under DATA_DIR). To change it, set SIGNAL_SECRET_PREVIOUS to the one of before; if that is lost, run state forget-secret",
  );
}

/** A secret of 32 characters or more cannot be found from it. */
function fingerprintOf(secret: string): string {
  return createHmac('sha256', secret)
    .update('fingerprint of the signal secret')
    .digest('base64url')
    .slice(0, 22);
}

/** Throws SecretRefused when the text holds no such thing. */
export function parseKnownSecret(raw: string): KnownSecret {
  try {
    const { fingerprint, former, since }: Partial<KnownSecret> = JSON.parse(raw);
    if (fingerprint !== undefined && former !== undefined && since !== undefined)
      return { fingerprint, former, since };
  } catch {}
  throw new SecretRefused(
    `what the store holds as register/${SECRET_REGISTER} cannot be read; "state forget-secret --reason TEXT" removes it, and the next node that starts notes its own secret`,
  );
}
