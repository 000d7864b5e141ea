import { isDeepStrictEqual } from 'node:util';
import { type Decision, toVerdictAnswer } from '#decision/decision.ts';
import { type ClientState, compactState } from '#decision/payer/client-state.ts';
import type { Hint } from '#decision/payer/hints.ts';
import { EMPTY_LADDER, type Ladder, resetLadderAfterAbsence } from '#decision/payer/ladder.ts';
import type { KnownOrder, OrderOutcome } from '#decision/payer/order.ts';
import { getPlatformSettings } from '#decision/rules/rule-set.ts';
import type { JournalEntry } from '#state/journal.ts';
import { rebuildState } from '#workbench/payers/rebuild.ts';
import { clientKey } from '../decision/payer/client-keys.ts';
import { naiveOutcome } from '../decision/payer/told-orders.ts';
import { currentRules } from '../service/current-rules.ts';
import type { History, OutcomeAttempt, VerdictAttempt } from './history.ts';
import { PLATFORM, type Storm } from './storm.ts';

/** The data of one client after a storm. */
interface Remains {
  readonly state: ClientState;
  readonly decisions: readonly Decision[];
  readonly journal: readonly JournalEntry[];
}

type OutcomeEntry = Extract<JournalEntry, { readonly kind: 'outcome' }>;

/** The violations in a storm, in words; empty when there is none. */
export function violations({ history, clients }: Storm): readonly string[] {
  const journal = clients.journal().filter((entry) => entry.kind !== 'erasure');
  return history.clientIdKeys.flatMap((clientIdKey) => {
    const client = clientKey(PLATFORM, clientIdKey);
    const remains = {
      state: clients.load(client, {}, 0).state,
      decisions: clients.decisionsOf(client.hash),
      journal: journal.filter((entry) => entry.clientIdKey === clientIdKey),
    };
    const own = ofClient(history, clientIdKey);
    return [
      ...brokenNumbers(remains),
      ...brokenJournal(remains),
      ...brokenLadder(remains),
      ...brokenRebuilding(remains),
      ...own.verdicts.flatMap((attempt) => [...brokenAnswer(attempt, own.verdicts, remains.decisions)]),
      ...doubledSteps(own.verdicts, remains.decisions),
      ...brokenOutcomes(own.outcomes, remains),
    ].map((what) => `${clientIdKey}: ${what}`);
  });
}

function ofClient({ verdicts, outcomes }: History, clientIdKey: string) {
  return {
    verdicts: verdicts.filter((attempt) => attempt.clientIdKey === clientIdKey),
    outcomes: outcomes.filter((attempt) => attempt.clientIdKey === clientIdKey),
  };
}

/** Without the networks around an address, which only the state has. */
function withoutNetworks(state: ClientState): ClientState {
  if (state.hints === null) return state;
  const bare = ({ networks: _networks, ...hint }: Hint): Hint => hint;
  const shown = state.hints.shown.map(({ hint, lastAt }) => ({ hint: bare(hint), lastAt }));
  const asked = state.hints.asked.map((score) => ({ ...score, knownHints: score.knownHints.map(bare) }));
  return { ...state, hints: { ...state.hints, shown, asked } };
}

/** The journal has everything else, so that an unreadable state can be rebuilt from it. */
function* brokenRebuilding({ state, journal }: Remains): Generator<string> {
  // A state is stored without what can change no answer any more.
  if (!isDeepStrictEqual(compactState(rebuildState(journal), state.lastAt), withoutNetworks(state)))
    yield 'its state is not what its journal tells';
}

/** No step is lost: the numbers have no gap, and the state counts all of them. */
function* brokenNumbers({ state, decisions }: Remains): Generator<string> {
  for (const [index, { seq }] of decisions.entries()) {
    if (seq !== index + 1) yield `decision ${index + 1} has the number ${seq}`;
  }
  if (state.seq !== decisions.length)
    yield `${decisions.length} decisions, but the state counts ${state.seq}`;
}

