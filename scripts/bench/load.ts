import { execFile, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import autocannon from 'autocannon';
import { temporaryDirectory } from '../../test/servers/temporary-directory.ts';

const run = promisify(execFile);

/** Verdicts alone, or in turns a score with a device and a verdict under an Idempotency-Key. */
export type Asks = 'verdict' | 'pair';

interface LoadPlan {
  readonly url: string;
  readonly accessKey: string;
  readonly connections: number;
  readonly seconds: number;
  /** Requests a second over all connections; null: as fast as answers come. */
  readonly rate: number | null;
  /** How many caller addresses are sent in X-Forwarded-For; absent: the header is not sent. */
  readonly callerAddresses?: number;
  /** 'verdict' when absent. A score and the verdict of the same client count as two requests. */
  readonly asks?: Asks;
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

/** wrk when it is installed, because it takes less CPU from the service. */
export function loadTool(): LoadTool {
  // wrk exits with an error even for --version, but only a missing program sets `error`.
  return spawnSync('wrk', ['--version'], { stdio: 'ignore' }).error === undefined ? 'wrk' : 'autocannon';
}

let plans = 0;

/** Asks for verdicts, each for a new client; in pairs, for a client whose score was answered before. */
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

/** The requests, with `#` for the name of the client and `@` for its address. */
const SENT = {
  score: {
    path: '/v1/client/score',
    body: '{"sellPointKey":"shop-1","selectedMethodKey":"card","amountRequested":"25.00","clientIdKey":"payer-#","fingerprint":"device-#","ip":"@","userAgent":"Mozilla/5.0"}',
  },
  verdict: {
    path: '/v1/client/verdict',
    body: '{"sellPointKey":"shop-1","method":"card","amountRequested":"25.00","clientIdKey":"payer-#","orderRef":"order-#"}',
  },
} as const;

function headersOf({ accessKey }: LoadPlan) {
  return { 'Content-Type': 'application/json', 'X-KA-Access-Key': accessKey };
}

async function runWrk(plan: LoadPlan, prefix: string): Promise<LoadResult> {
  const script = join(temporaryDirectory(), 'verdicts.lua');
  writeFileSync(script, wrkScript(plan, prefix));
  const args = ['-t1', `-c${plan.connections}`, `-d${plan.seconds}s`, '-s', script];
  const { stdout } = await run('wrk', [...args, plan.url]);
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
  // Each connection pauses between requests so that all together keep to the rate.
  const meanRestMs = plan.rate === null ? 0 : (plan.connections * 1000) / plan.rate;
  const rest = `function delay() return math.random(0, ${Math.round(2 * meanRestMs)}) end`;
  const pairs = `local client = math.floor((count + 1) / 2)
  if count % 2 == 1 then return sent('${SENT.score.path}', '${SENT.score.body}', client, nil) end
  client = (client - ${plan.connections}) % 4294967296
  local key = "key-${prefix}-" .. client`;
  return `wrk.method = "POST"
${headers.join('\n')}
local count = 0
local function sent(path, body, client, key)
  wrk.headers["Idempotency-Key"] = key
  local address = "10." .. math.floor(client / 65536) % 256 .. "." .. math.floor(client / 256) % 256 .. "." .. client % 256
  body = string.gsub(string.gsub(body, "#", "${prefix}-" .. client), "@", address)
  return wrk.format(nil, path, nil, body)
end
function request()
  count = count + 1${address}
  ${plan.asks === 'pair' ? pairs : 'local client, key = count, nil'}
  return sent('${SENT.verdict.path}', '${SENT.verdict.body}', client, key)
end
${plan.rate === null ? '' : rest}
function done(summary, latency)
  local e = summary.errors
  print(string.format("RESULT %d %d %d %d %d", summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(99), e.connect + e.read + e.write + e.status + e.timeout))
end
`;
}

/** Reads the line that the script prints at its end; times are in us. */
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
    url: plan.url,
    method: 'POST',
    headers: headersOf(plan),
    connections: plan.connections,
    duration: plan.seconds,
    ...(plan.rate === null ? {} : { overallRate: plan.rate }),
    requests: [
      {
        setupRequest: (request) => {
          count += 1;
          const { headers, ...asked } = requestOf(plan, prefix, count);
          return { ...request, ...asked, headers: { ...request.headers, ...headers } };
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

function requestOf(plan: LoadPlan, prefix: string, count: number) {
  const { asks = 'verdict', connections } = plan;
  const headers = forwardedFor(plan, count);
  const sent = ({ path, body }: { readonly path: string; readonly body: string }, client: number) => {
    const address = `10.${(client >> 16) & 255}.${(client >> 8) & 255}.${client & 255}`;
    return { path, headers, body: body.replaceAll('#', `${prefix}-${client}`).replace('@', address) };
  };
  if (asks === 'verdict') return sent(SENT.verdict, count);
  const pair = Math.ceil(count / 2);
  if (count % 2 === 1) return sent(SENT.score, pair);
  // By then its score was answered, whichever connection asked for it.
  const client = pair - connections;
  return {
    ...sent(SENT.verdict, client),
    headers: { ...headers, 'Idempotency-Key': `key-${prefix}-${client}` },
  };
}

/** The machine that the figures were measured on. */
interface Machine {
  readonly cpu: string;
  readonly cores: number;
  /** The mean number of runnable processes in the minute before the bench. */
  readonly load: number;
  readonly node: string;
  readonly redis: string;
  readonly loadTool: LoadTool;
  readonly date: string;
}

export function thisMachine(loadTool: LoadTool): Machine {
  const printed = spawnSync('redis-server', ['--version'], { encoding: 'utf8' }).stdout ?? '';
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    load: Math.round((loadavg()[0] ?? 0) * 100) / 100,
    node: process.version,
    redis: /v=(\S+)/.exec(printed)?.[1] ?? 'not installed',
    loadTool,
    date: new Date().toISOString().slice(0, 10),
  };
}

export function describeMachine({ cpu, cores, load, node, redis, loadTool, date }: Machine): string {
  return `${date}, ${cpu}, ${cores} cores (load ${load} before), node ${node}, redis ${redis}, load by ${loadTool}`;
}
