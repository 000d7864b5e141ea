import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { expect } from 'chai';
import { GRANTABLE_OPERATIONS } from '#checkout/access/access-keys.ts';
import { FACTS } from '#decision/facts/catalogue.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { excludeForeignParts } from '#decision/rules/text/own-part.ts';
import { ARCHIVE_ID_FILE } from '#history/archive/archive-home.ts';
import { TABLES } from '#history/archive/tables.ts';
import { ARCHIVE_REGISTER } from '#state/archive-register.ts';
import { readRuleFiles } from '#state/rule-folders/rule-folder.ts';
import { StoreUnavailable } from '#state/store-errors.ts';
import { createCallerApiDocument } from '#workbench/platform/caller-document.ts';
import { createPlatformDocument } from '#workbench/platform/platform-operations.ts';
import { until } from '../../servers/until.ts';
import { RULES_FOLDER } from '../../service/current-rules.ts';
import { call } from '../../service/http-call.ts';
import { KEY_LIFETIME_MS } from '../../service/key-lifetime.ts';
import { scoreBody, verdictBody } from '../../service/request-bodies.ts';
import { serviceOfSuite } from '../../service/running-service.ts';
import { type Coded, DescribedApi, type Promised } from './described-api.ts';
import { ARCHIVE, type Ask, get, Live, post, put } from './live-api.ts';
import { refusedStatuses } from './refusals.ts';

const callers = new DescribedApi(createCallerApiDocument(''));
const platform = new DescribedApi(createPlatformDocument());

interface Case {
  readonly operationId: string;
  readonly status: number;
  readonly ask: Ask | ((live: Live) => Promise<Ask>);
  readonly trouble?: Error;
}

function says(
  operationId: string,
  status: number,
  ask: Case['ask'],
  trouble: Pick<Case, 'trouble'> = {},
): Case {
  return { operationId, status, ask, ...trouble };
}

const SCORE = post('/v1/client/score', scoreBody({ clientIdKey: 'scored' }));
const VERDICT = post('/v1/client/verdict', verdictBody({ clientIdKey: 'judged' }));

const ONCE = { 'Idempotency-Key': 'once' };

const CALLER_CASES: readonly Case[] = [
  says('score', 200, SCORE),
  says('verdict', 200, VERDICT),
  says('verdict', 200, VERDICT),
  says('verdict', 200, { ...VERDICT, headers: ONCE }),
  says('verdict', 200, { ...VERDICT, headers: ONCE }),
  says('verdict', 422, post('/v1/client/verdict', verdictBody({ method: 'other' }), ONCE)),
];

const OUTCOME = post('/v1/platform/outcomes', { clientIdKey: 'a', orderRef: 'a-1', outcome: 'PAID' });
const CLIENT = aboutClient('judged');
const BINDING = put(aboutClient('judged', '/binding'), {
  requisiteRef: 'requisite-7',
  acceptorKeys: ['acceptor-1'],
  expiresAt: '2030-01-01T00:00:00Z',
});
const OVERRIDE = put(aboutClient('judged', '/override'), { group: 'TRUSTED', reason: 'known' });
const END_WAIT = { reason: 'the payer called' };
const HISTORY = aboutClient('judged', '/history');
const ENTRIES = '/v1/platform/lists/blocked/entries';
const LIST = put('/v1/platform/lists/blocked', { kind: 'client' });
const ENTRY = { reason: 'chargebacks', expiresAt: '2030-01-01T00:00:00Z' };
const PUT_ENTRY = put(`${ENTRIES}?value=listed`, ENTRY);
/** As a browser sends it from the console itself. */
const OWN_SITE = { 'Sec-Fetch-Site': 'same-origin' };

function signIn(key: string, headers: Readonly<Record<string, string>> = OWN_SITE): Ask {
  return post('/v1/platform/session', { key }, headers);
}

async function afterManyRefusals(live: Live): Promise<Ask> {
  await Promise.all(Array.from({ length: 40 }, () => live.ask(signIn('ka_wrong'))));
  return signIn('ka_wrong');
}

const LINES_OF_ENTRIES = post(
  ENTRIES,
  '{"value":"ann","reason":"chargebacks"}\n{"value":"ann","remove":true}\n{}\n',
  { 'Content-Type': 'application/x-ndjson' },
);
const PROPOSALS = '/v1/platform/proposals';
const KEYS = '/v1/platform/keys';
const AUDIT = '/v1/platform/audit';
const PEOPLE = '/v1/platform/people';
const NEW_KEY = post(KEYS, { operations: ['verdict'], days: 1 });
const ROLLOUT = rollOut({ version: 'p2.v11', mode: 'shadow' });
const ROLLBACK = post('/v1/platform/rules/rollback', { reason: 'enough' });
const NO_DECISION_ID = 'AAAAAAAAAAAAAAAAAAAAAA.1.mwq8lds0';
const NO_DECISION = `/v1/platform/decisions/${NO_DECISION_ID}`;
const THEN = `${NO_DECISION}/what-if?version=`;

