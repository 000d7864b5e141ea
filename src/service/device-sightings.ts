import type { OutcomeChange } from '../client/changes.ts';
import type { ClientKey } from '../client/client-key.ts';
import type { ClientState } from '../client/client-state.ts';
import { type KnownHints, knownHints } from '../client/hints.ts';
import { countsAs } from '../client/outcomes.ts';
import { markBits, PAYMENT_NOTED_MS, sightingMarks } from '../client/sighting-marks.ts';
import { mostShared, NO_SIGHTINGS, type Sightings } from '../facts/fact.ts';
import { type RuleChoice, sharingQuestions } from '../rollout/loaded-rules.ts';
import type { NotedPayment, Store } from '../state/store.ts';

/** A client at a moment, with its known devices. */
interface SeenDevices {
  readonly client: ClientKey;
  readonly choice: RuleChoice;
  readonly state: ClientState;
  readonly hints: Pick<KnownHints, 'fingerprints' | 'ips' | 'former'>;
  /** Epoch ms. */
  readonly now: number;
}

/**
 * Who was seen on the client's devices, for all windows of the chosen rules; of several devices the most shared
 * one counts. Recording notes the client on all of them before: a first time, or again for a verdict that is noted already.
 */
export async function seeDevices(
  store: Store,
  { client, choice, state, hints, now }: SeenDevices,
  recording: 'no' | 'first' | 'again' = 'no',
): Promise<Sightings> {
  // While the secret changes, devices count under both names: under the new ones nobody was seen yet.
  const fingerprints = [...hints.fingerprints, ...(hints.former?.fingerprints ?? [])];
  const ips = [...hints.ips, ...(hints.former?.ips ?? [])];
  const devices = Math.max(fingerprints.length, ips.length);
  if (devices === 0) return NO_SIGHTINGS;
  const sharing = sharingQuestions(choice);
  const marks = sightingMarks(state, now);
  const seen = await Promise.all(
    Array.from({ length: devices }, (_, index) => {
      const fingerprint = fingerprints[index] ?? null;
      const ip = ips[index] ?? null;
      const record = recording !== 'no';
      const isRepeated = recording === 'again';
      return store.sightings({ client, at: now, fingerprint, ip, sharing, marks, record, isRepeated });
    }),
  );
  return seen.reduce(mostShared, NO_SIGHTINGS);
}

/** Who was seen on a client's devices, and the marks that the client was noted with. */
export interface DevicesSeen {
  readonly marks: number;
  readonly sightings: Sightings;
}

/** Of a client who showed no device; no marks are like these. */
export const NO_DEVICES: DevicesSeen = { marks: -1, sightings: NO_SIGHTINGS };

/**
 * Notes a client who asks for a verdict on its devices, and sees who is there. Deciding again after a lost race is still
 * the same request: the client is noted again only where it stands otherwise by then.
 */
export async function noteOnDevices(
  store: Store,
  asking: Omit<SeenDevices, 'hints'>,
  before: DevicesSeen | null,
): Promise<DevicesSeen> {
  const { state, now } = asking;
  const marks = markBits(sightingMarks(state, now));
  if (before?.marks === marks) return before;
  const sightings = await seeDevices(
    store,
    { ...asking, hints: knownHints(state.hints, now) },
    isNotedNowhere(before) ? 'first' : 'again',
  );
  return { marks, sightings };
}

function isNotedNowhere(seen: DevicesSeen | null): boolean {
  return seen === null || seen === NO_DEVICES;
}

/**
 * The payment that the client's latest sightings are to know of; null where a report is none that counts. A repeat is
 * noted once more, because the node may have ended after it recorded the report.
 */
export function paymentToNote(
  client: ClientKey,
  { order, state, report: { outcome } }: OutcomeChange,
  now: number,
): NotedPayment | null {
  const since = now - PAYMENT_NOTED_MS;
  const { lastVerdictAt } = state;
  if (outcome !== 'PAID' || countsAs(order) !== 'PAID') return null;
  if (lastVerdictAt === null || lastVerdictAt <= since) return null;
  return { client, since, isUnpaid: sightingMarks(state, now).unpaid };
}
