import { expect } from 'chai';
import type { ValueOf } from '#base/shapes.ts';
import type { ArchiveReader } from '#history/archive/read/archive-reader.ts';
import type { PlatformEventSchema } from '#workbench/platform/events.ts';
import { ArchivedStore } from '../../history/archive/archived-store.ts';
import { until } from '../../servers/until.ts';
import type { Problem } from '../../service/http-call.ts';
import { KEY_LIFETIME_MS } from '../../service/key-lifetime.ts';
import { type RunningService, startService } from '../../service/running-service.ts';
import { Tenant } from '../../service/tenant.ts';
import { newPlatform } from '../../state/clients.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';

interface Page {
  readonly events: readonly ValueOf<typeof PlatformEventSchema>[];
  readonly next: string | null;
}

function subjectOf(event: Page['events'][number] | undefined): string {
  return event !== undefined && 'subject' in event ? event.subject : expect.fail('the event is about nobody');
}

describeOnStores('the feed over HTTP', (store) => {
  let place: ArchivedStore;
  let reader: ArchiveReader;
  let service: RunningService;
  let shop: Tenant;

  before(async () => {
    place = await ArchivedStore.open(store());
    reader = place.reader();
    service = await startService({ store: store(), archive: reader });
  });
  beforeEach(async () => {
    shop = await service.tenant(newPlatform());
  });
  after(async () => {
    await service?.stop();
    await place?.release();
  });

  async function pages(from: string | null): Promise<readonly Page[]> {
    const read: Page[] = [];
    for (let next = from; ; ) {
      const { body } = await ask<Page>(next === null ? '' : `after=${next}`);
      read.push(body);
      if (body.next === next) return read;
      next = body.next;
    }
  }
  const ask = <Body>(query: string, tenant = shop) =>
    tenant.ask<Body>('GET', `events${query === '' ? '' : `?${query}`}`);
  const all = async () => (await pages(null)).flatMap(({ events }) => events);
  const end = async () => (await pages(null)).at(-1)?.next ?? expect.fail('nothing happened yet');

  it('has verdicts, outcomes, bindings, overrides and erasures, each with a constant id', async () => {
    await shop.verdict({ clientIdKey: 'ann', orderRef: 'order-1' });
    await shop.outcome('ann', 'order-1', 'PAID');
    await shop.bind('ann');
    await shop.override('ann', 'TRUSTED');
    await shop.score({ clientIdKey: 'ann' });
    const before = await all();
    expect(before.map(({ type }) => type)).to.deep.equal(['verdict', 'outcome', 'binding', 'override']);
    const [verdict] = before;
    expect(verdict).to.deep.include({ specversion: '1.0', datacontenttype: 'application/json' });
    expect(verdict?.data).to.deep.include({ clientIdKey: 'ann', kind: 'verdict' });
    await place.shipAll();
    expect(await all()).to.deep.equal(before);
    await shop.ask('DELETE', 'client?clientIdKey=ann');
    const [erasure, ...others] = await all();
    expect(others).to.deep.equal([]);
    expect(erasure).to.deep.include({ type: 'erasure', subject: subjectOf(verdict) });
    await place.shipAll();
    expect(await all()).to.deep.equal([erasure]);
    await place.shipAll(place.shipper({ clock: () => Date.now() + 31 * 24 * 3_600_000 }));
    const { subject: _, ...nameless } = { subject: '', ...erasure };
    expect(await all()).to.deep.equal([nameless]);
  });

  it('waits for an event and answers with it, and with nothing when the time is up', async () => {
    await shop.verdict({ clientIdKey: 'ann', orderRef: 'order-1' });
    const after = await end();
    const waiting = ask<Page>(`after=${after}&wait=20`);
    await shop.verdict({ clientIdKey: 'ann', orderRef: 'order-2' });
    const { body } = await waiting;
    expect(body.events.map(({ data }) => 'decision' in data && data.decision.orderRef)).to.deep.equal([
      'order-2',
    ]);
    expect((await ask<Page>(`after=${body.next}&wait=1`)).body).to.deep.equal({
      events: [],
      next: body.next,
    });
  });

  it('lets one key have a few waiting requests at once and no more', async () => {
    const waiting = Array.from({ length: 9 }, () => ask<Problem>('wait=2'));
    const answers = await Promise.all(waiting);
    expect(answers.map(({ status }) => status).toSorted()).to.deep.equal([...Array(8).fill(200), 429]);
  });

  it('answers a request that waits when its key is revoked', async () => {
    const { key, record } = await service.application.keys.issue(newPlatform(), ['events'], KEY_LIFETIME_MS);
    const waiting = await waitingRequests(new Tenant(service.application, key));
    await service.application.keys.revoke(record.id);
    for (const { status } of await waiting.answers) expect(status).to.equal(401);
  });

  it('refuses a bad cursor, and says what is allowed', async () => {
    for (const after of ['no%20place', '1.x', 'abc', '99999999999999999999']) {
      const { status, body } = await ask<Problem>(`after=${after}`);
      expect([after, status]).to.deep.equal([after, 400]);
      expect(body.detail).to.match(/^The parameter after .*`next` of an earlier answer.*, unchanged/);
    }
  });

  it('ends waiting when the node shuts down', async () => {
    const other = await startService({ store: store(), archive: reader });
    const waiting = await waitingRequests(await other.tenant(newPlatform()));
    await other.stop();
    for (const { status, body } of await waiting.answers)
      expect([status, body.events]).to.deep.equal([200, []]);
  });

  /** As many requests as may wait, once they do. */
  async function waitingRequests(tenant: Tenant) {
    const answers = Promise.all(Array.from({ length: 8 }, () => ask<Page>('wait=20', tenant)));
    await until('all wait', async () => (await ask('wait=1', tenant)).status === 429);
    return { answers };
  }
});