const VERSIONS = '/v1/platform/rules/versions';
const DIFF = '/v1/platform/rules/diff?before=p2.v10&after=p2.v11';
const DRAFTS = '/v1/platform/rules/drafts';
const DRAFT = { version: 'p2.v20', files: { 'ladder.yaml': 'levels: [30s]' } };
const CHECK = post(`${DRAFTS}/check`, DRAFT);
const REWRITE = post(`${DRAFTS}/cases`, DRAFT);
const COMPARE = post(`${DRAFTS}/diff`, { ...DRAFT, before: 'p2.v10' });
const PROPOSE = {
  ...post(`${DRAFTS}/p2.v21/proposal`, { reason: 'fewer waits' }),
  headers: { 'If-Match': '"99999"' },
};
const WRITE = put(`${DRAFTS}/p2.v21`, { from: 'p2.v10', files: DRAFT.files });
const RELEASE_BODY = { digest: 'a'.repeat(64), reason: 'all is said' };
const RELEASE = post(`${VERSIONS}/p2.v20/release`, RELEASE_BODY);
const SAVE = put(`${VERSIONS}/p2.v20`, { files: wholeDraft('p2.v20').files });

/** The address of a client, or of what stands below it. */
function aboutClient(clientIdKey: string, below = ''): string {
  return `/v1/platform/client${below}?clientIdKey=${clientIdKey}`;
}

function rollOut(members: object): Ask {
  return post('/v1/platform/rules/rollout', { reason: 'trial', ...members });
}

/** Times are seconds of 1970. */
function explore(query: string): Ask {
  return get(`/v1/platform/explore?${query.replaceAll(/(?<==)\d/g, '1970-01-01T00:00:0$&Z')}`);
}

function removal(path: string): Ask {
  return { method: 'DELETE', path };
}

const EVIDENCE = '/v1/platform/evidence';
const RULE_REPORT = post(EVIDENCE, { kind: 'report', version: 'p2.v10' });

async function explanation(live: Live): Promise<Ask> {
  return get(`/v1/platform/decisions/${await live.decisionId('explained')}/explanation`);
}

async function answeredThen(live: Live): Promise<Ask> {
  const decisionId = await live.decisionId('explained');
  return get(`/v1/platform/decisions/${decisionId}/what-if?version=p2.v11`);
}

