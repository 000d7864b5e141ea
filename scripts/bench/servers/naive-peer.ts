import KeyvRedis from '@keyv/redis';
import type { Engine } from 'json-rules-engine';
import { Keyv } from 'keyv';
import { type ClientState, UNKNOWN_CLIENT } from '../../../src/client/client-state.ts';
import { formatDuration } from '../../../src/rules/duration.ts';
import { buildEngine } from '../../../src/rules/engine.ts';
import { loadBenchRules, sampleAnswer, sampleVerdict } from '../sample.ts';
import { serveJson } from './json-server.ts';

/**
 * The naive peer: the same rules as a user would put them to work in an afternoon, with one engine a rule
 * file that every request runs, and state got from and set to Keyv without any atomic step. It even gets
 * its facts for nothing, it keeps no decision, no journal and no sharing counters, and has no rate limit.
 */
const keyv = new Keyv({ store: new KeyvRedis(process.env['REDIS_URL'] ?? ''), useKeyPrefix: false });
const rules = loadBenchRules();
const { decision, nextState } = sampleVerdict();
const facts = new Map(Object.entries(decision.facts));
const engines = [rules.groups, rules.signals, rules.verdicts].map((file) =>
  engineOf(buildEngine(file.rules)),
);

function engineOf(engine: Engine): Engine {
  for (const { name, windowMs } of rules.facts) {
    if (windowMs === 0) engine.addFact(name, () => facts.get(name));
    else engine.addFact(name, ({ window }) => facts.get(`${name}(${window})`));
  }
  return engine;
}

// A fact without a value would make the peer look faster than it is.
for (const { label, name, windowMs } of rules.facts) {
  const asked = windowMs === 0 ? name : `${name}(${formatDuration(windowMs)})`;
  if (!facts.has(asked)) throw new Error(`no value for ${label}`);
}

await serveJson(async ({ clientIdKey }) => {
  const state = (await keyv.get<ClientState>(clientIdKey)) ?? UNKNOWN_CLIENT;
  for (const engine of engines) await engine.run();
  await keyv.set(clientIdKey, { ...nextState, seq: state.seq + 1 }, 86_400_000);
  return sampleAnswer();
});
