import type { ClientKey } from '../client/client-key.ts';
import type { Hints } from '../client/client-state.ts';
import { NO_SIGHTINGS, type Sightings } from '../facts/fact.ts';
import { type RuleChoice, sharingWindowsMs } from '../rollout/rule-source.ts';
import type { SightingsAsk, Store } from '../state/store.ts';

/** A client at a moment on a device, none of whose parts need be known. */
export interface SeenDevice {
  readonly client: ClientKey;
  readonly choice: RuleChoice;
  readonly device: Pick<Hints, 'fingerprint' | 'ip'> | null;
  /** Epoch ms. */
  readonly now: number;
}

/** Who else was seen on the device, for all windows that the chosen rules ask. `record` notes the client there first. */
export async function seeDevice(
  store: Store,
  { client, choice, device, now }: SeenDevice,
  record: SightingsAsk['record'] = null,
): Promise<Sightings> {
  const fingerprint = device?.fingerprint ?? null;
  const ip = device?.ip ?? null;
  if (record === null && fingerprint === null && ip === null) return NO_SIGHTINGS;
  const windowsMs = sharingWindowsMs(choice);
  return store.sightings({ client, at: now, fingerprint, ip, windowsMs, record });
}
