import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { AccessKeys, OPERATIONS, type Operation } from '../src/access/access-keys.ts';
import { type Application, startApplication } from '../src/application.ts';
import { platformName } from '../src/client/client-key.ts';
import type { Decision, ScoreAnswer, VerdictAnswer } from '../src/decision/decision.ts';
import type { RateLimit } from '../src/http/request/rate-limit.ts';
import { createLog } from '../src/log.ts';
import { fixedRules } from '../src/rollout/rule-source.ts';
import { loadRuleSet } from '../src/rules/folder/rule-folder.ts';
import type { RuleSet } from '../src/rules/rule-set.ts';
import { openRedisStore } from '../src/state/redis/store.ts';
import { openSqliteStore } from '../src/state/sqlite/store.ts';
import type { Store } from '../src/state/store.ts';
import { hasServer } from './servers/needs-server.ts';
import { command, type RedisServers, startStandalone } from './servers/redis.ts';

/** 2026-01-01, a Thursday: where the clock of every running service starts. */
export const START_MS = Date.UTC(2026, 0, 1);

/** An HTTP answer with its body read. */
export interface Answer<Body = unknown> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

/** Problem details as every refusal carries them. */
export interface Problem {
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly errors?: readonly { readonly pointer: string; readonly detail: string }[];
  readonly requestId: string;
}

export interface DecisionList {
  readonly decisions: readonly Decision[];
}

/** What the platform sees of a client, as far as tests read it. */
export interface ClientBody {
  readonly clientIdKey: string;
  readonly clientGroup: string;
  readonly paymentScore: string;
  readonly isBot: boolean;
  readonly decisionCount: number;
  readonly ladder: { readonly level: number; readonly attemptOpen: boolean };
  readonly outcomes: { readonly paidCount: number; readonly unpaidCount: number };
  readonly binding: { readonly requisiteRef: string } | null;
  readonly override: { readonly group: string } | null;
  readonly decisions: readonly Decision[];
}

export type HeaderList = Readonly<Record<string, string>>;

/** A clock that stands still until it is moved. */
export class MovableClock {
  #nowMs = START_MS;

  readonly now = (): number => this.#nowMs;

  moveSeconds(seconds: number): void {
    this.#nowMs += seconds * 1000;
  }
}

/** A valid score request (contract, section 2.1) with the members a test cares about. */
export function scoreBody(members: object = {}): object {
  return {
    sellPointKey: 'shop-1',
    clientIdKey: 'payer-1',
    amountRequested: '25.00',
    selectedMethodKey: 'card',
    ...members,
  };
}

/** A valid verdict request (contract, section 2.3) with the members a test cares about. */
export function verdictBody(members: object = {}): object {
  return {
    sellPointKey: 'shop-1',
    clientIdKey: 'payer-1',
    method: 'card',
    amountRequested: '25.00',
    orderRef: 'order-1',
    ...members,
  };
}

/** One request; a body that is no text is sent as JSON. */
export async function call<Body = unknown>(
  method: string,
  url: string,
  headers: HeaderList,
  body?: object | string | Uint8Array<ArrayBuffer>,
): Promise<Answer<Body>> {
  const raw = typeof body === 'string' || body instanceof Uint8Array;
  const type = body === undefined ? {} : { 'Content-Type': 'application/json' };
  const answer = await fetch(url, {
    method,
    headers: { ...type, ...headers },
    ...(body === undefined ? {} : { body: raw ? body : JSON.stringify(body) }),
  });
  const text = await answer.text();
  const isJson = /^application\/(problem\+)?json\b/.test(answer.headers.get('Content-Type') ?? '');
  const parsed: Body = JSON.parse(isJson && text !== '' ? text : JSON.stringify(text));
  return { status: answer.status, headers: answer.headers, body: parsed };
}

/** One platform's way to a running service: its key, and a method for each thing it may ask. */
export class Tenant {
  readonly callerUrl: string;
  readonly platformUrl: string;
  readonly key: string;

  constructor({ callerUrl, platformUrl }: { callerUrl: string; platformUrl: string }, key: string) {
    this.callerUrl = callerUrl;
    this.platformUrl = platformUrl;
    this.key = key;
  }

  score(members: object = {}, headers: HeaderList = {}): Promise<Answer<ScoreAnswer>> {
    return this.post('score', scoreBody(members), headers);
  }

  verdict(members: object = {}, headers: HeaderList = {}): Promise<Answer<VerdictAnswer>> {
    return this.post('verdict', verdictBody(members), headers);
  }

