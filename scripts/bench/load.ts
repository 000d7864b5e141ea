import { execFile, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import autocannon from 'autocannon';
import { temporaryDirectory } from '../../test/servers/temporary-directory.ts';

const run = promisify(execFile);

/** How verdicts are asked for. */
export interface LoadPlan {
  readonly url: string;
  readonly accessKey: string;
  readonly connections: number;
  readonly seconds: number;
  /** Requests a second over all connections; null asks as fast as answers come. */
  readonly rate: number | null;
  /** From how many addresses callers ask, as X-Forwarded-For tells it; absent: it tells nothing. */
  readonly callerAddresses?: number;
}

export interface LoadResult {
  readonly requests: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Answers other than 2xx, and connections that failed. */
  readonly failures: number;
}

export type LoadTool = 'wrk' | 'autocannon';

/** wrk when it is installed: it takes less of the machine that it shares with the service. */
export function loadTool(): LoadTool {
  // wrk knows no successful way to say its version, but only a missing program is an error.
  return spawnSync('wrk', ['--version'], { stdio: 'ignore' }).error === undefined ? 'wrk' : 'autocannon';
}

let plans = 0;

/** Asks for verdicts, each of a client that was never seen before. */
export function runLoad(tool: LoadTool, plan: LoadPlan): Promise<LoadResult> {
  plans += 1;
  const prefix = `${process.pid}-${plans}`;
  switch (tool) {
    case 'wrk':
      return runWrk(plan, prefix);
    case 'autocannon':
      return runAutocannon(plan, prefix);
    default:
      return tool satisfies never;
  }
}

/** What is sent, around the number of the client. */
const BODY_START = '{"sellPointKey":"shop-1","method":"card","amountRequested":"25.00","clientIdKey":"payer-';
const BODY_MIDDLE = '","orderRef":"order-';
const BODY_END = '"}';

function headersOf({ accessKey }: LoadPlan) {
  return { 'Content-Type': 'application/json', 'X-KA-Access-Key': accessKey };
}

async function runWrk(plan: LoadPlan, prefix: string): Promise<LoadResult> {
  const script = join(temporaryDirectory(), 'verdicts.lua');
  writeFileSync(script, wrkScript(plan, prefix));
  const args = ['-t1', `-c${plan.connections}`, `-d${plan.seconds}s`, '-s', script];
  const { stdout } = await run('wrk', [...args, `${plan.url}/v1/client/verdict`]);
  return parseWrk(stdout);
}

function wrkScript(plan: LoadPlan, prefix: string): string {
  const headers = Object.entries(headersOf(plan)).map(
    ([name, value]) => `wrk.headers["${name}"] = "${value}"`,
  );
  const { callerAddresses } = plan;
  const address =
    callerAddresses === undefined
      ? ''
      : `
  local caller = count % ${callerAddresses}
  wrk.headers["X-Forwarded-For"] = "10.1." .. math.floor(caller / 250) .. "." .. caller % 250`;
  // A connection rests so long between two requests that all of them together keep to the rate.
  const meanRestMs = plan.rate === null ? 0 : (plan.connections * 1000) / plan.rate;
  const rest = `function delay() return math.random(0, ${Math.round(2 * meanRestMs)}) end`;
  return `wrk.method = "POST"
${headers.join('\n')}
local count = 0
function request()
  count = count + 1${address}
  local client = "${prefix}-" .. count
  return wrk.format(nil, nil, nil, '${BODY_START}' .. client .. '${BODY_MIDDLE}' .. client .. '${BODY_END}')
end
${plan.rate === null ? '' : rest}
function done(summary, latency)
  local e = summary.errors
  print(string.format("RESULT %d %d %d %d %d", summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(99), e.connect + e.read + e.write + e.status + e.timeout))
end
`;
}

/** The line that the script prints at its end; times in us. */
export function parseWrk(output: string): LoadResult {
  const [, numbers] = /^RESULT ([\d ]+)$/m.exec(output) ?? [];
  if (numbers === undefined) throw new Error(`wrk gave no result:\n${output}`);
  const [requests = 0, micros = 0, p50 = 0, p99 = 0, failures = 0] = numbers.split(' ').map(Number);
  return {
    requests,
    perSecond: requests / (micros / 1_000_000),
    p50Ms: p50 / 1000,
    p99Ms: p99 / 1000,
    failures,
  };
}

function forwardedFor({ callerAddresses }: LoadPlan, count: number): Readonly<Record<string, string>> {
  if (callerAddresses === undefined) return {};
  const caller = count % callerAddresses;
  return { 'X-Forwarded-For': `10.1.${Math.floor(caller / 250)}.${caller % 250}` };
}

async function runAutocannon(plan: LoadPlan, prefix: string): Promise<LoadResult> {
  let count = 0;
  const result = await autocannon({
    url: `${plan.url}/v1/client/verdict`,
    method: 'POST',
    headers: headersOf(plan),
    connections: plan.connections,
    duration: plan.seconds,
    ...(plan.rate === null ? {} : { overallRate: plan.rate }),
    requests: [
      {
        setupRequest: (request) => {
          count += 1;
          const client = `${prefix}-${count}`;
          const headers = { ...request.headers, ...forwardedFor(plan, count) };
          return { ...request, headers, body: BODY_START + client + BODY_MIDDLE + client + BODY_END };
        },
      },
    ],
  });
  return {
    requests: result.requests.total,
    perSecond: result.requests.total / result.duration,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
    failures: result.errors + result.non2xx,
  };
}
