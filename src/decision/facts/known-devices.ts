import {
  countKnownDevices,
  findFirstShownAt,
  KNOWN_DEVICE_DAYS,
  KNOWN_DEVICES_MAX,
} from '#decision/payer/known-devices.ts';
import {
  countSecondsSince,
  createCountDomain,
  type Fact,
  type FactAbsence,
  formatAbsence,
  plainFactIfKnown,
  SECONDS_DOMAIN,
  toOnDemandFact,
} from './fact.ts';

const KINDS = {
  fingerprints: {
    name: 'fingerprint',
    oneName: 'A fingerprint',
    of: 'a payer who showed no fingerprint within 24 hours',
  },
  ips: {
    name: 'IP address',
    oneName: 'An IP address',
    of: 'a payer who showed no IP address within 24 hours',
  },
} as const;

type Kind = keyof typeof KINDS;

/** Facts that say whether the payer was seen before with the device or address of the newest score. */
export const KNOWN_DEVICE_FACTS = {
  secondsSinceFingerprintFirstSeen: createFirstSeenFact('fingerprints'),
  secondsSinceIpFirstSeen: createFirstSeenFact('ips'),
  knownFingerprints: createKnownDevicesFact('fingerprints'),
  knownIps: createKnownDevicesFact('ips'),
} as const satisfies Record<string, Fact>;

function createFirstSeenFact(kind: Kind) {
  const { name, oneName, of } = KINDS[kind];
  const absence: FactAbsence = { of, mistakenFor: 0 };
  return toOnDemandFact(
    plainFactIfKnown(
      SECONDS_DOMAIN,
      'seconds',
      `Since a score of this payer first had the ${name} of the last score, to the minute. ${oneName} that no score had in the ${KNOWN_DEVICE_DAYS} days before, or that ${KNOWN_DEVICES_MAX} newer ones have displaced, is new. ${formatAbsence(absence)}`,
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
  const absence: FactAbsence = { of, mistakenFor: 0 };
  return toOnDemandFact(
    plainFactIfKnown(
      createCountDomain(KNOWN_DEVICES_MAX),
      kind === 'ips' ? 'addresses' : 'devices',
      `Different values of ${name} in the scores of this payer, the last one included; a value is forgotten ${KNOWN_DEVICE_DAYS} days after its last score. Counted up to ${KNOWN_DEVICES_MAX}. ${formatAbsence(absence)}`,
      absence,
      ({ hints, state, now }) =>
        hints[kind].length === 0 ? null : (hints.devices ?? countKnownDevices(state.knownDevices, now))[kind],
    ),
  );
}
