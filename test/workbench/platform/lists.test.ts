import { expect } from 'chai';
import { INSTALLATION_PLATFORM } from '#checkout/access/access-keys.ts';
import { Audit } from '#workbench/access/audit.ts';
import { declaring } from '../../rule-fixtures/declared-attributes.ts';
import { edited, swap } from '../../rule-fixtures/sound-rules.ts';
import { malformedLine } from '../../service/request-bodies.ts';
import { serviceOfSuite } from '../../service/running-service.ts';
import { Tenant } from '../../service/tenant.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';

const RULES = edited({
  'ruleset.yaml': declaring('{ wallet: { type: text }, phone: { type: text, pseudonym: true } }'),
  'verdicts.yaml': swap(
    '{ fact: clientGroup, operator: equal, value: BLOCKED }',
    '{ fact: listed, params: { list: blocked }, operator: equal, value: true }',
  ),
});

interface Entries {
  readonly kind: string | null;
  readonly total: number;
  readonly entries: readonly { readonly value: string; readonly who: string; readonly change: number }[];
  readonly coveredBy?: { readonly value: string };
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
    const remove = () =>
      shop.ask<{ removed: boolean }>('DELETE', 'lists/blocked/entries?value=device-1&reason=cleared');
    expect([(await remove()).body.removed, (await remove()).body.removed]).to.deep.equal([true, false]);
    expect((await shop.verdict({ orderRef: 'o3' })).body.verdict).not.to.equal('BLOCK');
    const explanation = await shop.ask<{ reproduced: boolean }>(
      'GET',
      `decisions/${blocked?.decisionId}/explanation`,
    );
    expect(explanation.body).to.deep.include({ reproduced: true, sharedLists: ['blocked'] });
  });

  it('hold values of an attribute, whether the rule set keeps it in clear or as an HMAC', async () => {
    for (const attribute of ['wallet', 'phone']) {
      const shop = await service.tenant(`shop-${++number}`);
      const made = await shop.ask('PUT', 'lists/blocked', { kind: 'attribute', attribute });
      expect(made.body).to.deep.include({ kind: 'attribute', attribute, entries: 0 });
      expect(
        (await shop.ask('PUT', 'lists/blocked', { kind: 'attribute', attribute: 'other' })).body,
      ).to.deep.include({
        detail: `The list blocked holds entries of kind attribute ${attribute}; make a list with another name.`,
      });
      const put = await shop.ask<{ value: string }>('PUT', 'lists/blocked/entries?value=secret-1', REASON);
      expect(put.body.value).to.match(/^hmac:[\w-]{22}$/);
      const verdictOf = async (clientIdKey: string, attributes?: object) =>
        (
          await shop.verdict({
            clientIdKey,
            orderRef: `order of ${clientIdKey}`,
            ...(attributes && { attributes }),
          })
        ).body.verdict;
      expect(await verdictOf('ann', { [attribute]: 'secret-1' })).to.equal('BLOCK');
      expect(await verdictOf('bob', { [attribute]: 'secret-2' })).to.equal('GET_NEW');
      await shop.score({ clientIdKey: 'carl', attributes: { [attribute]: 'secret-1' } });
      expect(await verdictOf('carl')).to.equal('BLOCK');
      expect(await entries(shop)).to.deep.include({ kind: 'attribute', attribute, total: 1 });
    }
  });

  it('take an entry of an attribute as a decision shows it', async () => {
    const shop = await service.tenant(`shop-${++number}`);
    await shop.ask('PUT', 'lists/blocked', { kind: 'attribute', attribute: 'phone' });
    await shop.verdict({ orderRef: 'o1', attributes: { phone: '555-1' } });
    const [decision] = await shop.decisions({ orderRef: 'o1' });
    const shown = encodeURIComponent(String(decision?.facts['attribute(phone)']));
    expect((await shop.ask('PUT', `lists/blocked/entries?value=${shown}`, REASON)).status).to.equal(200);
    const again = await shop.verdict({ clientIdKey: 'bob', orderRef: 'o2', attributes: { phone: '555-1' } });
    expect(again.body.verdict).to.equal('BLOCK');
  });

  it('name the attribute with kind attribute, and with no other', async () => {
    const shop = await tenant();
    for (const [body, detail] of [
      [{ kind: 'attribute' }, 'is required with kind attribute: the name under which callers send it'],
      [{ kind: 'ip', attribute: 'wallet' }, 'goes only with kind attribute'],
    ] as const) {
      const answer = await shop.ask('PUT', 'lists/others', body);
      expect(answer.status).to.equal(400);
      expect(answer.body).to.deep.include({ errors: [{ pointer: '/attribute', detail }] });
    }
  });

  it('hold ranges of addresses against what a score showed before', async () => {
    const shop = await tenant('ip');
    await shop.score({ ip: '203.0.113.9' });
    const range = encodeURIComponent('203.0.112.0/23');
    const put = await shop.ask('PUT', `lists/blocked/entries?value=${range}`, REASON);
    expect(put.status).to.equal(200);
    expect((await shop.verdict()).body.verdict).to.equal('BLOCK');
    expect((await shop.ask('DELETE', `lists/blocked/entries?value=${range}`)).status).to.equal(200);
    expect((await shop.verdict()).body.verdict).not.to.equal('BLOCK');
  });

  it('say of an address which range holds it, and of one outside nothing', async () => {
    const shop = await tenant('ip');
    for (const range of ['203.0.113.0/24', '198.51.100.128/25', '2a00:1450::/32'])
      await shop.ask('PUT', `lists/blocked/entries?value=${encodeURIComponent(range)}`, REASON);
    const covering = async (value: string) => {
      const { entries: own, coveredBy } = await entries(shop, `?value=${encodeURIComponent(value)}`);
      return [own.length, coveredBy?.value];
    };
    expect(await covering('203.0.113.55')).to.deep.equal([0, '203.0.113.0/24']);
    expect(await covering('203.0.113.55:443')).to.deep.equal([0, '203.0.113.0/24']);
    expect(await covering('198.51.100.200')).to.deep.equal([0, '198.51.100.128/25']);
    expect(await covering('2a00:1450:4001::8')).to.deep.equal([0, '2a00:1450::/32']);
    expect(await covering('203.0.114.55')).to.deep.equal([0, undefined]);
    expect(await covering('198.51.100.7')).to.deep.equal([0, undefined]);
    expect(await covering('no address')).to.deep.equal([0, undefined]);
    await shop.ask('PUT', 'lists/blocked/entries?value=203.0.113.55', REASON);
    expect(await covering('203.0.113.55')).to.deep.equal([1, undefined]);
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
    const { key } = await service.application.keys.issue(INSTALLATION_PLATFORM, ['lists'], null);
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
      'Make the list first, with the kind of its entries: PUT /v1/platform/lists/blokced, or the command lists make.';
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
    ] as const) {
      const answer = await shop.ask('PUT', `lists/${path}`, body);
      expect([answer.status, answer.body.detail]).to.deep.equal([status, detail]);
    }
  });
});
