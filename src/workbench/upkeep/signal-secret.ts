import { createHmac } from 'node:crypto';
import { DAY_MS } from '#base/duration.ts';
import { NamedError } from '#base/named-error.ts';
import { KNOWN_DEVICE_DAYS } from '#decision/payer/known-devices.ts';
import { RETENTION } from '#state/retention.ts';
import type { Registers } from '#state/store.ts';

/** The secrets with which the HMACs of fingerprints and IPs are computed. */
interface SignalSecrets {
  readonly signalSecret: string;
  /** The former secret. Null if the secret is not being changed. */
  readonly signalSecretPrevious: string | null;
}

/** The secret that made the HMACs of a store. Fingerprints identify secrets without revealing them. */
interface KnownSecret {
  readonly fingerprint: string;
  /** The fingerprint of the former secret. Null if there was none. */
  readonly former: string | null;
  /** When this secret replaced the former one, in epoch ms. */
  readonly since: number;
}

/**
 * The secret differs, so this node would recognise no device that the other nodes know. The message says what to set.
 */
export class SecretRefused extends NamedError {}

export const SECRET_REGISTER = 'signal-secret';

/**
 * How long a node may continue with the former secret. It is the time for which sightings on devices are remembered.
 */
const CHANGE_MS = RETENTION.sightingMs;

/** How long the former secret may still recognise a device that a payer showed before the change. */
const RECOGNITION_MS = KNOWN_DEVICE_DAYS * DAY_MS;

/**
 * Makes all nodes of a store use one secret. The first secret that a node uses is noted in the store, and a different
 * one is refused with `SecretRefused`. If a node's previous secret is the noted one, the node's own secret replaces
 * it for all nodes. Returns the previous secret while devices of payers may still be known under it. Returns null
 * otherwise.
 */
export async function agreeOnSecret(
  registers: Registers,
  { signalSecret, signalSecretPrevious: previous }: SignalSecrets,
  now: number,
): Promise<string | null> {
  const own = computeFingerprint(signalSecret);
  const former = previous === null ? null : computeFingerprint(previous);
  const raw = await registers.read(SECRET_REGISTER);
  const known = raw === null ? null : parseKnownSecret(raw);
  const begins =
    known === null || (former !== null && former === known.fingerprint && own !== known.fingerprint);
  if (begins) {
    const next: KnownSecret = { fingerprint: own, former, since: now };
    const written = await registers.compareAndSet(SECRET_REGISTER, raw, JSON.stringify(next));
    // Another node was faster, and its note is valid.
    if (!written) return agreeOnSecret(registers, { signalSecret, signalSecretPrevious: previous }, now);
    return previous;
  }
  const age = now - known.since;
  const isChanging = age < CHANGE_MS;
  if (own === known.fingerprint) return age < RECOGNITION_MS && former === known.former ? previous : null;
  // A node that still has the former secret may restart until the change is finished.
  if (own === known.former && isChanging) return null;
  throw new SecretRefused(
    'SIGNAL_SECRET is not the one with which the fingerprints and IPs of this store were hashed, so none of them would be recognised. Give every node the same SIGNAL_SECRET (a node without one makes its own, in the file signal-secret under DATA_DIR). To change it, set SIGNAL_SECRET_PREVIOUS to the one of before; if that is lost, run state forget-secret',
  );
}

/** Computes a fingerprint, from which nobody can recover a secret of 32 characters or more. */
function computeFingerprint(secret: string): string {
  return createHmac('sha256', secret)
    .update('fingerprint of the signal secret')
    .digest('base64url')
    .slice(0, 22);
}

/** Parses the register. Throws `SecretRefused` if the text is not a noted secret. */
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