/** The journal has the same decisions in the same order. */
function* brokenJournal({ decisions, journal }: Remains): Generator<string> {
  const told = journal.flatMap((entry) => (entry.kind === 'verdict' ? [entry.decision] : []));
  if (!isDeepStrictEqual(told, decisions)) {
    yield `the journal tells decisions ${told.map(({ seq }) => seq)}, kept are ${decisions.map(({ seq }) => seq)}`;
  }
}

/** Time stands still for a client while clocks differ by no more; a clock that is farther behind came back. */
const CLOCK_DIFFERENCE_MS_MAX = 2000;

/**
 * Every decision starts on the ladder where what came before it ended, and none ignores a wait. A clock that came back
 * takes along what was noted by it.
 */
function* brokenLadder({ state, journal }: Remains): Generator<string> {
  const settings = getPlatformSettings(currentRules(), PLATFORM).ladder;
  let ladder: Ladder = EMPTY_LADDER;
  let lastVerdictAt: number | null = null;
  let lastAt = 0;
  const told = new ToldOrders();
  for (const entry of journal) {
    const back = told.moveTo(entry);
    if (entry.at < lastAt) {
      yield* brokenTime(lastAt, entry.at);
      ladder = ladderBack(ladder, lastAt, entry.at);
      lastVerdictAt = lastVerdictAt === null ? null : back(lastVerdictAt);
    }
    lastAt = entry.at;
    if (entry.kind === 'outcome') ladder = afterReport(ladder, entry, told);
    if (entry.kind !== 'verdict') continue;
    told.ask(entry.decision);
    const { at, ladderAfter } = entry.decision;
    const expected = resetLadderAfterAbsence({ ladder, lastVerdictAt, lastWaitLadder: null }, settings, at);
    yield* brokenStart(entry.decision, expected);
    ladder = ladderAfter;
    lastVerdictAt = at;
  }
  if (!isDeepStrictEqual(state.ladder, ladder)) {
    yield `the state stands at ${JSON.stringify(state.ladder)}, the journal at ${JSON.stringify(ladder)}`;
  }
}

function* brokenStart({ seq, at, ladderBefore, verdict }: Decision, expected: Ladder): Generator<string> {
  if (!isDeepStrictEqual(ladderBefore, expected))
    yield `decision ${seq} starts at ${JSON.stringify(ladderBefore)}, not at ${JSON.stringify(expected)}`;
  if ((ladderBefore.waitUntil ?? 0) > at && verdict.startsWith('GET')) yield `decision ${seq} ignores a wait`;
}

function* brokenTime(lastAt: number, now: number): Generator<string> {
  if (lastAt - now <= CLOCK_DIFFERENCE_MS_MAX) yield `time ran backwards from ${lastAt} to ${now}`;
}

/** What was left of a wait at `lastAt` counts from a clock that came back. */
function ladderBack(ladder: Ladder, lastAt: number, now: number): Ladder {
  const { waitUntil } = ladder;
  return waitUntil === null || waitUntil <= now
    ? ladder
    : { ...ladder, waitUntil: waitUntil - (lastAt - now) };
}

/** The reports of one order that still count, the last of them, and whether the order is turned away. */
interface Told {
  readonly before: readonly OrderOutcome[];
  readonly report: OrderOutcome;
  readonly turnedAway: boolean;
}

/** The orders of a client, as src/decision/payer/README.md says what counts of them. */
class ToldOrders {
  readonly #granted = new Map<string, boolean>();
  readonly #told = new Map<string, Told>();
  /** The orders that were granted, each where it was granted last. */
  #grants: readonly string[] = [];

  /** Each moment that was noted, by the clock of the newest entry. */
  #noted: readonly number[] = [];
  #lastAt = 0;

