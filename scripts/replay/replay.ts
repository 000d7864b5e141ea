import { Driver, type Use } from './driver.ts';
import type { Observation } from './observation.ts';
import {
  type RecordedPayment,
  readRecordedPayments,
  type Survey,
  surveyRecordedPayments,
} from './recorded-payments.ts';
import { type MovableClock, type ReplayedService, withReplayedService } from './replayed-service.ts';
import { timeline } from './timeline.ts';

/** What a replay saw. */
export interface Replay {
  readonly survey: Survey;
  readonly observations: readonly Observation[];
  readonly use: Use;
  readonly ruleVersion: string;
  readonly digest: string;
  readonly storeName: string;
  /** From the first request to the last answer. */
  readonly elapsedMs: number;
}

export interface ReplayOptions {
  /** The settings of the service; REDIS_URL, RULES_DIR and RULE_VERSION matter here. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where the store is kept afterwards; null means in a temporary folder that is removed. */
  readonly dataDir: string | null;
  /** Ends the replay after the request that is under way. */
  readonly signal: AbortSignal;
  /** Is told how many payments have been replayed, and of how many. */
  readonly onProgress: (done: number, total: number) => void;
}

/**
 * Replays a file of recorded payments: each attempt as score and then verdict, each outcome when it became known, with the
 * service's clock at that moment. An order that was refused is reported as abandoned. One request at a time, so the clock
 * never moves under a request and equal files give equal results.
 *
 * Throws InputError, UnexpectedAnswer, the reason of `signal`, and what the start of the service throws.
 */
export async function replay(
  path: string,
  { env, dataDir, signal, onProgress }: ReplayOptions,
): Promise<Replay> {
  const survey = await surveyRecordedPayments(path);
  const clock: MovableClock = { now: survey.firstAt };
  const observations: Observation[] = [];
  const note = (observation: Observation) => {
    observations.push(observation);
    onProgress(observations.length, survey.payments);
  };
  return withReplayedService({ env, dataDir }, clock, survey, async (service) => {
    const driver = new Driver(service);
    const startedMs = performance.now();
    try {
      await drive(path, driver, clock, signal, note);
    } finally {
      driver.close();
    }
    const elapsedMs = performance.now() - startedMs;
    return { survey, observations, use: driver.use, elapsedMs, ...namesOf(service) };
  });
}

function namesOf({ rules, storeName }: ReplayedService) {
  return { ruleVersion: rules.version, digest: rules.digest, storeName };
}

async function drive(
  path: string,
  driver: Driver,
  clock: MovableClock,
  signal: AbortSignal,
  note: (observation: Observation) => void,
): Promise<void> {
  const granted = new Set<number>();
  for await (const moment of timeline(readRecordedPayments(path))) {
    signal.throwIfAborted();
    const { at, payment } = moment;
    clock.now = at;
    if (moment.kind === 'outcome') {
      // Nobody paid what could not be paid, whatever is recorded.
      const { outcome } = moment.result;
      await driver.reportOutcome(payment, granted.delete(payment.line) ? { outcome } : ABANDONED);
      continue;
    }
    const observation = await observe(driver, payment);
    if (observation.verdict.startsWith('GET')) granted.add(payment.line);
    note(observation);
  }
}

/** What a platform tells of an order for which no requisite was shown. */
const ABANDONED = { outcome: 'UNPAID', cause: 'EXPIRED' } as const;

async function observe(driver: Driver, payment: RecordedPayment): Promise<Observation> {
  const { clientGroup, paymentScore, isBot } = await driver.score(payment);
  const { answer, decisionId } = await driver.verdict(payment);
  const waited = answer.verdict === 'WAIT' ? await driver.decision(decisionId, payment) : null;
  return {
    clientGroup,
    paymentScore: Number(paymentScore),
    isBotAtScore: isBot,
    verdict: answer.verdict,
    isBotAtVerdict: answer.isBot,
    waitLevel: waited?.ladderAfter.level ?? null,
    outcome: payment.result?.outcome ?? null,
    abuse: payment.abuse,
  };
}