const PLATFORM_CASES: readonly Case[] = [
  says('reportOutcomes', 200, OUTCOME),
  says(
    'reportOutcomes',
    200,
    post(
      '/v1/platform/outcomes',
      `{"clientIdKey":"b","orderRef":"b-1","outcome":"UNPAID","cause":"EXPIRED"}\n{"clientIdKey":"b"}\n`,
      { 'Content-Type': 'application/x-ndjson' },
    ),
  ),
  says('bindClient', 200, BINDING),
  says('endWait', 200, async (live) => {
    await live.decisionId('impatient');
    return post(aboutClient('impatient', '/wait/end'), {
      ...END_WAIT,
      decisionId: await live.decisionId('impatient'),
    });
  }),
  says('endWait', 404, post(aboutClient('judged', '/wait/end'), { ...END_WAIT, decisionId: NO_DECISION_ID })),
  says('endWait', 409, async (live) =>
    post(aboutClient('granted-only', '/wait/end'), {
      ...END_WAIT,
      decisionId: await live.decisionId('granted-only'),
    }),
  ),
  says('overrideClient', 200, OVERRIDE),
  ...gated('overrideClient', OVERRIDE),
  says('readClient', 200, judged),
  says('readClient', 404, get(aboutClient('nobody'))),
  says('readClientHistory', 200, fullHistory),
  says('readClientHistory', 404, get(aboutClient('nobody', '/history'))),
  says('readClientLinks', 200, (live) => judged(live, '/links')),
  says('readClientLinks', 404, get(aboutClient('nobody', '/links'))),
  says('exportClient', 200, fullExport),
  says('exportClient', 200, get(aboutClient('judged', '/export'))),
  says('makeList', 200, LIST),
  says('makeList', 200, put('/v1/platform/lists/wallets', { kind: 'attribute', attribute: 'wallet' })),
  says('makeList', 400, put('/v1/platform/lists/wallets', { kind: 'attribute' })),
  says('makeList', 409, put('/v1/platform/lists/blocked', { kind: 'ip' })),
  says('putListEntry', 200, PUT_ENTRY),
  says('putListEntry', 404, put('/v1/platform/lists/blokced/entries?value=x', ENTRY)),
  says('putListEntry', 422, put(`${ENTRIES}?value=x`, { ...ENTRY, expiresAt: '2020-01-01T00:00:00Z' })),
  says('readLists', 200, get('/v1/platform/lists')),
  says('readListEntries', 200, get(ENTRIES)),
  says('readListEntries', 404, get('/v1/platform/lists/blokced/entries')),
  says('importListEntries', 200, LINES_OF_ENTRIES),
  says('importListEntries', 404, { ...LINES_OF_ENTRIES, path: '/v1/platform/lists/blokced/entries' }),
  says('removeListEntry', 200, removal(`${ENTRIES}?value=listed&reason=paid`)),
  says('removeListEntry', 404, removal('/v1/platform/lists/blokced/entries?value=listed')),
  says('liftOverride', 204, removal(aboutClient('judged', '/override'))),
  says('unbindClient', 204, removal(aboutClient('judged', '/binding'))),
  says('eraseClient', 204, removal(CLIENT)),
  says('find', 200, get('/v1/platform/find?text=ann&limit=5')),
  says('listDecisions', 200, get('/v1/platform/decisions?limit=5')),
  says('listDecisions', 200, get('/v1/platform/decisions?verdict=GET_NEW&rule=otherwise&ruleVersion=p2.v10')),
  says('readDecision', 200, async (live) =>
    get(`/v1/platform/decisions/${await live.decisionId('recorded')}`),
  ),
  says('readDecision', 404, get(NO_DECISION)),
  says('explainDecision', 200, explanation),
  says('explainDecision', 404, get(`${NO_DECISION}/explanation`)),
  says('askDecisionWhatIf', 200, answeredThen),
  says('askDecisionWhatIf', 400, get(`${THEN}p2.v12`)),
  says('askDecisionWhatIf', 404, get(`${THEN}p2.v11`)),
  says('askDecisionWhatIf', 404, get(`${THEN}p2.v99`)),
  says('readRollout', 200, get('/v1/platform/rules')),
  says('rollOut', 200, ROLLOUT),
  // There would be nobody to compare with.
  says('rollOut', 400, rollOut({ version: 'p2.v11', mode: 'canary', percent: 100, guard: 5 })),
  says('rollOut', 409, rollOut({ version: 'p2.v99', mode: 'shadow' })),
  says('rollOut', 202, { ...rollOut({ version: 'p2.v11', mode: 'active' }), by: 'ann of all' }),
  says('readRollout', 200, shadowed),
  says('rollBack', 200, ROLLBACK),
  says('rollBack', 409, ROLLBACK),
  says('listProposals', 200, get(PROPOSALS)),
  says('approveProposal', 200, (live) => decision(live, 'approve', 'bob')),
  says('approveProposal', 409, (live) => decision(live, 'approve', 'ann')),
  says('approveProposal', 404, post(`${PROPOSALS}/none/approve`, { reason: 'looked at' })),
  says('rejectProposal', 200, (live) => decision(live, 'reject', 'bob')),
  says('rejectProposal', 409, async (live) => {
    const rejection = await decision(live, 'reject', 'bob');
    await live.ask(rejection);
    return rejection;
  }),
  says('rejectProposal', 404, post(`${PROPOSALS}/none/reject`, { reason: 'no' })),
  says('listKeys', 200, get(KEYS)),
  says('issueKey', 200, NEW_KEY),
  says('issueKey', 403, post(KEYS, { operations: ['approve'], days: 1 })),
  ...gated('issueKey', post(KEYS, { operations: ['outcomes'], days: 1 })),
  says('issueKey', 409, afterManyKeys),
  says('revokeKey', 200, async (live) => removal(`${KEYS}/${idIn(await live.newKey('/'))}`)),
  says('revokeKey', 404, removal(`${KEYS}/none`)),
  says('listPeople', 200, get(PEOPLE)),
  says('signOutPerson', 204, signedInPerson),
  says('signOutPerson', 404, post(`${PEOPLE}/sign-out`, { id: 'key none' })),
  says('readAudit', 200, get(AUDIT)),
  says('checkAudit', 200, get(`${AUDIT}/check`)),
  says('readSettings', 200, get('/v1/platform/settings')),
  says('readSession', 200, get('/v1/platform/session')),
  says('readSignIn', 200, get('/v1/platform/sign-in')),
  says('readSignIn', 403, { ...get('/v1/platform/sign-in'), headers: { 'Sec-Fetch-Site': 'cross-site' } }),
  says('signIn', 200, async (live) => signIn(await live.newKey('/'))),
  says('signIn', 401, signIn('ka_wrong')),
  says('signIn', 403, signIn('ka_wrong', {})),
  says('signIn', 429, afterManyRefusals),
  says('signOut', 204, { ...removal('/v1/platform/session'), headers: OWN_SITE }),
  says('signOut', 403, removal('/v1/platform/session')),
  says('readReporting', 200, get('/v1/platform/reporting')),
  says('readEvents', 200, get('/v1/platform/events?limit=500')),
  says('readEvents', 400, get('/v1/platform/events?after=somewhere')),
  says('readExploration', 200, explore('by=rule&verdict=WAIT&from=3&to=4&againstFrom=1')),
  says('readExploration', 400, explore('from=3&asOf=2')),
  says('readExploration', 400, explore('againstTo=4')),
  // Also of a parameter that the others leave nothing to say.
  says('readExploration', 400, explore('from=3&span=moon')),
  says('readExploration', 400, explore('attribute=wallet&by=moon')),
  says('listRuleFolders', 200, get(VERSIONS)),
  says('readRuleFolder', 200, get(`${VERSIONS}/p2.v10`)),
  says('readRuleFolder', 200, get(`${VERSIONS}/p2.v11`)),
  says('readRuleFolder', 200, get(`${VERSIONS}/p2.v12`)),
  says('readRuleFolder', 404, get(`${VERSIONS}/p2.v99`)),
  says('compareRuleFolders', 200, get(DIFF)),
  says('compareRuleFolders', 200, get(DIFF.replace('p2.v11', 'p2.v10'))),
  says('compareRuleFolders', 400, get(DIFF.replace('p2.v11', 'p2.v12'))),
  says('compareRuleFolders', 404, get(DIFF.replace('p2.v11', 'p2.v99'))),
  says('listDrafts', 200, get(DRAFTS)),
  // Before there are as many drafts as there may be.
  says('proposeDraft', 200, proposalOfDraft('p2.v24')),
  says('readDraft', 409, async (live) => {
    const proposal = await proposalOfDraft('p2.v25')(live);
    await live.ask(proposal);
    await live.ask({ ...put(`${DRAFTS}/p2.v25`, { from: 'p2.v10', files: {} }), headers: proposal.headers });
    return { ...get(`${DRAFTS}/p2.v25?platform=shop`), by: 'ann of all' };
  }),
  says('writeDraft', 200, WRITE),
  says('writeDraft', 409, async (live) => {
    for (let minor = 100; minor < 130; minor++) await live.ask({ ...WRITE, path: `${DRAFTS}/p2.v${minor}` });
    return { ...WRITE, path: `${DRAFTS}/p2.v130` };
  }),
  says('writeDraft', 412, {
    ...put(WRITE.path, { from: 'p2.v10', files: {} }),
    headers: { ...WRITE.headers, 'If-Match': '"99999"' },
  }),
  says('readDraft', 200, async (live) => {
    await live.ask(WRITE);
    return get(WRITE.path);
  }),
  says('readDraft', 404, get(`${DRAFTS}/p2.v99`)),
  says('proposeDraft', 409, PROPOSE),
  says('discardDraft', 204, async (live) => {
    const { revision }: { revision: number } = JSON.parse((await live.ask(WRITE)).text);
    return { ...removal(WRITE.path), headers: { 'If-Match': `"${revision}"` } };
  }),
  says('discardDraft', 412, { ...removal(WRITE.path), headers: { 'If-Match': '"99999"' } }),
  says('checkDraft', 200, CHECK),
  says('rewriteCases', 200, REWRITE),
  says('compareDraft', 400, COMPARE),
  says('compareDraft', 200, post(`${DRAFTS}/diff`, { ...wholeDraft(), before: 'p2.v10' })),
  says('compareDraft', 404, post(`${DRAFTS}/diff`, { ...DRAFT, before: 'p2.v99' })),
  says('saveDraft', 200, SAVE),
  says('saveDraft', 409, put(`${VERSIONS}/p2.v11`, { files: wholeDraft('p2.v11').files })),
  says('saveDraft', 422, put(`${VERSIONS}/p2.v20`, { files: DRAFT.files })),
  says('releaseVersion', 409, RELEASE),
  says('releaseVersion', 202, async (live) => ({ ...(await releaseOfDraft(live)), by: 'ann of all' })),
  says('releaseVersion', 200, releaseOfDraft),
  says('askEvidence', 409, whenArchived(RULE_REPORT, false)),
  says('askEvidence', 200, whenArchived(RULE_REPORT, true)),
  says('askEvidence', 400, post(EVIDENCE, { kind: 'report', version: 'p2.v12' })),
  says('askEvidence', 404, post(EVIDENCE, { kind: 'report', version: 'p2.v99' })),
  says('askEvidence', 422, aboutBadDraft),
  says('readEvidence', 200, async (live) => get(await evidenceJob(live))),
  says('readEvidence', 404, get(`${EVIDENCE}/nothing`)),
  says('listEvidence', 200, get(EVIDENCE)),
  says('removeEvidence', 204, async (live) => removal(await evidenceJob(live))),
  says('removeEvidence', 404, removal(`${EVIDENCE}/nothing`)),
  says('readLiveness', 200, get('/livez')),
  says('readReadiness', 200, get('/readyz')),
  says('readReadiness', 503, get('/readyz'), { trouble: new StoreUnavailable('away') }),
  says('readMetrics', 200, get('/metrics')),
];

