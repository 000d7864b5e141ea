import KeyvRedis from '@keyv/redis';
import { Keyv } from 'keyv';
import { type ClientState, UNKNOWN_CLIENT_STATE } from '#decision/payer/client-state.ts';
import { currentRules } from '../../../test/service/current-rules.ts';
import { decideSampleVerdict, getSampleAnswer } from '../sample.ts';
import { serveVerdictRoute } from './json-server.ts';
import { decideByJsonRulesEngine, requireRecordedFactValues } from './naive-rules.ts';

/**
 * The naive peer is a server that evaluates the same rules as a program written in an afternoon would. It has one
 * engine per rule file and request, and keeps state in Keyv without any atomic step. It rebuilds the engines for each
 * request, because overlapping runs of a shared engine lose rules without a sign. It need not compute its facts,
 * keeps no decisions, journal or sharing counters, and has no rate limit.
 */
const keyv = new Keyv({ store: new KeyvRedis(process.env['REDIS_URL'] ?? ''), useKeyPrefix: false });
const rules = currentRules();
const { decision, nextState } = decideSampleVerdict();
const values = requireRecordedFactValues(rules, decision);

await serveVerdictRoute(async ({ clientIdKey }) => {
  const state = (await keyv.get<ClientState>(clientIdKey)) ?? UNKNOWN_CLIENT_STATE;
  await decideByJsonRulesEngine(rules, values);
  await keyv.set(clientIdKey, { ...nextState, seq: state.seq + 1 }, 86_400_000);
  return getSampleAnswer();
});
