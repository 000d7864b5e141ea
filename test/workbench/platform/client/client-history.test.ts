import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { openSqliteStore } from '#state/sqlite/store.ts';
import type { HistoryEntry, toHistoryView } from '#workbench/platform/client/client-history.ts';
import { expectHidden } from '../../../checkout/http/hidden-device.ts';
import { TEST_SALT } from '../../../decision/payer/client-keys.ts';
import { temporaryDirectory } from '../../../servers/temporary-directory.ts';
import { START_MS } from '../../../service/movable-clock.ts';
import { serviceOfSuite, startService } from '../../../service/running-service.ts';
import type { Tenant } from '../../../service/tenant.ts';
import { describeOnStores } from '../../../stores/describe-on-stores.ts';

type History = ReturnType<typeof toHistoryView>;

function historyOf(shop: Tenant, clientIdKey: string, query = '') {
  const path = `client/history?clientIdKey=${encodeURIComponent(clientIdKey)}`;
  return shop.ask<History>('GET', `${path}${query.replace('?', '&')}`);
}

/** A short form of an entry. */
function inWords(entry: HistoryEntry): string {
  switch (entry.kind) {
    case 'score':
      return `score ${entry.answer.clientGroup}`;
    case 'verdict':
      return `${entry.decision.verdict} ${entry.decision.orderRef}`;
    case 'outcome':
      return `${entry.outcome} ${entry.cause} ${entry.orderRef}`;
    case 'binding':
      return `binding ${entry.binding?.requisiteRef}`;
    case 'override':
      return `override ${entry.override?.group}`;
    case 'waitEnded':
      return `wait ended by ${entry.by}: ${entry.reason}`;
    default:
      throw new Error(entry satisfies never);
  }
}

describeOnStores('the history of a client', (store) => {
  const { service, shop } = serviceOfSuite(() => ({ store: store() }));

  it('lists everything that happened, newest first, each with its time', async () => {
    const clientIdKey = 'lively';
    const startedAt = service.clock.now();
    for (const step of [
      () => shop.score({ clientIdKey }),
      () => shop.verdict({ clientIdKey, orderRef: 'o-1' }),
      () => shop.verdict({ clientIdKey, orderRef: 'o-1' }),
      () => shop.outcome(clientIdKey, 'o-1', 'UNPAID', { cause: 'EXPIRED', occurredAt: startedAt }),
      () => shop.bind(clientIdKey),
      () => shop.ask('DELETE', `client/binding?clientIdKey=${clientIdKey}`),
      () => shop.override(clientIdKey, 'TRUSTED'),
      () => shop.ask('DELETE', `client/override?clientIdKey=${clientIdKey}`),
    ]) {
      await step();
      service.clock.moveSeconds(10);
    }
    const { status, body } = await historyOf(shop, clientIdKey);
    expect(status).to.equal(200);
    expect(body.clientIdKey).to.equal(clientIdKey);
    expect(body.complete).to.equal(true);
    expect(body.entries.map((entry) => `${(entry.at - startedAt) / 1000} ${inWords(entry)}`)).to.deep.equal([
      '70 override undefined',
      '60 override TRUSTED',
      '50 binding undefined',
      '40 binding requisite-7',
      '30 UNPAID EXPIRED o-1',
      '20 WAIT o-1',
      '10 GET_NEW o-1',
      '0 score NEW',
    ]);
  });

  it('has a verdict as its decision, and an outcome with its time', async () => {
    const clientIdKey = 'exact';
    await shop.verdict({ clientIdKey, orderRef: 'exact-1' });
    await shop.outcome(clientIdKey, 'exact-1', 'PAID', { occurredAt: START_MS - 5000 });
    const { entries } = (await historyOf(shop, clientIdKey)).body;
    const [decision] = await shop.decisions({ clientIdKey });
    const at = service.clock.now();
    expect(entries).to.deep.equal([
      {
        kind: 'outcome',
        at,
        orderRef: 'exact-1',
        outcome: 'PAID',
        cause: null,
        occurredAt: START_MS - 5000,
        amount: '25 EUR',
      },
      { kind: 'verdict', at, decision },
    ]);
  });

  it('leaves out reports of what was known, and has those that a payment outweighs', async () => {
    for (const outcome of ['PAID', 'PAID', 'UNPAID', 'PAID'] as const) {
      await shop.outcome('repeated', 'r-1', outcome);
      await shop.outcome('repeated', 'r-2', 'PAID');
      service.clock.moveSeconds(1);
    }
    const { entries } = (await historyOf(shop, 'repeated')).body;
    expect(entries.map(inWords)).to.deep.equal(['PAID null r-1', 'PAID null r-2', 'PAID null r-1']);
    const reports = entries.map((entry) => (entry.kind === 'outcome' ? entry.report?.outcome : null));
    expect(reports).to.deep.equal(['UNPAID', undefined, undefined]);
  });

  it('says of a score whether it had a device, but never which, not even as HMACs', async () => {
    const device = { fingerprint: 'finger-17', ip: '203.0.113.17', userAgent: 'curl/8.17' };
    await shop.score({ clientIdKey: 'veiled', ...device, toPayCurrency: 'usd' });
    await shop.score({ clientIdKey: 'veiled' });
    const { entries } = (await historyOf(shop, 'veiled')).body;
    const asked = entries.map((entry) => (entry.kind === 'score' ? entry.request : null));
    const order = { sellPointKey: 'shop-1', method: 'card', amount: '25.00' };
    const shown = (present: boolean) => ({
      ...order,
      jsOk: null,
      honeypotTriggered: false,
      fingerprintPresent: present,
      ipPresent: present,
      userAgentPresent: present,
      userAgentIsAutomated: present,
      userAgentIsApp: false,
      currency: present ? 'USD' : null,
    });
    expect(asked).to.deep.equal([shown(false), shown(true)]);
    expectHidden(JSON.stringify(entries), device);
  });

  it('lists 100 entries unless asked for another number', async () => {
    for (let order = 0; order < 101; order++) await shop.outcome('busy', `busy-${order}`, 'PAID');
    expect((await historyOf(shop, 'busy')).body.entries).to.have.length(100);
    expect((await historyOf(shop, 'busy', '?limit=500')).body.entries).to.have.length(101);
  });
});

describe('the history of a client whose oldest entries the journal has forgotten', () => {
  it('is marked incomplete by a node that did not see them', async () => {
    const directory = temporaryDirectory();
    const store = openSqliteStore(directory, { salt: TEST_SALT });
    let service = await startService({ store });
    let shop = await service.tenant();
    await shop.score({ clientIdKey: 'old' });
    service.clock.moveSeconds(1);
    await shop.verdict({ clientIdKey: 'old', orderRef: 'o-1' });
    const forget = async () => {
      forgetOldestEntry(directory);
      await service.stop();
      service = await startService({ store });
      shop = await service.tenant();
    };
    expect((await historyOf(shop, 'old')).body.complete).to.equal(true);
    await forget();
    const part = (await historyOf(shop, 'old')).body;
    expect(part.entries.map(inWords)).to.deep.equal(['GET_NEW o-1']);
    expect(part.complete).to.equal(false);
    await forget();
    const nothing = { clientIdKey: 'old', entries: [], next: null, complete: false };
    expect((await historyOf(shop, 'old')).body).to.deep.equal(nothing);
    await service.stop();
    await store.close();
  });
});

function forgetOldestEntry(directory: string): void {
  const db = new DatabaseSync(join(directory, 'scoring.sqlite'));
  db.exec('DELETE FROM journal WHERE position = (SELECT min(position) FROM journal)');
  db.close();
}