/** What an operation answers where somebody else has to approve, and to a key without an owner there. */
function gated(operationId: string, good: Ask): readonly Case[] {
  return [says(operationId, 202, { ...good, by: 'ann' }), says(operationId, 409, { ...good, by: 'all' })];
}

/** A platform that has as many keys as it may asks for one more. */
async function afterManyKeys({ application: { keys } }: Live): Promise<Ask> {
  const crowd = toPlatformName('crowd');
  const { key } = await keys.issue(crowd, GRANTABLE_OPERATIONS, KEY_LIFETIME_MS);
  for (let made = 1; made < 200; made += 1) await keys.issue(crowd, ['score'], KEY_LIFETIME_MS);
  return { ...NEW_KEY, headers: { 'X-KA-Access-Key': key } };
}

function idIn(key: string): string {
  return key.split('_')[1] ?? '';
}

/** Somebody's answer to a proposal of ann's. */
async function decision(live: Live, way: 'approve' | 'reject', by: 'ann' | 'bob'): Promise<Ask> {
  const { proposalId }: { proposalId: string } = JSON.parse(
    (await live.ask({ ...OVERRIDE, by: 'ann' })).text,
  );
  return { ...post(`${PROPOSALS}/${proposalId}/${way}`, { reason: 'looked at' }), by };
}

