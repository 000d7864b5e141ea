import { execFile, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { temporaryDirectory } from '../../test/servers/temporary-directory.ts';

const run = promisify(execFile);

/**
 * What a load asks for: verdicts alone, or alternately a score with a device and a verdict under an Idempotency-Key.
 */
export type LoadKind = 'verdict' | 'pair';

interface LoadPlan {
  readonly url: string;
  readonly accessKey: string;
  readonly connections: number;
  readonly seconds: number;
  /** The requests a second over all connections. Null means as fast as answers come. */
  readonly rate: number | null;
  /** The default is 'verdict'. A score and the verdict of the same client count as two requests. */
  readonly asks?: LoadKind;
}

export interface LoadResult {
  readonly requests: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** The number of answers other than 2xx, and of connections that failed. */
  readonly failures: number;
}

let plans = 0;

/** The requests. `#` stands for the client's name and `@` for its address. */
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

/**
 * Asks for verdicts with wrk, each for a new client. In pairs, each verdict is for a client whose score was answered
 * before.
 */
export async function runLoad(plan: LoadPlan): Promise<LoadResult> {
  plans += 1;
  const script = join(temporaryDirectory(), 'verdicts.lua');
  writeFileSync(script, createWrkScript(plan, `${process.pid}-${plans}`));
  const args = ['-t1', `-c${plan.connections}`, `-d${plan.seconds}s`, '-s', script];
  const { stdout } = await run('wrk', [...args, plan.url]);
  return parseWrkOutput(stdout);
}

function createWrkScript(plan: LoadPlan, prefix: string): string {
  // Each connection pauses between requests, so that all connections together keep the rate.
  const meanRestMs = plan.rate === null ? 0 : (plan.connections * 1000) / plan.rate;
  const rest = `function delay() return math.random(0, ${Math.round(2 * meanRestMs)}) end`;
  const pairs = `local client = math.floor((count + 1) / 2)
  if count % 2 == 1 then return sent('${SENT.score.path}', '${SENT.score.body}', client, nil) end
  client = (client - ${plan.connections}) % 4294967296
  local key = "key-${prefix}-" .. client`;
  return `wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.headers["X-KA-Access-Key"] = "${plan.accessKey}"
local count = 0
local function sent(path, body, client, key)
  wrk.headers["Idempotency-Key"] = key
  local address = "10." .. math.floor(client / 65536) % 256 .. "." .. math.floor(client / 256) % 256 .. "." .. client % 256
  body = string.gsub(string.gsub(body, "#", "${prefix}-" .. client), "@", address)
  return wrk.format(nil, path, nil, body)
end
function request()
  count = count + 1
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

/** Parses the line that the script prints at its end. The times in the line are in us. */
export function parseWrkOutput(output: string): LoadResult {
  const [, numbers] = /^RESULT ([\d ]+)$/m.exec(output) ?? [];
  if (numbers === undefined) throw new Error(`wrk printed no result:\n${output}`);
  const [requests = 0, micros = 0, p50 = 0, p99 = 0, failures = 0] = numbers.split(' ').map(Number);
  return {
    requests,
    perSecond: requests / (micros / 1_000_000),
    p50Ms: p50 / 1000,
    p99Ms: p99 / 1000,
    failures,
  };
}

/** The machine on which the figures were measured. */
interface Machine {
  readonly cpu: string;
  readonly cores: number;
  /** The mean number of runnable processes in the minute before the bench. */
  readonly load: number;
  readonly node: string;
  readonly redis: string;
  readonly date: string;
}

export function readMachine(): Machine {
  const printed = spawnSync('redis-server', ['--version'], { encoding: 'utf8' }).stdout ?? '';
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    load: Math.round((loadavg()[0] ?? 0) * 100) / 100,
    node: process.version,
    redis: /v=(\S+)/.exec(printed)?.[1] ?? 'not installed',
    date: new Date().toISOString().slice(0, 10),
  };
}

export function describeMachine({ cpu, cores, load, node, redis, date }: Machine): string {
  return `${date}, ${cpu}, ${cores} cores (load ${load} before), node ${node}, redis ${redis}`;
}