  /**
   * Moves to the time of the next entry. A clock that came back dates what was noted in the future again, which keeps its
   * order; gives how.
   */
  moveTo(entry: JournalEntry): (at: number) => number {
    const backMs = this.#lastAt - entry.at;
    this.#lastAt = entry.at;
    const past = Math.max(0, ...this.#noted.filter((at) => at <= entry.at));
    const future = [...new Set(this.#noted)].filter((at) => at > entry.at).sort((a, b) => a - b);
    const back = (at: number) =>
      backMs > 0 && at > entry.at ? Math.max(at - backMs, past + 1 + future.indexOf(at)) : at;
    const dated = (report: OrderOutcome) => ({ ...report, occurredAt: back(report.occurredAt) });
    for (const [orderRef, { before, report, turnedAway }] of this.#told)
      this.#told.set(orderRef, { before: before.map(dated), report: dated(report), turnedAway });
    this.#noted = [...this.#noted.map(back), ...notedBy(entry)];
    return back;
  }

  ask({ orderRef, verdict }: Decision): void {
    if (verdict.startsWith('GET'))
      this.#grants = [...this.#grants.filter((one) => one !== orderRef), orderRef];
    this.#granted.set(orderRef, verdict.startsWith('GET') || this.#granted.get(orderRef) === true);
  }

  tell({ orderRef, order, report = order }: OutcomeEntry): Told {
    const granted = this.#granted.get(orderRef);
    const last = this.#told.get(orderRef);
    const isOpened = last?.turnedAway === true && granted === true;
    const reports = last === undefined ? [] : [...last.before, last.report];
    const lasting = reports.filter(({ outcome, cause }) => outcome === 'PAID' || cause === 'REVERSED');
    const before = isOpened ? lasting : reports;
    const turnedAway = last === undefined ? granted === false : last.turnedAway && !isOpened;
    const told = { before, report, turnedAway };
    this.#told.set(orderRef, told);
    return told;
  }

  /** Whether an order failed technically, was granted last, and was not the fourth in a row that did. */
  isExcused(orderRef: string): boolean {
    const newest = this.#grants.slice(-4);
    if (newest.at(-1) !== orderRef || !this.#failedTechnically(orderRef)) return false;
    return newest.length < 4 || !newest.every((one) => this.#failedTechnically(one));
  }

  #failedTechnically(orderRef: string): boolean {
    const told = this.#told.get(orderRef);
    return told !== undefined && naiveOutcome([...told.before, told.report]).cause === 'TECHNICAL';
  }
}

function afterReport(ladder: Ladder, entry: OutcomeEntry, told: ToldOrders): Ladder {
  if (tellsPayment(told.tell(entry))) return EMPTY_LADDER;
  return told.isExcused(entry.orderRef) ? excused(ladder, entry.at) : ladder;
}

/** The ladder once its attempt is no fault of the payer. */
function excused(ladder: Ladder, at: number): Ladder {
  const { level, attemptOpen, waitUntil } = ladder;
  if (!attemptOpen && (waitUntil ?? 0) <= at) return ladder;
  return { level, attemptOpen: false, waitUntil: level === 0 ? null : at };
}

/** The moments that the state notes of an entry; bindings and overrides keep the dates that people gave. */
function notedBy(entry: JournalEntry): readonly number[] {
  if (entry.kind === 'outcome') return [(entry.report ?? entry.order).occurredAt];
  return entry.kind === 'score' || entry.kind === 'verdict' ? [entry.at] : [];
}

function tellsPayment({ before, report }: Told): boolean {
  const wasPaid = before.length > 0 && naiveOutcome(before).outcome === 'PAID';
  return report.outcome === 'PAID' && !wasPaid;
}

/** An answer that a caller got is recorded as it was given; a refusal left nothing behind. */
function* brokenAnswer(
  attempt: VerdictAttempt,
  all: readonly VerdictAttempt[],
  decisions: readonly Decision[],
): Generator<string> {
  const { requestId, idempotencyKey, status } = attempt;
  const made = decisions.filter((decision) => decision.requestId === requestId);
  if (made.length > 1) yield `${requestId} took ${made.length} steps`;
  if (status.kind === 'refused' && made.length > 0) yield `${requestId} was refused and took a step`;
  if (status.kind !== 'answered') return;
  const { answer, decisionId, replayed } = status.answer;
  const decision = decisions.find((one) => one.decisionId === decisionId);
  if (decision === undefined) return yield `${requestId} was answered, but ${decisionId} is not recorded`;
  if (!isDeepStrictEqual(toVerdictAnswer(decision), answer))
    yield `${requestId} was answered otherwise than recorded`;
  if (decision.orderRef !== attempt.orderRef) yield `${requestId} got the answer of ${decision.orderRef}`;
  const sameRequest = replayed
    ? all.some((other) => other.requestId === decision.requestId && other.idempotencyKey === idempotencyKey)
    : decision.requestId === requestId;
  if (!sameRequest) yield `${requestId} got the answer of ${decision.requestId}`;
}

/** One Idempotency-Key takes one step at most, and each decision goes back to a request. */
function* doubledSteps(
  attempts: readonly VerdictAttempt[],
  decisions: readonly Decision[],
): Generator<string> {
  const keyOf = new Map(attempts.map(({ requestId, idempotencyKey }) => [requestId, idempotencyKey]));
  const steps = new Map<string, number>();
  for (const { requestId, seq } of decisions) {
    const key = keyOf.get(requestId);
    if (key === undefined) yield `decision ${seq} is of a request that nobody sent: ${requestId}`;
    if (key !== undefined && key !== null) steps.set(key, (steps.get(key) ?? 0) + 1);
  }
  for (const [key, count] of steps) if (count > 1) yield `${key} took ${count} steps`;
}

/** Each order counts once, by what was reported last. */
function* brokenOutcomes(attempts: readonly OutcomeAttempt[], remains: Remains): Generator<string> {
  const orders = new ToldOrders();
  const known = new Map<string, KnownOrder>();
  const firsts = new Map<string, number>();
  for (const entry of remains.journal) {
    orders.moveTo(entry);
    if (entry.kind === 'verdict') orders.ask(entry.decision);
    if (entry.kind !== 'outcome') continue;
    const { orderRef, order } = entry;
    const { before, report, turnedAway } = orders.tell(entry);
    if (before.some((one) => isDeepStrictEqual(one, report))) yield `${orderRef} is told twice`;
    if (before.length === 0) firsts.set(orderRef, (firsts.get(orderRef) ?? 0) + 1);
    const expected = { ...naiveOutcome([...before, report]), turnedAway };
    if (!isDeepStrictEqual({ ...order, turnedAway: entry.turnedAway === true }, expected))
      yield `${orderRef} is ${JSON.stringify(order)}, reported ${JSON.stringify(expected)}`;
    known.set(orderRef, { ...order, ...(turnedAway ? { turnedAway } : {}) });
  }
  yield* brokenTally(known, remains.state);
  yield* brokenReports(attempts, firsts);
}

function* brokenTally(known: ReadonlyMap<string, KnownOrder>, { outcomes }: ClientState): Generator<string> {
  const counted = [...known.values()].filter(
    ({ outcome, cause, turnedAway }) => cause !== 'TECHNICAL' && (outcome === 'PAID' || !turnedAway),
  );
  const paid = counted.filter(({ outcome }) => outcome === 'PAID').length;
  const unpaid = counted.length - paid;
  if (outcomes.paidCount === paid && outcomes.unpaidCount === unpaid) return;
  yield `${outcomes.paidCount} paid and ${outcomes.unpaidCount} unpaid are counted, reported ${paid} and ${unpaid}`;
}

function* brokenReports(
  attempts: readonly OutcomeAttempt[],
  firsts: ReadonlyMap<string, number>,
): Generator<string> {
  const recorded = new Map<string, number>();
  for (const { orderRef, status } of attempts) {
    if (status.kind !== 'answered') continue;
    if (!firsts.has(orderRef)) yield `the outcome of ${orderRef} was acknowledged, but is not recorded`;
    if (status.answer !== 'recorded') continue;
    recorded.set(orderRef, (recorded.get(orderRef) ?? 0) + 1);
  }
  for (const [orderRef, times] of recorded)
    if (times > (firsts.get(orderRef) ?? 0))
      yield `${orderRef} was recorded for the first time ${times} times`;
}