async function signedInPerson(live: Live): Promise<Ask> {
  const key = await live.newKey('/');
  await live.ask(signIn(key));
  return post(`${PEOPLE}/sign-out`, { id: `key ${idIn(key)}` });
}

/** The client, once it has a history, a binding and an override to show. */
async function judged(live: Live, below = ''): Promise<Ask> {
  await live.ask(VERDICT);
  await live.ask(BINDING);
  await live.ask(OVERRIDE);
  return get(aboutClient('judged', below));
}

/** A question, asked where the folder holds the archive of the store, or of another one. */
function whenArchived(good: Ask, isThere: boolean) {
  return async (live: Live): Promise<Ask> => {
    await dropJobs(live);
    mkdirSync(ARCHIVE, { recursive: true });
    writeFileSync(join(ARCHIVE, ARCHIVE_ID_FILE), 'here');
    const claimed = await live.store.registers.read(ARCHIVE_REGISTER);
    await live.store.registers.compareAndSet(ARCHIVE_REGISTER, claimed, isThere ? 'here' : 'elsewhere');
    return good;
  };
}

/** A question about a draft that is not sound. */
async function aboutBadDraft(live: Live): Promise<Ask> {
  const { version, files } = DRAFT;
  await live.ask(put(`${DRAFTS}/${version}`, { from: 'p2.v10', files }));
  return post(EVIDENCE, { kind: 'backtest', version });
}

/** A node runs only a few jobs at once, so each is ended before the next one. */
async function dropJobs(live: Live): Promise<void> {
  await until('no evidence is worked on', async () => {
    const { jobs }: { jobs: readonly { readonly jobId: string; readonly state: string }[] } = JSON.parse(
      (await live.ask(get(EVIDENCE))).text,
    );
    for (const { jobId } of jobs) await live.ask(removal(`${EVIDENCE}/${jobId}`));
    return jobs.every(({ state }) => state !== 'waiting' && state !== 'running');
  });
}

/** The release of the draft that was kept. */
async function releaseOfDraft(live: Live): Promise<Ask> {
  const { digest }: { digest: string } = JSON.parse((await live.ask(SAVE)).text);
  return post(RELEASE.path, { digest, reason: 'all is said' });
}

/** A draft that decides as p2.v10 does. */
function wholeDraft(version = 'p2.v20') {
  const files = Object.fromEntries(readRuleFiles(RULES_FOLDER, []) ?? []);
  const ruleSet = files['ruleset.yaml'] ?? '';
  return {
    version,
    files: { ...files, 'ruleset.yaml': ruleSet.replace('ruleVersion: p2.v10', `ruleVersion: ${version}`) },
  };
}

/** Keeps a draft as the platform may read it, and proposes its release. */
function proposalOfDraft(version: string) {
  return async (live: Live) => {
    const files = Object.fromEntries(
      excludeForeignParts(new Map(Object.entries(wholeDraft(version).files)), 'shop'),
    );
    const kept = await live.ask(put(`${DRAFTS}/${version}`, { from: 'p2.v10', files }));
    const { revision }: { revision: number } = JSON.parse(kept.text);
    return { ...PROPOSE, path: `${DRAFTS}/${version}/proposal`, headers: { 'If-Match': `"${revision}"` } };
  };
}

