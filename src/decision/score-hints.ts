import { type ClientState, deviceToken, momentFor, token, touch } from '../client/client-state.ts';
import {
  type Hints,
  hintsKnownTo,
  type KnownHints,
  withScore,
  withUnansweredScore,
} from '../client/hints.ts';
import type { ScoreRequest } from './requests.ts';

/** The state after a score as far as verdicts depend on it, for histories in which no score is answered. */
export function stateAfterScore(state: ClientState, request: ScoreRequest, clockMs: number): ClientState {
  const now = momentFor(state, clockMs);
  const hints = withUnansweredScore(state.hints, request, now);
  return touch({ ...state, hints, events: renameDevice(state.events, request) }, now);
}

interface HintsAfterScore {
  readonly hints: Hints;
  readonly events: ClientState['events'];
  readonly known: () => KnownHints;
}

/** The client's hints with those of a score; `known` works out which of them are known to its answer. */
export function hintsAfter(state: ClientState, request: ScoreRequest, now: number): HintsAfterScore {
  // What the service adds is not part of what the caller said.
  const { networks: _networks, former: _former, ...told } = request;
  const asked = token(JSON.stringify(Object.values(told)));
  const hints = withScore(state.hints, request, asked, now);
  return { hints, events: renameDevice(state.events, request), known: () => hintsKnownTo(asked, hints, now) };
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
