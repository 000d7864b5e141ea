import {
  CLIENTS_ON_DEVICE_MAX,
  count,
  SHARING_WINDOW_MS_MAX,
  type Sightings,
  type WindowedFact,
} from './fact.ts';

/** How many payers stand behind one device or address. */
export const SHARING_FACTS = {
  clientsOnFingerprint: sharing(
    'fingerprint',
    'Different clients of the platform, this one included, who asked for a verdict with a fingerprint that this one showed within 24 hours; of several the most shared one.',
  ),
  clientsOnIp: sharing(
    'ip',
    'Different clients of the platform, this one included, who asked for a verdict from an IP address that this one showed within 24 hours; of several the most shared one.',
  ),
} as const satisfies Record<string, WindowedFact>;

function sharing(kind: keyof Sightings, description: string): WindowedFact {
  return {
    kind: 'windowed',
    domain: count(CLIENTS_ON_DEVICE_MAX),
    unit: 'clients',
    description: `${description} 0 when the last 24 hours brought no score with one. Counted up to ${CLIENTS_ON_DEVICE_MAX}.`,
    longestWindowMs: SHARING_WINDOW_MS_MAX,
    sharing: kind,
    read: ({ sightings }, windowMs) => sightings[kind].get(windowMs) ?? 0,
  };
}