/** The path of a requested job. */
async function evidenceJob(live: Live): Promise<string> {
  const { jobId }: { jobId: string } = JSON.parse((await live.ask(RULE_REPORT)).text);
  return `${EVIDENCE}/${jobId}`;
}

/** The client's history, once there is an entry of every kind in it, and things were lifted. */
async function fullHistory(live: Live): Promise<Ask> {
  const device = { fingerprint: 'f', ip: '203.0.113.9', userAgent: 'x', clientHints: { jsOk: true } };
  await live.ask(post('/v1/client/score', scoreBody({ clientIdKey: 'judged', ...device })));
  await live.ask(post('/v1/client/score', scoreBody({ clientIdKey: 'judged', toPayCurrency: 'EUR' })));
  await judged(live);
  const outcome = { clientIdKey: 'judged', orderRef: 'judged-1', outcome: 'UNPAID', cause: 'EXPIRED' };
  await live.ask(post('/v1/platform/outcomes', outcome));
  await live.ask(removal(aboutClient('judged', '/binding')));
  await live.ask(removal(aboutClient('judged', '/override')));
  return get(HISTORY);
}

/** A document that has something of everything. */
async function fullExport(live: Live): Promise<Ask> {
  await fullHistory(live);
  await live.ask(put('/v1/platform/lists/of-clients', { kind: 'client' }));
  await live.ask(put('/v1/platform/lists/of-clients/entries?value=judged', ENTRY));
  return get(aboutClient('judged', '/export'));
}

/** The rollout, once a shadow has differed. */
async function shadowed(live: Live): Promise<Ask> {
  await live.decisionId('compared');
  await live.decisionId('compared');
  return get('/v1/platform/rules');
}

/** What redocly's recommended rules find, as `severity rule place`. */
async function lint(document: object): Promise<readonly string[]> {
  const config = await createConfig({ extends: ['recommended'] });
  const problems = await lintFromString({
    source: JSON.stringify(document),
    absoluteRef: 'openapi.json',
    config,
  });
  return problems.map(
    ({ severity, ruleId, message, location }) =>
      `${severity} ${ruleId} ${location[0]?.pointer ?? ''} ${message}`,
  );
}

