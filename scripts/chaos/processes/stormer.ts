import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { Tenant } from '../../../test/service/tenant.ts';
import { formatHeavyRules } from '../traffic/heavy-rules.ts';
import { createLoadRequestFactory, LoadGenerator } from '../traffic/load.ts';

/**
 * This program is the hostile tenant, in a process of its own so that reading megabytes of answers delays no sample.
 * `stormer.ts KIND CALLER_URL PLATFORM_URL` asks without a pause, and prints the status of each answer, until it is
 * killed.
 */
const [kind = '', callerUrl = '', platformUrl = ''] = process.argv.slice(2);
const key = process.env['STORM_KEY'] ?? '';
const tenant = new Tenant({ callerUrl, platformUrl }, key);

const CONNECTIONS = 500;
const PAYERS = 10_000;
const SIDE_BY_SIDE = 24;
const LINES = 10_000;
const DRAFT_RULES = 400;
const TELL_MS = 200;
const VERSION = 'p2.v10';

/** The evidence questions, asked in turn. */
const QUESTIONS = [
  ['backtest', { version: VERSION, vary: ['groups.blocked-by-unpaid-chain.unpaidChain=2..5'] }],
  ['report', { version: VERSION, by: 'method' }],
  ['drift', {}],
] as const;

type Ask = (n: number) => Promise<{ readonly status: number }>;

/** Opens 500 connections, each with its own address, which together stay below the rate limit. */
async function stormVerdicts(): Promise<void> {
  const load = new LoadGenerator({
    target: { callerUrl, platformUrl, key },
    connections: CONNECTIONS,
    ratePerSecond: null,
    ask: createLoadRequestFactory(PAYERS, 'storm-', 1),
  });
  for (let told = 0; ; ) {
    await delay(TELL_MS);
    for (const { status } of load.samples.slice(told)) console.log(status);
    told = load.samples.length;
  }
}

/** Makes every kind of change to lists: many lines at once, and entries one by one. */
const askLists: Ask = (n) => {
  if (n === 0) return tenant.ask('PUT', 'lists/storm', { kind: 'client' });
  const value = (index: number) => `storm-${n % SIDE_BY_SIDE}-${index}`;
  if (n % 2 === 0) return tenant.ask('PUT', `lists/storm/entries?value=${value(0)}`, { reason: 'a storm' });
  const lines = Array.from({ length: LINES }, (_, index) => ({
    value: value(index),
    ...(n % 3 === 0 ? { remove: true } : { reason: 'a storm' }),
  }));
  const body = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  return tenant.ask('POST', 'lists/storm/entries', body, { 'Content-Type': 'application/x-ndjson' });
};

/**
 * Sends drafts of a hundred kilobytes in which any two rules can match first. Checking one draft takes about a
 * second.
 */
function createDraftAsk(texts: Readonly<Record<string, string>>): Ask {
  const verdicts = (texts['verdicts.yaml'] ?? '').replace('rules:\n', formatHeavyRules(DRAFT_RULES));
  return (n) => {
    const version = `p2.v${100 + n}`;
    const ruleset = (texts['ruleset.yaml'] ?? '').replace(VERSION, version);
    const files = { ...texts, 'ruleset.yaml': ruleset, 'verdicts.yaml': verdicts };
    return n % 2 === 0
      ? tenant.ask('POST', 'rules/drafts/check', { version, files })
      : tenant.ask('POST', 'rules/drafts/diff', { version, files, before: VERSION });
  };
}

/** Asks a new question every time, so that none is answered from a cache. */
const askEvidence: Ask = (n) => {
  const [kind, body] = QUESTIONS[n % QUESTIONS.length] ?? QUESTIONS[0];
  return tenant.ask('POST', 'evidence', { kind, ...body, from: new Date(n).toISOString() });
};

/** Makes every kind of search: by a rule that decided nothing, which reads everything, and with long answers. */
async function createSearchAsk(): Promise<Ask> {
  const [newest] = await tenant.decisions({ limit: '1' });
  if (newest === undefined) throw new Error('there is no decision to search for');
  const client = `clientIdKey=${newest.clientIdKey}`;
  const paths = [
    'decisions?rule=decided-nothing&limit=500',
    'decisions?limit=500',
    `decisions?${client}&rule=decided-nothing`,
    `decisions?orderRef=${newest.orderRef}`,
    `client/history?${client}&limit=500`,
    `decisions/${newest.decisionId}/explanation`,
  ];
  return (n) => tenant.ask('GET', paths[n % paths.length] ?? '');
}

/** Makes searches that find nothing and so read everything, and checks of the whole chain. */
const askAudit: Ask = (n) => tenant.ask('GET', n % 4 === 0 ? 'audit/check' : `audit?who=nobody-${n}`);

/**
 * Sends bodies that never end, each from an address of its own. Half of them are sent with the key, and half are
 * sign-ins without a key. Each connection is opened again when it closes.
 */
async function stormBodies(): Promise<void> {
  const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY });
  const holdOpen = async (path: string, n: number, own: Readonly<Record<string, string>>) => {
    const headers = { ...own, 'X-Forwarded-For': `10.9.${n >> 8}.${n & 255}` };
    for (;;) {
      const req = request(`${platformUrl}/v1/platform/${path}`, { method: 'POST', agent, headers });
      req.on('response', (res) => console.log(res.resume().statusCode)).on('error', () => {});
      req.write('{');
      await once(req, 'close');
      await delay(TELL_MS);
    }
  };
  const own = { 'X-KA-Access-Key': key, 'Content-Type': 'application/x-ndjson' };
  const signIn = { 'Sec-Fetch-Site': 'same-origin', 'Content-Type': 'application/json' };
  const open = (n: number) => (n % 2 === 0 ? holdOpen('outcomes', n, own) : holdOpen('session', n, signIn));
  await Promise.all(Array.from({ length: CONNECTIONS }, (_, n) => open(n)));
}

async function storm(ask: Ask): Promise<void> {
  let asked = 0;
  await Promise.all(
    Array.from({ length: SIDE_BY_SIDE }, async () => {
      for (;;) console.log((await ask(asked++)).status);
    }),
  );
}

function readRuleTexts(): Readonly<Record<string, string>> {
  const names = readdirSync(`rules/${VERSION}`).filter((name) => name.endsWith('.yaml'));
  return Object.fromEntries(names.map((name) => [name, readFileSync(`rules/${VERSION}/${name}`, 'utf8')]));
}

const STORMS: Readonly<Record<string, () => Promise<void>>> = {
  verdicts: stormVerdicts,
  lists: () => storm(askLists),
  drafts: () => storm(createDraftAsk(readRuleTexts())),
  evidence: () => storm(askEvidence),
  searches: async () => storm(await createSearchAsk()),
  bodies: stormBodies,
  audits: () => storm(askAudit),
};

const begin = STORMS[kind];
if (begin === undefined) throw new Error(`there is no storm of ${kind}`);
await begin();
