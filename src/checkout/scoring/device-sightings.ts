import { mergeSharingQuestions, type RuleChoice } from '#checkout/rollout/loaded-rules.ts';
import { listCountedAttributeValues, type ReadStatedAttributes } from '#decision/facts/attribute.ts';
import {
  type AskedAttribute,
  type NamedPseudonym,
  NO_SIGHTINGS,
  pickMoreSharedSightings,
  type Sightings,
} from '#decision/facts/fact.ts';
import type { NodeSecretIds } from '#decision/payer/attribute-secrets.ts';
import type { AttributesUnderBothSecrets } from '#decision/payer/attributes.ts';
import type { OutcomeChange } from '#decision/payer/changes.ts';
import type { ClientKey } from '#decision/payer/client-key.ts';
import type { ClientState } from '#decision/payer/client-state.ts';
import { getKnownHints, type KnownHints } from '#decision/payer/hints.ts';
import {
  encodeSightingMarks,
  getSightingMarks,
  type PaymentNote,
  toPaymentNote,
} from '#decision/payer/sighting-marks.ts';
import { addDeclaredAttributes, type Pseudonymizers, type VerdictBody } from '#decision/requests.ts';
import type { Store } from '#state/store.ts';

/** The store that records sightings, and the secrets of this node. */
interface SightingParts {
  readonly store: Store;
  readonly secrets?: NodeSecretIds;
}

/** A client at a moment, with its known devices and attributes. */
interface SeenDevices {
  readonly client: ClientKey;
  readonly choice: RuleChoice;
  readonly state: ClientState;
  readonly hints: Pick<KnownHints, 'fingerprints' | 'ips' | 'former' | 'attributes'>;
  /**
   * The client's values of the attributes by which rules count clients. If missing, the values that its scores
   * stated.
   */
  readonly attributes?: readonly AskedAttribute[];
  /** Epoch ms. */
  readonly now: number;
}

/**
 * Counts the clients who were seen on the client's devices, for every window that the chosen rule sets ask for. If
 * there are several devices, the result is that of the device that most clients share. `recording` says whether the
 * client is recorded on these devices before the count: `first` for the first time, `again` for a verdict that is
 * recorded already.
 */
export async function countSightings(
  { store, secrets }: SightingParts,
  { client, choice, state, hints, now, attributes = listAttributes(choice, hints, secrets) }: SeenDevices,
  recording: 'no' | 'first' | 'again' = 'no',
): Promise<Sightings> {
  // While the secret is being changed, clients are counted under the old and the new pseudonym of each device,
  // because nobody has been seen under the new pseudonyms yet.
  const fingerprints = [...hints.fingerprints, ...(hints.former?.fingerprints ?? [])];
  const ips = [...hints.ips, ...(hints.former?.ips ?? [])];
  const devices = Math.max(fingerprints.length, ips.length);
  if (devices === 0 && attributes.length === 0) return NO_SIGHTINGS;
  const sharing = mergeSharingQuestions(choice);
  const marks = getSightingMarks(state, now);
  const seen = await Promise.all(
    Array.from({ length: Math.max(1, devices) }, (_, index) => {
      const fingerprint = fingerprints[index] ?? null;
      const ip = ips[index] ?? null;
      const record = recording !== 'no';
      const isRepeated = recording === 'again';
      const ask = { client, at: now, fingerprint, ip, sharing, marks, record, isRepeated };
      // The call for the first device records the attributes too.
      return store.sightings(index > 0 || attributes.length === 0 ? ask : { ...ask, attributes });
    }),
  );
  return seen.reduce(pickMoreSharedSightings, NO_SIGHTINGS);
}

const NO_VALUES: readonly AskedAttribute[] = [];

/**
 * Lists the values of the attributes by which a rule set of the request counts clients. A value that this request
 * states (`said`) replaces a stored one (`held`).
 */
function listAttributes(
  choice: RuleChoice,
  held: AttributesUnderBothSecrets,
  secrets: NodeSecretIds | undefined,
  said: ReadStatedAttributes | undefined = undefined,
): readonly AskedAttribute[] {
  // This is a shortcut: most requests have no attributes, and most rule sets count none.
  if (held.attributes === undefined && said === undefined) return NO_VALUES;
  return listCountedAttributeValues(mergeSharingQuestions(choice), held, said, secrets);
}

/** The clients seen on a client's devices, and the marks with which the client itself was recorded. */
export interface SightingsAndOwnMarks {
  readonly marks: number;
  readonly sightings: Sightings;
  /** The attribute values under which the client was recorded. */
  readonly attributes: readonly NamedPseudonym[];
}

/** A request for a verdict, with the attributes that it sends. */
interface AskedVerdict extends Omit<SeenDevices, 'hints' | 'attributes'> {
  readonly sent: VerdictBody['attributes'];
}

/**
 * Whether no device of the payer is known and the request sends no attribute. This is so for most payers, and an
 * unneeded `await` would create two promises.
 */
export function hasNoDevicesOrAttributes({ state, sent }: AskedVerdict): boolean {
  return state.hints === null && sent === undefined;
}

/** The result for a client without a device. Real marks are never -1. */
export const SIGHTINGS_WITHOUT_DEVICE: SightingsAndOwnMarks = {
  marks: -1,
  sightings: NO_SIGHTINGS,
  attributes: [],
};

/**
 * Records a client who asks for a verdict on its devices, and counts the other clients there. A request that is
 * decided again after a lost race passes its earlier result as `before`. The client is then recorded again only if
 * its marks have changed.
 */
export async function recordVerdictSightings(
  parts: SightingParts & Pseudonymizers,
  asking: AskedVerdict,
  before: SightingsAndOwnMarks | null,
): Promise<SightingsAndOwnMarks> {
  const { choice, state, sent, now } = asking;
  const marks = encodeSightingMarks(getSightingMarks(state, now));
  if (before?.marks === marks) return before;
  const hints = getKnownHints(state.hints, now);
  const said: ReadStatedAttributes = (declared) =>
    addDeclaredAttributes<AttributesUnderBothSecrets>({}, { attributes: declared }, sent, parts);
  const { secrets } = parts;
  const attributes = listAttributes(choice, hints, secrets, sent === undefined ? undefined : said);
  const sightings = await countSightings(
    parts,
    { ...asking, hints, attributes },
    isNotedNowhere(before) ? 'first' : 'again',
  );
  return { marks, sightings, attributes };
}

function isNotedNowhere(seen: SightingsAndOwnMarks | null): boolean {
  return seen === null || seen === SIGHTINGS_WITHOUT_DEVICE;
}

/**
 * Finds the payment that is to be noted on the client's latest sightings. Returns null if there is none. A repeated
 * report notes the payment once more, because the node may have ended after it recorded the first report.
 */
export function findPaymentToNote(change: OutcomeChange, now: number): PaymentNote | null {
  const note = toPaymentNote(change, now);
  const { lastVerdictAt } = change.state;
  return note !== null && lastVerdictAt !== null && lastVerdictAt > note.since ? note : null;
}
