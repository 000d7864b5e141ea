import { setTimeout as delay } from 'node:timers/promises';
import type { Decision } from '#decision/decision.ts';
import { KeepAliveConnection } from './keep-alive.ts';
import { askForVerdict, type Sample } from './load.ts';
import type { LoadRequest, ServiceAccess } from './requests.ts';

const CONNECTIONS = 4;
const LOOKUP_TIMEOUT_MS = 5_000;
const LOOKUP_TRIES = 50;
const PAUSE_MS = 50;

/** The recorded decisions by order. */
export type DecisionsByOrder = ReadonlyMap<string, readonly Decision[]>;

/** Reads the recorded decisions of these orders. Throws if they cannot be read. */
export async function readDecisionsByOrder(
  target: ServiceAccess,
  orderRefs: readonly string[],
): Promise<DecisionsByOrder> {
  const recorded = new Map<string, readonly Decision[]>();
  const left = [...orderRefs];
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      const connection = new KeepAliveConnection(target.platformUrl);
      for (let orderRef = left.pop(); orderRef !== undefined; orderRef = left.pop())
        recorded.set(orderRef, await readDecisions(connection, target, orderRef));
      connection.close();
    }),
  );
  return recorded;
}

async function readDecisions(
  connection: KeepAliveConnection,
  { platformUrl, key }: ServiceAccess,
  orderRef: string,
): Promise<readonly Decision[]> {
  const request = [
    `GET /v1/platform/decisions?orderRef=${encodeURIComponent(orderRef)} HTTP/1.1`,
    `Host: ${new URL(platformUrl).host}`,
    `X-KA-Access-Key: ${key}`,
    '',
    '',
  ].join('\r\n');
  for (let tries = 0; tries < LOOKUP_TRIES; tries++) {
    const answer = await connection.ask(request, LOOKUP_TIMEOUT_MS);
    if (typeof answer !== 'string' && answer.status === 200) {
      const { decisions }: { readonly decisions: readonly Decision[] } = JSON.parse(answer.body);
      return decisions;
    }
    await delay(PAUSE_MS);
  }
  throw new Error(`the decisions of ${orderRef} cannot be read back`);
}

/** Returns the acknowledged verdicts that are not recorded. */
export function selectLostVerdicts(
  samples: readonly Sample[],
  recorded: DecisionsByOrder,
): readonly Sample[] {
  return samples.filter(
    ({ status, orderRef, decisionId }) =>
      status === 200 && !recorded.get(orderRef)?.some((decision) => decision.decisionId === decisionId),
  );
}

/** Returns the orders with more than one decision. */
export function listDoubledOrders(recorded: DecisionsByOrder): readonly string[] {
  return [...recorded].filter(([, decisions]) => decisions.length > 1).map(([orderRef]) => orderRef);
}

/** Repeats each request under its Idempotency-Key until a verdict is given. Throws if none is given. */
export async function retryUntilAnswered(
  target: ServiceAccess,
  asks: readonly LoadRequest[],
): Promise<readonly Sample[]> {
  const connection = new KeepAliveConnection(target.callerUrl);
  const answered: Sample[] = [];
  for (const ask of asks) {
    const sample = await retryOnce(connection, target, ask);
    if (sample === null)
      throw new Error(`the verdict on ${ask.orderRef} is still not given after ${LOOKUP_TRIES} tries`);
    answered.push(sample);
  }
  connection.close();
  return answered;
}

async function retryOnce(
  connection: KeepAliveConnection,
  target: ServiceAccess,
  ask: LoadRequest,
): Promise<Sample | null> {
  for (let tries = 0; tries < LOOKUP_TRIES; tries++) {
    const sample = await askForVerdict(connection, target, ask, true, LOOKUP_TIMEOUT_MS);
    if (sample.status === 200) return sample;
    await delay(PAUSE_MS);
  }
  return null;
}

/** Asks until a verdict is given. Returns the time of that answer in ms of `performance.now()`. */
export async function waitForFirstVerdict(
  target: ServiceAccess,
  name: string,
  limitMs: number,
): Promise<number> {
  const connection = new KeepAliveConnection(target.callerUrl);
  const giveUpAtMs = performance.now() + limitMs;
  for (let n = 0; performance.now() < giveUpAtMs; n++) {
    const ask = { clientIdKey: `${name}-${n}`, orderRef: `${name}-order-${n}` };
    const { status, answeredAtMs } = await askForVerdict(connection, target, ask, false, limitMs);
    if (status === 200) {
      connection.close();
      return answeredAtMs;
    }
    await delay(PAUSE_MS / 5);
  }
  connection.close();
  throw new Error(`no verdict was given within ${limitMs} ms`);
}
