import {
  type ClientState,
  chooseEventTime,
  isUnchangedSinceScore,
  recordScoreActivity,
  shortenDeviceId,
  toShortHash,
} from './payer/client-state.ts';
import { addScoreHints, getHintsOfAskedScore, type KnownHints, rememberScore } from './payer/hints.ts';
import { addShownDeviceToPacked, countKnownDevices } from './payer/known-devices.ts';
import type { ScoreRequest } from './requests.ts';

/**
 * Returns the state of a client after a score, as far as verdicts depend on it. Replays that do not answer scores use
 * this function.
 */
export function applyScoreWithoutAnswer(
  state: ClientState,
  request: ScoreRequest,
  clockMs: number,
): ClientState {
  const now = chooseEventTime(state, clockMs);
  const hints = addScoreHints(state.hints, request, now);
  return recordScoreActivity({ ...noteShownDevices(state, request, now), hints }, now);
}

interface NotedScore {
  readonly nextState: ClientState;
  /** Returns the hints that the answer may use. */
  readonly known: () => KnownHints;
  /** The time for which the answer is computed, in epoch ms. */
  readonly at: number;
}

/**
 * Notes a score, and finds the hints and the time of its answer. For 24 hours an identical request is answered from
 * the hints that were known when it was first asked. The answer is computed for the time of that first request, as
 * long as nothing but scores happened since.
 */
export function noteScoreToAnswer(state: ClientState, request: ScoreRequest, now: number): NotedScore {
  const noted = noteShownDevices(state, request, now);
  const devices = countKnownDevices(noted.knownDevices, now);
  const asking = { ...createRequestTokens(request), changes: state.changes, devices };
  const { hints, asked } = rememberScore(state.hints, request, asking, now);
  return {
    nextState: recordScoreActivity({ ...noted, hints }, now),
    known: () => getHintsOfAskedScore(asked),
    at: isUnchangedSinceScore(state, asked, now) ? asked.at : now,
  };
}

/**
 * Returns a token, which is a hash of everything that a caller sent. While the secret is being changed,
 * `formerRequest` is the token under the previous secret.
 */
function createRequestTokens(request: ScoreRequest): {
  readonly request: string;
  readonly formerRequest?: string;
} {
  // The service adds these members. The caller did not send them.
  const { networks: _networks, former, ...sent } = request;
  if (former === undefined) return { request: createToken(sent) };
  const { attributes, ...device } = former;
  const joined = sent.attributes === undefined ? {} : { attributes: { ...sent.attributes, ...attributes } };
  return { request: createToken(sent), formerRequest: createToken({ ...sent, ...device, ...joined }) };
}

function createToken(sent: object): string {
  return toShortHash(JSON.stringify(Object.values(sent)));
}

/** Adds the devices that a score shows to the state. */
function noteShownDevices(state: ClientState, request: ScoreRequest, now: number): ClientState {
  const { fingerprint, ip, former } = request;
  const { fingerprints, ips } = state.knownDevices;
  const noted = (packed: string, id: string | null, formerId: string | null = null) =>
    id === null ? packed : addShownDeviceToPacked(packed, { id, formerId }, now);
  return {
    ...state,
    events: renameDevice(state.events, request),
    knownDevices: {
      fingerprints: noted(fingerprints, fingerprint, former?.fingerprint),
      ips: noted(ips, ip, former?.ip),
    },
  };
}

/** Renames a device in past events when its HMAC changed, so that it stays the same device. */
function renameDevice(
  events: ClientState['events'],
  { fingerprint, ip, former }: ScoreRequest,
): ClientState['events'] {
  if (former === undefined) return events;
  const renamed = (then: string | null, formerId: string | null, id: string | null) =>
    then !== null && formerId !== null && id !== null && then === shortenDeviceId(formerId)
      ? shortenDeviceId(id)
      : then;
  return events.map((event) => ({
    ...event,
    fingerprint: renamed(event.fingerprint, former.fingerprint, fingerprint),
    ip: renamed(event.ip, former.ip, ip),
  }));
}
