import {
  countDevices,
  findFirstShownAt,
  KNOWN_DEVICE_DAYS,
  KNOWN_DEVICES_MAX,
} from '#decision/payer/known-devices.ts';
import {
  type Absence,
  computeOnDemand,
  countDomain,
  countSecondsSince,
  type Fact,
  formatAbsence,
  plainFactIfKnown,
  SECONDS_DOMAIN,
} from './fact.ts';

const KINDS = {
  fingerprints: { name: 'fingerprint', of: 'a payer who showed no fingerprint within 24 hours' },
  ips: { name: 'IP address', of: 'a payer who showed no IP address within 24 hours' },
} as const;

type Kind = keyof typeof KINDS;

/** Facts that say whether the payer was seen before with the device or address that a score showed last. */
export const KNOWN_DEVICE_FACTS = {
  secondsSinceFingerprintFirstSeen: createFirstSeenFact('fingerprints'),
  secondsSinceIpFirstSeen: createFirstSeenFact('ips'),
  knownFingerprints: createKnownDevicesFact('fingerprints'),
  knownIps: createKnownDevicesFact('ips'),
} as const satisfies Record<string, Fact>;

function createFirstSeenFact(kind: Kind) {
  const { name, of } = KINDS[kind];
  const absence: Absence = { of, mistakenFor: 0 };
  return computeOnDemand(
    plainFactIfKnown(
      SECONDS_DOMAIN,
      'seconds',
      `Since a score of this payer first showed the ${name} that was shown last, to the minute. One that was shown on none of the ${KNOWN_DEVICE_DAYS} days before, or before ${KNOWN_DEVICES_MAX} others, is new. ${formatAbsence(absence)}`,
      absence,
      ({ hints, state, now }) => {
        const id = hints[kind].at(-1);
        if (id === undefined) return null;
        const firstAt = findFirstShownAt(state.knownDevices[kind], id, now) ?? now;
        return countSecondsSince(Math.max(firstAt, state.firstSeenAt ?? firstAt), now);
      },
    ),
  );
}

function createKnownDevicesFact(kind: Kind) {
  const { name, of } = KINDS[kind];
  const absence: Absence = { of, mistakenFor: 0 };
  return computeOnDemand(
    plainFactIfKnown(
      countDomain(KNOWN_DEVICES_MAX),
      kind === 'ips' ? 'addresses' : 'devices',
      `Different values of ${name} that scores of this payer showed, the one shown last included, each within ${KNOWN_DEVICE_DAYS} days since it was last shown. Counted up to ${KNOWN_DEVICES_MAX}. ${formatAbsence(absence)}`,
      absence,
      ({ hints, state, now }) =>
        hints[kind].length === 0 ? null : (hints.devices ?? countDevices(state.knownDevices, now))[kind],
    ),
  );
}
