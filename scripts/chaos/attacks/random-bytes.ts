import { connect } from 'node:net';
import { SeededRandom } from '../../../test/simulation/seeded-random.ts';
import { atLeast, atMost, countsText, type Figure, never, reported } from '../figure.ts';
import { startServiceNode } from '../processes/service-node.ts';
import type { Scenario, ScenarioRun } from '../scenario.ts';
import { KeepAliveConnection } from '../traffic/keep-alive.ts';
import { firstSuccess } from '../traffic/records.ts';
import { post, type Target } from '../traffic/requests.ts';

const CALLERS = 8;
const TIMEOUT_MS = 5_000;
const ANSWER_LIMIT_MS = 1_000;
const BYTES_MAX = 600;
/** Of the requests, those that are no HTTP at all; each needs a connection of its own. */
const RAW_SHARE = 0.1;

/** Whatever arrives, the service refuses it in an orderly way. */
export const randomBytes: Scenario = {
  name: 'random-bytes',
  does: '100,000 random byte strings and mutated valid requests: no 5xx, no crash, no answer over 1 s',
  limitSeconds: 600,
  run,
};

interface Totals {
  readonly statuses: string[];
  serverErrors: number;
  unanswered: number;
  slowestMs: number;
}

async function run({ quick, report }: ScenarioRun): Promise<readonly Figure[]> {
  const requests = quick ? 5_000 : 100_000;
  const seed = Math.floor(Math.random() * 2 ** 31);
  report(`seed ${seed}`);
  const service = await startServiceNode();
  const totals: Totals = { statuses: [], serverErrors: 0, unanswered: 0, slowestMs: 0 };
  await firstSuccess(service, 'before', TIMEOUT_MS);
  await Promise.all(
    Array.from({ length: CALLERS }, (_, index) =>
      caller(service, new SeededRandom(seed + index), Math.ceil(requests / CALLERS), totals),
    ),
  );
  const survived = service.isRunning();
  if (survived) await firstSuccess(service, 'after', TIMEOUT_MS);
  return figuresOf(totals, seed, survived);
}

function figuresOf(totals: Totals, seed: number, survived: boolean): readonly Figure[] {
  const { statuses, serverErrors, unanswered, slowestMs } = totals;
  return [
    reported('requests, and the seed of their chance', `${statuses.length}, ${seed}`),
    reported('answers', countsText(statuses.toSorted())),
    atLeast('different answers, so that more than the parser was reached', new Set(statuses).size, 4),
    never('answers 5xx', serverErrors),
    never('requests neither answered nor closed', unanswered),
    never('crashes', survived ? 0 : 1),
    atMost('slowest answer', slowestMs, ANSWER_LIMIT_MS, 'ms'),
  ];
}

async function caller(target: Target, random: SeededRandom, requests: number, totals: Totals): Promise<void> {
  const connection = new KeepAliveConnection(target.callerUrl);
  for (let n = 0; n < requests; n++) {
    const startedMs = performance.now();
    const status = random.chance(RAW_SHARE)
      ? await sendRaw(target.callerUrl, rawBytes(target, random))
      : await sendMutated(connection, target, random);
    const elapsedMs = performance.now() - startedMs;
    totals.slowestMs = Math.max(totals.slowestMs, elapsedMs);
    totals.statuses.push(status);
    if (status.startsWith('5')) totals.serverErrors++;
    if (status === 'nothing') totals.unanswered++;
  }
  connection.close();
}

/** Random bytes, or a valid request with some of its bytes changed or cut off. */
function rawBytes(target: Target, random: SeededRandom): Buffer {
  if (random.chance(0.5)) {
    return Buffer.from(Array.from({ length: random.whole(1, BYTES_MAX) }, () => random.whole(0, 255)));
  }
  const bytes = Buffer.from(post(`${target.callerUrl}/v1/client/verdict`, target.key, validBody(random)));
  for (let changes = random.whole(1, 8); changes > 0; changes--)
    bytes[random.whole(0, bytes.length - 1)] = random.whole(0, 255);
  return random.chance(0.3) ? bytes.subarray(0, random.whole(1, bytes.length)) : bytes;
}