  /** To the caller's API, whatever the body is. */
  post<Body = Problem>(
    operation: 'score' | 'verdict',
    body: object | string | Uint8Array<ArrayBuffer>,
    headers: HeaderList = {},
  ): Promise<Answer<Body>> {
    return call('POST', `${this.callerUrl}/v1/client/${operation}`, this.#with(headers), body);
  }

  /** To the platform's API. */
  ask<Body = Problem>(
    method: string,
    path: string,
    body?: object | string | Uint8Array<ArrayBuffer>,
    headers: HeaderList = {},
  ): Promise<Answer<Body>> {
    return call(method, `${this.platformUrl}/v1/platform/${path}`, this.#with(headers), body);
  }

  outcome(clientIdKey: string, orderRef: string, outcome: 'PAID' | 'UNPAID', more: object = {}) {
    const report = { clientIdKey, orderRef, outcome, ...more };
    return this.ask<{ result: string }>('POST', 'outcomes', report);
  }

  bind(clientIdKey: string, more: object = {}) {
    const binding = { requisiteRef: 'requisite-7', acceptorKeys: ['acceptor-1', 'acceptor-2'], ...more };
    return this.ask('PUT', `clients/${encodeURIComponent(clientIdKey)}/binding`, binding);
  }

  override(clientIdKey: string, group: 'BLOCKED' | 'TRUSTED', more: object = {}) {
    const override = { group, reason: 'looked at by hand', by: 'ann', ...more };
    return this.ask('PUT', `clients/${encodeURIComponent(clientIdKey)}/override`, override);
  }

  client(clientIdKey: string): Promise<Answer<ClientBody>> {
    return this.ask('GET', `clients/${encodeURIComponent(clientIdKey)}`);
  }

  async decisions(query: Readonly<Record<string, string>> = {}): Promise<readonly Decision[]> {
    const answer = await this.ask<DecisionList>('GET', `decisions?${new URLSearchParams(query)}`);
    return answer.body.decisions;
  }

  #with(headers: HeaderList): HeaderList {
    return { 'X-KA-Access-Key': this.key, ...headers };
  }
}

/** A store that a test may use, and how to get rid of it. */
export interface OpenStore {
  readonly store: Store;
  remove(): Promise<void>;
}

/** Every store that the service can run on; suites that must hold on all of them walk this list. */
export interface StoreKind {
  readonly name: string;
  open(): Promise<OpenStore>;
}

export const stores: readonly StoreKind[] = [
  { name: 'SQLite', open: async () => openTemporarySqlite() },
  ...(hasServer('redis-server') ? [{ name: 'Redis', open: openEmptyRedis }] : []),
];

let redis: Promise<RedisServers> | null = null;

after(async () => {
  await (await redis)?.stop();
});

async function openEmptyRedis(): Promise<OpenStore> {
  const store = await openRedisStore(await emptyRedisUrl(), () => {});
  return { store, remove: () => store.close() };
}

/** One server for all suites, emptied for each. */
async function emptyRedisUrl(): Promise<string> {
  redis ??= startStandalone();
  const servers = await redis;
  const port = servers.nodes[0]?.port;
  if (port !== undefined) await command(port, ['FLUSHALL']);
  return servers.url;
}

/** State that several processes share: what each is started with, and a key that all of them know. */
export interface SharedState {
  readonly dataDir: string;
  readonly env: HeaderList;
  readonly key: string;
}

/** Every kind of state that processes may share; suites about processes walk this list. */
export const sharedStates: readonly { readonly name: string; make(): Promise<SharedState> }[] = [
  {
    name: 'one DATA_DIR',
    make: async () => {
      const dataDir = temporaryDirectory();
      return { dataDir, env: {}, key: await issueKey(dataDir) };
    },
  },
  ...(hasServer('redis-server') ? [{ name: 'one Redis', make: sharedRedis }] : []),
];

async function sharedRedis(): Promise<SharedState> {
  const url = await emptyRedisUrl();
  const store = await openRedisStore(url, () => {});
  const keys = new AccessKeys(store.documents, Date.now);
  const { key } = await keys.issue(platformName('shop'), OPERATIONS, null);
  await store.close();
  return { dataDir: temporaryDirectory(), env: { REDIS_URL: url, SIGNAL_SECRET }, key };
}

function openTemporarySqlite(): OpenStore {
  const directory = temporaryDirectory();
  const store = openSqliteStore(directory);
  return {
    store,
    remove: async () => {
      await store.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

export interface ServiceOptions {
  /** A store of its own in a temporary folder when absent. */
  readonly store?: Store;
  readonly rules?: RuleSet;
  readonly rateLimit?: RateLimit;
  readonly basePath?: string;
  readonly clock?: MovableClock;
}

/** The whole service within this process, both listeners open. */
export interface RunningService {
  readonly application: Application;
  readonly clock: MovableClock;
  readonly store: Store;
  /** A platform with a key for the operations, all by default. */
  tenant(platform?: string, operations?: readonly Operation[]): Promise<Tenant>;
  /** Closes the listeners, and the store unless it was given. */
  stop(): Promise<void>;
}

/** What the running services key their HMACs with. */
export const SIGNAL_SECRET = 'a secret of the tests';

/** The rate limit of most tests: none. */
export const NO_RATE_LIMIT: RateLimit = { ratePerSecond: 0, burst: 20, trustedProxies: 0 };

export async function startService(options: ServiceOptions = {}): Promise<RunningService> {
  const own = options.store === undefined ? openTemporarySqlite() : null;
  const store = options.store ?? own?.store;
  if (store === undefined) throw new Error('no store');
  const clock = options.clock ?? new MovableClock();
  const rules = options.rules ?? currentRules();
  const application = await startApplication({
    store,
    clock: clock.now,
    ruleSource: fixedRules(rules),
    rollout: null,
    signalSecret: SIGNAL_SECRET,
    rateLimit: options.rateLimit ?? NO_RATE_LIMIT,
    basePath: options.basePath ?? '',
    caller: { host: '127.0.0.1', port: 0 },
    platform: { host: '127.0.0.1', port: 0 },
    log: createLog('silent'),
  });
  return {
    application,
    clock,
    store,
    tenant: async (platform = 'shop', operations = OPERATIONS) => {
      const { key } = await application.keys.issue(platformName(platform), operations, null);
      return new Tenant(application, key);
    },
    stop: async () => {
      await application.drain();
      await own?.remove();
    },
  };
}

/** The folder of the rule set that the service decides with. */
export const RULES_FOLDER = join(import.meta.dirname, '..', 'rules', 'p2.v10');

let loadedRules: RuleSet | null = null;

export function currentRules(): RuleSet {
  if (loadedRules !== null) return loadedRules;
  const result = loadRuleSet(RULES_FOLDER);
  if (!result.ok) throw new Error(result.problems.map(({ message }) => message).join('\n'));
  loadedRules = result.ruleSet;
  return loadedRules;
}

/** The whole service as a process of its own, as `npm start` runs it. */
export interface ServiceProcess {
  readonly callerUrl: string;
  readonly platformUrl: string;
  stdout(): string;
  stderr(): string;
  signal(signal: NodeJS.Signals): void;
  /** The exit code; null when a signal ended it. */
  readonly exited: Promise<number | null>;
  /** Ends it with SIGTERM and gives the exit code. */
  stop(): Promise<number | null>;
}

export interface EndedProcess {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const running = new Set<ChildProcess>();
const directories = new Set<string>();

process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

/** Starts the real process on free ports and waits for its start-up line; throws with its output if it ends. */
export async function spawnService(dataDir: string, env: HeaderList = {}): Promise<ServiceProcess> {
  const { child, stdout, stderr, exited } = spawnMain(dataDir, env);
  const { promise: started, resolve } = Promise.withResolvers<RegExpExecArray>();
  child.stdout?.on('data', () => {
    const line = /callers (\S+), platform (\S+), store .*\n/.exec(stdout());
    if (line !== null) resolve(line);
  });
  const first = await Promise.race([started, exited]);
  if (first === null || typeof first === 'number') {
    throw new Error(`the service ended with ${first} before it was up:\n${stdout()}${stderr()}`);
  }
  const [, callerUrl = '', platformUrl = ''] = first;
  return {
    callerUrl,
    platformUrl,
    stdout,
    stderr,
    exited,
    signal: (signal) => child.kill(signal),
    stop: async () => {
      child.kill('SIGTERM');
      return exited;
    },
  };
}

/** Runs the real process where it is expected to end by itself. */
export async function runService(dataDir: string, env: HeaderList): Promise<EndedProcess> {
  const { stdout, stderr, exited } = spawnMain(dataDir, env);
  const exitCode = await exited;
  return { exitCode, stdout: stdout(), stderr: stderr() };
}

function spawnMain(dataDir: string, env: HeaderList) {
  const main = join(import.meta.dirname, '..', 'src', 'main.ts');
  const defaults = { HOST: '127.0.0.1', PORT: '0', PLATFORM_PORT: '0', RATE_LIMIT_PER_SECOND: '0' };
  const child = spawn(process.execPath, [main], {
    env: { ...defaults, DATA_DIR: dataDir, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  // A test that fails leaves its process behind; the test run ends all the same, and then ends that too.
  child.unref();
  unref(child.stdout);
  unref(child.stderr);
  const texts = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    texts.stdout += chunk;
  });
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    texts.stderr += chunk;
  });
  const exited = once(child, 'close').then((): number | null => {
    running.delete(child);
    return child.exitCode;
  });
  return { child, stdout: () => texts.stdout, stderr: () => texts.stderr, exited };
}

/** A pipe is a socket, whatever its declared type says. */
function unref(pipe: Readable): void {
  if (pipe instanceof Socket) pipe.unref();
}

/** A key for a service that keeps its SQLite file under `dataDir`, issued as the command line would. */
export async function issueKey(
  dataDir: string,
  platform = 'shop',
  operations: readonly Operation[] = OPERATIONS,
): Promise<string> {
  const store = openSqliteStore(dataDir);
  try {
    return (await new AccessKeys(store.documents, Date.now).issue(platformName(platform), operations, null))
      .key;
  } finally {
    await store.close();
  }
}

/** A folder that is gone when the tests are. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'scoring-test-'));
  directories.add(directory);
  return directory;
}

/** Sends bytes as they are and gives all that comes back until the connection closes. */
export async function rawExchange(url: string, ...parts: readonly (string | Uint8Array)[]): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  socket.on('error', () => {
    // A reset ends the exchange as a close does.
  });
  for (const part of parts) socket.write(part);
  await once(socket, 'close');
  return text;
}

/** The status of a raw answer; null when the connection closed without one. */
export function rawStatus(answer: string): number | null {
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1];
  return status === undefined ? null : Number(status);
}