for (const { name, api, cases } of [
  { name: 'callers', api: callers, cases: CALLER_CASES },
  { name: 'the platform', api: platform, cases: PLATFORM_CASES },
]) {
  describe(`the API document for ${name}`, () => {
    it('passes the recommended rules of redocly', async () => {
      const problems = await lint(api.document);
      // Health answers take no input that could be refused.
      expect(
        problems.filter(
          (problem) => !/operation-4xx-response #\/paths\/~1(livez|readyz|metrics)/.test(problem),
        ),
      ).to.deep.equal([]);
    });

    it('has Retry-After in every answer that asks for a retry', () => {
      const pausing = api
        .operations()
        .flatMap((operation) =>
          ['429', '503']
            .filter((status) => status in operation.responses)
            .map((status) => api.responseOf(operation, status)),
        )
        .filter((response) => response?.content?.['application/problem+json'] !== undefined);
      expect(pausing.length).to.be.above(1);
      for (const { headers } of pausing.flatMap((one) => one ?? []))
        expect(headers).to.have.property('Retry-After');
    });

    it('has an example of every body, which fits its schema', () => {
      const bodies = api
        .operations()
        .flatMap(({ requestBody, responses }) => [
          ...Object.values(requestBody?.content ?? {}),
          ...Object.keys(responses).flatMap((status) =>
            Object.values(api.responseOf({ responses }, status)?.content ?? {}),
          ),
        ])
        .filter(({ schema }) => schema.$ref !== undefined || schema.allOf !== undefined);
      expect(bodies.length).to.be.above(10);
      for (const { schema, example, examples } of bodies) {
        const shown =
          example === undefined
            ? Object.values(examples ?? {}).map(
                ({ $ref }) => api.document.components.examples[$ref.replace(/^.*\//, '')]?.value,
              )
            : [example];
        expect(shown).not.to.deep.equal([]);
        for (const value of shown) {
          expect(api.schemaComplaints(schema, value), JSON.stringify(value)).to.deep.equal([]);
        }
      }
    });

    describe('holds for live answers:', () => {
      let live: Live;
      before(async () => {
        live = await Live.start();
      });
      after(() => live.stop());
      afterEach(() => {
        Live.trouble = null;
      });

      for (const [index, { operationId, status, ask, trouble }] of cases.entries()) {
        it(`${operationId} answers ${status} (${index + 1})`, async () => {
          const request = typeof ask === 'function' ? await ask(live) : ask;
          Live.trouble = trouble ?? null;
          const answer = await live.ask(request);
          expect(answer.status, answer.text).to.equal(status);
          expect(api.complaints(operationId, answer)).to.deep.equal([]);
        });
      }

      it('every documented answer is among them', () => {
        const asked = [...cases, ...refusedStatuses()].map(
          ({ operationId, status }): Promised => ({ operationId, status: String(status) }),
        );
        // Too many at once are of the whole listener: share-limits.test.ts has them.
        const ofOperations = api.promised().filter(({ status }) => status !== '429');
        // Each takes all the computing time that a rule set is given: background-work.test.ts has the limit.
        for (const operationId of HEAVY_AT_MOST) asked.push({ operationId, status: '422' });
        // Another process has to read the SQLite file: erase-client.test.ts has it.
        asked.push({ operationId: 'eraseClient', status: '202' });
        expect(ofOperations.filter((one) => !asked.some((other) => isSame(one, other)))).to.deep.equal([]);
      });
    });
  });
}

/** They answer 422 to nothing but a rule set that is too heavy. */
const HEAVY_AT_MOST = [
  'readRuleFolder',
  'compareRuleFolders',
  'checkDraft',
  'rewriteCases',
  'compareDraft',
  'releaseVersion',
];

function isSame(a: Promised, b: Promised): boolean {
  return a.operationId === b.operationId && a.status === b.status;
}

describe('comparing answers with a document', () => {
  const headers = new Headers({
    'X-Request-Id': 'r-1',
    'Cache-Control': 'no-store',
    'Content-Type': 'application/json',
  });
  const good = { clientGroup: 'NEW', paymentScore: '0.5000', isBot: false };
  const complaints = (status: number, body: object) =>
    callers.complaints('score', { status, headers, text: JSON.stringify(body) });

  it('finds a member too many, one too few, and a wrong one, and otherwise nothing', () => {
    expect(complaints(200, good)).to.deep.equal([]);
    expect(complaints(200, { ...good, more: 1 })).to.deep.equal([' must NOT have additional properties']);
    expect(complaints(200, { clientGroup: 'NEW', isBot: false })).to.deep.equal([
      " must have required property 'paymentScore'",
    ]);
    expect(complaints(200, { ...good, paymentScore: '0.5' })).to.deep.equal([
      '/paymentScore must match pattern "^[01]\\.[0-9]{4}$"',
    ]);
  });

  it('finds a missing header and another content type', () => {
    const bare = { status: 503, headers: new Headers({ 'Content-Type': 'text/html' }), text: '' };
    expect(callers.complaints('score', bare)).to.deep.equal([
      'X-Request-Id is missing',
      'Cache-Control is missing',
      'Retry-After is missing',
      'text/html is not documented',
    ]);
  });
});

describe('the interface in the document for callers', () => {
  it('names the access header, and the operation that a key must be granted', () => {
    expect(callers.document.components.securitySchemes).to.deep.include({
      accessKey: {
        type: 'apiKey',
        in: 'header',
        name: 'X-KA-Access-Key',
        description: 'The access key that the platform owner issued. Keep it as a secret.',
      },
    });
    expect(callers.document.paths['/v1/client/verdict']?.['post']?.security).to.deep.equal([
      { accessKey: ['verdict'] },
    ]);
  });
});

interface Choices {
  /** The discriminator's. */
  readonly mapping: unknown;
  /** The shape of each value of the member that is constant in all shapes. */
  readonly constants: Readonly<Record<string, unknown>>;
}

/** The places of unions of objects with a common member. */
function choicesIn(value: unknown, schemas: Readonly<Record<string, unknown>>): readonly Choices[] {
  if (typeof value !== 'object' || value === null) return [];
  const below = Object.values(value).flatMap((part) => choicesIn(part, schemas));
  const { anyOf, oneOf = anyOf, discriminator } = Object(value);
  if (!Array.isArray(oneOf)) return below;
  const shapes = oneOf.map(({ $ref, ...own }) => ({
    $ref,
    ...Object($ref ? schemas[$ref.replace(/^.*\//, '')] : own),
  }));
  const member = Object.keys(Object(shapes[0].properties)).find((name) => {
    const values = shapes.map(({ properties }) => Object(Object(properties)[name]).enum?.join());
    return !values.includes(undefined) && new Set(values).size === shapes.length;
  });
  if (member === undefined || shapes.length === 1) return below;
  const constants = shapes.flatMap(({ $ref, properties }) =>
    Object(properties)[member].enum.map((constant: string) => [constant, $ref]),
  );
  return [...below, { mapping: discriminator?.mapping, constants: Object.fromEntries(constants) }];
}

describe('the API documents', () => {
  it('have a discriminator wherever shapes have a constant member', () => {
    for (const { document } of [callers, platform]) {
      const found = choicesIn(document, document.components.schemas);
      expect(found.length).to.be.greaterThan(0);
      for (const { mapping, constants } of found) expect(mapping).to.deep.equal(constants);
    }
  });
});

describe('the API documents as served', () => {
  const { service } = serviceOfSuite(() => ({ basePath: '/pay' }));

  it('are served on each listener, for callers below the base path, without a key', async () => {
    const { callerUrl, platformUrl } = service.application;
    const forCallers = await call('GET', `${callerUrl}/openapi.json`, {});
    expect(callerUrl).to.match(/\/pay$/);
    expect(forCallers.body).to.deep.equal(JSON.parse(JSON.stringify(createCallerApiDocument('/pay'))));
    expect(forCallers.body).to.have.nested.property('servers[0].url', '/pay');
    const forPlatform = await (await fetch(`${platformUrl}/openapi.json`)).json();
    expect(forPlatform).to.deep.equal(JSON.parse(JSON.stringify(createPlatformDocument())));
  });

  it('are compressed for clients that accept it, and whole for others', async () => {
    const sizes = new Map<string, number>();
    for (const [accepted, encoding] of [
      ['identity', 'identity'],
      ['gzip', 'gzip'],
      // As browsers write it.
      ['gzip, deflate, br, zstd', 'br'],
    ] as const) {
      const headers = { 'Accept-Encoding': accepted };
      const answer = await fetch(`${service.application.platformUrl}/openapi.json`, { headers });
      expect(answer.headers.get('Content-Encoding') ?? 'identity').to.equal(encoding);
      expect(answer.headers.get('Vary')).to.include('Accept-Encoding');
      sizes.set(encoding, Number(answer.headers.get('Content-Length')));
      expect(await answer.json()).to.deep.equal(JSON.parse(JSON.stringify(createPlatformDocument())));
    }
    const [whole = 0, gzip = 0, br = 0] = sizes.values();
    expect(whole).to.be.below(500_000);
    expect(Math.max(gzip, br)).to.be.within(1, whole / 5);
  });

  it('are not sent again to whoever has them', async () => {
    const { callerUrl, platformUrl } = service.application;
    for (const base of [callerUrl, platformUrl]) {
      const tag = (await fetch(`${base}/openapi.json`)).headers.get('ETag') ?? '';
      const again = await fetch(`${base}/openapi.json`, {
        // Fetch would ask for no cache otherwise.
        headers: { 'If-None-Match': tag, 'Cache-Control': 'max-age=0' },
      });
      expect([tag.length, again.status, await again.text()]).to.deep.equal([26, 304, '']);
    }
  });

  it('are shown by a page of the platform, which loads nothing from elsewhere', async () => {
    const { callerUrl, platformUrl: base } = service.application;
    const page = await call<string>('GET', `${base}/docs`, {});
    expect(page.headers.get('Content-Security-Policy')).to.equal(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    expect(page.body).not.to.match(/https?:\/\//);
    expect(page.body).not.to.match(/<script>/);
    const loaded = [...page.body.matchAll(/(?:src|href)="(docs\/[^"]+)"/g)].map(([, path]) => path);
    expect(loaded).to.have.members([
      'docs/facts',
      'docs/columns',
      'docs/codes',
      'docs/swagger-ui.css',
      'docs/swagger-ui-bundle.js',
      'docs/initializer.js',
    ]);
    for (const path of loaded) expect((await call('GET', `${base}/${path}`, {})).status).to.equal(200);
    const [facts, columns] = await Promise.all(
      ['facts', 'columns'].map((name) => call<string>('GET', `${base}/docs/${name}`, {})),
    );
    for (const name of FACTS.keys()) expect(facts?.body).to.match(new RegExp(`<dt><code>${name}[ <]`));
    for (const { columns: all } of Object.values(TABLES))
      for (const { name } of all) expect(columns?.body).to.include(`<dt><code>${name} `);
    const ofCallers = await call('GET', `${base}/docs/callers.json`, {});
    expect(ofCallers.body).to.deep.equal((await call('GET', `${callerUrl}/openapi.json`, {})).body);
    expect((await fetch(`${base}/docs/`)).url).to.equal(`${base}/docs`);
    expect((await call('GET', `${callerUrl}/docs`, {})).status).to.equal(404);
  });

  it('have every code of every operation on a page of the platform', async () => {
    const { body } = await call<string>('GET', `${service.application.platformUrl}/docs/codes`, {});
    const rows = body.split('\n<tr><td>').map((row) => row.split('<td>'));
    const shows = ({ operationId, code, status }: Coded) =>
      rows.some(([whose = '', ...[shown, by, when, todo]]) => {
        const [all, but = ''] = whose.split(' but ');
        const isOf = all === 'all' ? !but.split(', ').includes(operationId) : all === operationId;
        return isOf && shown === `<code>${code}</code>` && by === String(status) && when && todo;
      });
    const coded = [callers, platform].flatMap((api) => api.codes());
    expect(coded.length).to.be.above(1000);
    expect(coded.filter((one) => !shows(one))).to.deep.equal([]);
  });
});