/** The status, `closed` when the connection ends without one, `nothing` when neither happens. */
async function sendRaw(url: string, bytes: Buffer): Promise<string> {
  const { hostname, port } = new URL(url);
  const { promise, resolve } = Promise.withResolvers<string>();
  // The write side is closed, so that the service waits for nothing more.
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true }, () =>
    socket.end(bytes),
  );
  const timer = setTimeout(resolve, TIMEOUT_MS, 'nothing');
  socket.once('data', (chunk) => resolve(/^HTTP\/1\.1 (\d{3})/.exec(chunk.toString())?.[1] ?? 'closed'));
  socket.on('error', () => resolve('closed'));
  socket.on('end', () => resolve('closed'));
  const status = await promise;
  clearTimeout(timer);
  socket.destroy();
  return status;
}

async function sendMutated(
  connection: KeepAliveConnection,
  target: Target,
  random: SeededRandom,
): Promise<string> {
  const operation = random.pick(OPERATIONS);
  const body = mutated(validBody(random), random);
  const more = random.chance(0.1) ? [`Idempotency-Key: ${printable(random)}`] : [];
  const key = random.chance(0.95) ? target.key : printable(random);
  const answer = await connection.ask(
    post(`${target.callerUrl}/v1/client/${operation}`, key, body, more),
    TIMEOUT_MS,
  );
  if (typeof answer !== 'string') return String(answer.status);
  return answer === 'no answer' ? 'closed' : answer;
}

/** Mostly existing paths. */
const OPERATIONS = [
  ...(['score', 'score', 'score', 'verdict', 'verdict', 'verdict', 'verdict'] as const),
  ...(['Verdict', 'verdict/', '%00'] as const),
] as const;

/** Values that have broken parsers before. */
const ODD_VALUES = [
  ...['null', 'true', '1e999', '-0', '25.00', '"25.00"', '""', '[]', '{}', '"\\ud800"', '"\\u0000"'],
  ...[`"${'x'.repeat(257)}"`, `"${'9'.repeat(400)}"`, `${'['.repeat(500)}${']'.repeat(500)}`],
  ...['{"__proto__":{"x":1}}', '"constructor"', '"NaN"', '9007199254740993'],
] as const;

const MEMBERS = [
  ...['sellPointKey', 'clientIdKey', 'amountRequested', 'selectedMethodKey', 'method', 'orderRef'],
  ...['toPayCurrency', 'fingerprint', 'ip', 'userAgent', 'clientHints', '__proto__'],
] as const;

/** Valid for both operations, except for the member that is drawn. */
function validBody(random: SeededRandom): string {
  const payer = `payer-${random.whole(1, 500)}`;
  const valid = [
    '"sellPointKey":"shop-1"',
    `"clientIdKey":"${payer}"`,
    '"amountRequested":"25.00"',
    '"selectedMethodKey":"card"',
    '"method":"card"',
    `"orderRef":"order-${random.whole(1, 1e9)}"`,
  ];
  if (random.chance(0.6)) {
    const member = MEMBERS[random.whole(0, MEMBERS.length - 1)] ?? 'ip';
    valid.push(`"${member}":${ODD_VALUES[random.whole(0, ODD_VALUES.length - 1)] ?? 'null'}`);
  }
  return `{${valid.join(',')}}`;
}

/** Some characters replaced, removed or doubled; half of the bodies stay as they are. */
function mutated(body: string, random: SeededRandom): string {
  let text = body;
  for (let changes = random.chance(0.5) ? random.whole(1, 4) : 0; changes > 0; changes--) {
    const at = random.whole(0, text.length - 1);
    const put = random.chance(0.3)
      ? ''
      : String.fromCharCode(random.whole(1, random.chance(0.1) ? 0xffff : 126));
    text = text.slice(0, at) + put + text.slice(at + random.whole(0, 2));
  }
  return text;
}

/** What a header may hold. */
function printable(random: SeededRandom): string {
  return Array.from({ length: random.whole(1, 300) }, () => String.fromCharCode(random.whole(33, 126))).join(
    '',
  );
}
