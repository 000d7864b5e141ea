import { expect } from 'chai';
import { INSTALLATION } from '../../../src/access/access-keys.ts';
import { Audit } from '../../../src/access/audit.ts';
import { edited, swap } from '../../rule-fixtures/sound-rules.ts';
import { malformedLine } from '../../service/request-bodies.ts';
import { serviceOfSuite } from '../../service/running-service.ts';
import { Tenant } from '../../service/tenant.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';

const RULES = edited({
  'verdicts.yaml': swap(
    '{ fact: clientGroup, operator: equal, value: BLOCKED }',
    '{ fact: listed, params: { list: blocked }, operator: equal, value: true }',
  ),
});

interface Entries {
  readonly kind: string | null;
  readonly total: number;
  readonly entries: readonly { readonly value: string; readonly who: string; readonly change: number }[];
  readonly next: string | null;
}

interface Lists {
  readonly lists: readonly object[];
  readonly isStale: boolean;
}

const REASON = { reason: 'shared by a ring' };

describeOnStores('shared lists over HTTP', (store) => {
  let number = 0;
  const { service } = serviceOfSuite(() => ({ store: store(), rules: RULES }));

  /** A platform whose list "blocked" holds entries of this kind. */
  const tenant = async (kind = 'client') => {
    const shop = await service.tenant(`shop-${++number}`);
    await shop.ask('PUT', 'lists/blocked', { kind });
    return shop;
  };
  const entries = async (of: Tenant, query = '') =>
    (await of.ask<Entries>('GET', `lists/blocked/entries${query}`)).body;

  it('decide from the next verdict on, and no more once the entry is gone', async () => {
    const shop = await tenant('fingerprint');
    await shop.score({ fingerprint: 'device-1' });
    expect((await shop.verdict({ orderRef: 'o1' })).body.verdict).to.equal('GET_NEW');
    const put = await shop.ask('PUT', 'lists/blocked/entries?value=device-1', REASON);
    expect(put.status).to.equal(200);
    expect((await shop.verdict({ orderRef: 'o2' })).body.verdict).to.equal('BLOCK');
    const [blocked] = await shop.decisions({ orderRef: 'o2' });
    expect(blocked?.facts['listed(blocked)']).to.equal(true);
    expect((await shop.ask('DELETE', 'lists/blocked/entries?value=device-1&reason=cleared')).status).to.equal(
      204,
    );
    expect((await shop.verdict({ orderRef: 'o3' })).body.verdict).not.to.equal('BLOCK');
    const explanation = await shop.ask<{ reproduced: boolean }>(
      'GET',
      `decisions/${blocked?.decisionId}/explanation`,
    );
    expect(explanation.body).to.deep.include({ reproduced: true, sharedLists: ['blocked'] });
  });

  it('hold ranges of addresses against what a score showed before', async () => {
    const shop = await tenant('ip');
    await shop.score({ ip: '203.0.113.9' });
    const range = encodeURIComponent('203.0.112.0/23');
    const put = await shop.ask('PUT', `lists/blocked/entries?value=${range}`, REASON);
    expect(put.status).to.equal(200);
    expect((await shop.verdict()).body.verdict).to.equal('BLOCK');
    expect((await shop.ask('DELETE', `lists/blocked/entries?value=${range}`)).status).to.equal(204);
    expect((await shop.verdict()).body.verdict).not.to.equal('BLOCK');
  });

  it('are listed with what they hold, and their entries in pages, newest first', async () => {
    const shop = await tenant();
    const lists = async () => (await shop.ask<Lists>('GET', 'lists')).body;
    const none = { list: 'blocked', kind: 'client', total: 0, entries: [], next: null };
    expect(await entries(shop)).to.deep.equal(none);
    for (const name of ['ann', 'bob', 'carl']) {
      await shop.ask('PUT', `lists/blocked/entries?value=${name}`, REASON);
    }
    const now = service.clock.now();
    expect((await lists()).lists).to.deep.equal([
      { list: 'blocked', kind: 'client', entries: 3, ended: 0, changedAt: now, ofInstallation: false },
    ]);
    const first = await entries(shop, '?limit=2');
    expect(first.entries.map(({ value }) => value)).to.deep.equal(['carl', 'bob']);
    expect(first.total).to.equal(3);
    expect((await entries(shop, '?value=bob')).entries.map(({ value }) => value)).to.deep.equal(['bob']);
    expect((await entries(shop, '?value=nobody')).entries).to.deep.equal([]);
    expect((await lists()).isStale).to.equal(false);
  });

  it('take many lines at once and answer each', async () => {
    const shop = await tenant();
    const lines = [
      { value: 'ann', ...REASON },
      { value: 'bob' },
      'oops',
      { value: 'bob', kind: 'ip', ...REASON },
      { value: 'nobody', remove: true },
      { value: '..', ...REASON, expiresAt: '2020-01-01T00:00:00Z' },
    ];
    const body = lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join('');
    const answer = await shop.ask<string>('POST', 'lists/blocked/entries', body, {
      'Content-Type': 'application/x-ndjson',
    });
    expect(answer.status).to.equal(200);
    const said = answer.body.trim().split('\n');
    const stray = 'is not known; allowed: value, remove, reason, expiresAt';
    const past = 'expiresAt is in the past; leave it out for an entry without an end.';
    expect(said.map((line): unknown => JSON.parse(line))).to.deep.equal([
      { line: 1, value: 'ann', result: 'added' },
      malformedLine(2, '/reason is required.'),
      malformedLine(3, 'The body is not valid JSON.'),
      { ...malformedLine(4, `/kind ${stray}.`), errors: [{ pointer: '/kind', detail: stray }] },
      { line: 5, value: 'nobody', result: 'absent' },
      { ...malformedLine(6, past), error: 'not for this list', code: 'not-for-list' },
    ]);
  });

  it('take no more lines than the documented limit, blank ones counted, too', async () => {
    const shop = await tenant();
    const answer = await shop.ask<string>('POST', 'lists/blocked/entries', '\n'.repeat(100_010), {
      'Content-Type': 'application/x-ndjson',
    });
    expect(answer.body).to.equal(
      '{"line":100001,"error":"too many lines","code":"too-many-lines","detail":"Send at most 100000 lines at once.","retryable":true}\n',
    );
  });

  it('belong to their platform alone, and those of the installation to its keys', async () => {
    const [shop, other] = [await tenant(), await tenant()];
    const { key } = await service.application.keys.issue(INSTALLATION, ['lists'], null);
    const owner = new Tenant(service.application, key);
    await shop.ask('PUT', 'lists/blocked/entries?value=ann', REASON);
    expect((await entries(other)).total).to.equal(0);
    await owner.ask('PUT', 'lists/blocked', { kind: 'method' });
    await owner.ask('PUT', 'lists/blocked/entries?value=cash', REASON);
    expect((await other.ask<Lists>('GET', 'lists')).body.lists).to.have.length(2);
    expect((await entries(other)).total).to.equal(0);
    expect((await other.verdict({ method: 'cash' })).body.verdict).to.equal('BLOCK');
    await owner.ask('DELETE', 'lists/blocked/entries?value=cash');
  });

  it('forget a client that is erased', async () => {
    const shop = await tenant();
    await shop.ask('PUT', 'lists/blocked/entries?value=payer-9', REASON);
    await shop.ask('DELETE', 'client?clientIdKey=payer-9');
    expect((await entries(shop)).total).to.equal(0);
    const noted = (await new Audit(store().auditLog, Date.now).read(null, 10_000)).entries;
    expect(JSON.stringify(noted)).not.to.include('payer-9');
  });

  it('say in one sentence what is wrong with a change, and how to make a list first', async () => {
    const shop = await tenant('ip');
    const made =
      'A list is made first, with the kind of its entries: PUT /v1/platform/lists/blokced, or the command lists make.';
    for (const [path, body, status, detail] of [
      [
        'blokced/entries?value=ann',
        REASON,
        404,
        `There is no list "blokced"; did you mean "blocked"? ${made}`,
      ],
      [
        'blocked/entries?value=203.0.0.0%2F8',
        { ...REASON, expires: '2030-01-01' },
        400,
        '/expires is not known; did you mean "expiresAt"?.',
      ],
      ['blocked/entries', REASON, 400, 'The parameter value is required.'],
    ] as const) {
      const answer = await shop.ask('PUT', `lists/${path}`, body);
      expect([answer.status, answer.body.detail]).to.deep.equal([status, detail]);
    }
  });
});
