import {
  type ClientState,
  deviceToken,
  isUndisturbed,
  momentFor,
  token,
  touchByScore,
} from '../client/client-state.ts';
import { hintsKnownTo, type KnownHints, withScore, withUnansweredScore } from '../client/hints.ts';
import type { ScoreRequest } from './requests.ts';

/** The state after a score as far as verdicts depend on it, for histories in which no score is answered. */
export function stateAfterScore(state: ClientState, request: ScoreRequest, clockMs: number): ClientState {
  const now = momentFor(state, clockMs);
  const hints = withUnansweredScore(state.hints, request, now);
  return touchByScore({ ...state, hints, events: renameDevice(state.events, request) }, now);
}

interface ScoreContact {
  readonly nextState: ClientState;
  /** The hints that the answer may use. */
  readonly known: () => KnownHints;
  /** The moment that the answer is about, epoch ms. */
  readonly at: number;
}

/**
 * What a score shows, and what it is answered from. The identical request, for 24 hours from when it was first asked, is
 * answered from the hints that were known then; and as of that moment, as long as nothing but scores happened since.
 */
export function contactByScore(state: ClientState, request: ScoreRequest, now: number): ScoreContact {
  // What the service adds is not part of what the caller said.
  const { networks: _networks, former: _former, ...told } = request;
  const { hints, asked } = withScore(state.hints, request, token(JSON.stringify(Object.values(told))), now);
  return {
    nextState: touchByScore({ ...state, hints, events: renameDevice(state.events, request) }, now),
    known: () => hintsKnownTo(asked),
    at: isUndisturbed(state, asked.at, now) ? asked.at : now,
  };
}

/** Verdict requests from a device that has another HMAC now, as requests from the same device. */
function renameDevice(
  events: ClientState['events'],
  { fingerprint, ip, former }: ScoreRequest,
): ClientState['events'] {
  if (former === undefined) return events;
  const renamed = (then: string | null, formerId: string | null, id: string | null) =>
    then !== null && formerId !== null && id !== null && then === deviceToken(formerId)
      ? deviceToken(id)
      : then;
  return events.map((event) => ({
    ...event,
    fingerprint: renamed(event.fingerprint, former.fingerprint, fingerprint),
    ip: renamed(event.ip, former.ip, ip),
  }));
}
