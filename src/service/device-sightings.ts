import type { ClientKey } from '../client/client-key.ts';
import type { KnownHints } from '../client/hints.ts';
import { mostShared, NO_SIGHTINGS, type Sightings } from '../facts/fact.ts';
import { type RuleChoice, sharingWindowsMs } from '../rollout/loaded-rules.ts';
import type { Store } from '../state/store.ts';

/** A client at a moment, with its known devices. */
interface SeenDevices {
  readonly client: ClientKey;
  readonly choice: RuleChoice;
  readonly hints: Pick<KnownHints, 'fingerprints' | 'ips' | 'former'>;
  /** Epoch ms. */
  readonly now: number;
}

/**
 * Who else was seen on the client's devices, for all windows of the chosen rules; of several devices the most shared
 * one counts. `record` notes the client on all of them first.
 */
export async function seeDevices(
  store: Store,
  { client, choice, hints, now }: SeenDevices,
  record = false,
): Promise<Sightings> {
  // While the secret changes, devices count under both names: under the new ones nobody was seen yet.
  const fingerprints = [...hints.fingerprints, ...(hints.former?.fingerprints ?? [])];
  const ips = [...hints.ips, ...(hints.former?.ips ?? [])];
  const devices = Math.max(fingerprints.length, ips.length);
  if (devices === 0) return NO_SIGHTINGS;
  const windowsMs = sharingWindowsMs(choice);
  const seen = await Promise.all(
    Array.from({ length: devices }, (_, index) => {
      const fingerprint = fingerprints[index] ?? null;
      const ip = ips[index] ?? null;
      return store.sightings({ client, at: now, fingerprint, ip, windowsMs, record });
    }),
  );
  return seen.reduce(mostShared, NO_SIGHTINGS);
}
