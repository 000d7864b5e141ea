import { expect } from 'chai';
import { createPlatformDocument } from '#workbench/platform/platform-operations.ts';
import type { Tenant } from '../../service/tenant.ts';
import { temporarySqlite } from '../../stores/temporary-store.ts';
import { type FourEyes, startFourEyes } from './approvals/four-eyes.ts';

const REASON = { reason: 'a test' };

/** What the operations list, and the member that has it. */
const LISTS = [
  ['decisions', 'decisions'],
  ['decisions?orderRef=order-ann', 'decisions'],
  ['decisions?clientIdKey=ann', 'decisions'],
  ['client/history?clientIdKey=ann', 'entries'],
  ['audit', 'entries'],
  ['keys', 'keys'],
  ['lists', 'lists'],
  ['lists/of-clients/entries', 'entries'],
  ['proposals', 'proposals'],
  ['rules/drafts', 'drafts'],
] as const;

type Page = Readonly<Record<string, unknown>> & { readonly next: string | null; readonly detail: string };

describe('every list of the platform', () => {
  const kept = temporarySqlite();
  let eyes: FourEyes;
  let shop: Tenant;
  before(async () => {
    eyes = await startFourEyes(kept.store);
    shop = await eyes.person('ann', 'shop');
    await eyes.person('bob', 'shop');
    const asked = async (method: string, path: string, body?: object) =>
      expect((await shop.ask(method, path, body)).status, path).to.be.below(300);
    for (let number = 0; number < 3; number++) {
      await shop.verdict({ clientIdKey: 'ann', orderRef: 'order-ann' });
      await asked('PUT', `lists/of-${['clients', 'shops', 'others'][number]}`, { kind: 'client' });
      await asked('PUT', `lists/of-clients/entries?value=payer-${number}`, REASON);
      await asked('PUT', `client/override?clientIdKey=trusted-${number}`, { group: 'TRUSTED', ...REASON });
      await asked('PUT', `rules/drafts/p2.v2${number}`, { from: 'p2.v10', files: { 'ruleset.yaml': '' } });
      eyes.clock.moveSeconds(1);
    }
  });
  after(async () => {
    await eyes?.stop();
    await kept.remove();
  });

  /** One that filters, as the audit does by platform, may be empty before the end. */
  const page = async (path: string, query: Readonly<Record<string, string>>) =>
    (await shop.ask<Page>('GET', `${path}${path.includes('?') ? '&' : '?'}${new URLSearchParams(query)}`))
      .body;

  for (const [path, noun] of LISTS) {
    it(`is told by pages until next is null: ${path}`, async () => {
      const whole = await page(path, {});
      const all = whole[noun];
      expect(all).to.be.an('array').with.length.above(1);
      const found: unknown[] = [];
      for (let next: string | null = ''; next !== null; ) {
        const { [noun]: items, next: place }: Page = await page(path, {
          limit: '1',
          ...(next === '' ? {} : { after: next }),
        });
        expect(items).to.be.an('array').with.length.below(2);
        found.push(...(Array.isArray(items) ? items : []));
        next = place;
      }
      expect([found, whole.next]).to.deep.equal([all, null]);
    });

    it(`refuses a place that it never gave: ${path}`, async () => {
      for (const after of ['no place', '']) {
        expect((await page(path, { after })).detail, after).to.equal(
          'The parameter after must be the `next` of an earlier answer, unchanged; without it the list begins at its start.',
        );
      }
    });
  }

  it('has the parameters limit and after where its answer has next', () => {
    const { paths, components } = createPlatformDocument();
    const schemas = JSON.parse(JSON.stringify(components.schemas));
    const paged = Object.values(paths)
      .flatMap((methods) => Object.values(methods))
      .filter(({ responses }) => {
        const [, name = ''] =
          /"\$ref":"#\/components\/schemas\/(\w+)"/.exec(JSON.stringify(responses['200'] ?? '')) ?? [];
        return schemas[name]?.properties?.next !== undefined;
      });
    expect(paged.map(({ operationId }) => operationId).toSorted()).to.deep.equal([
      'listDecisions',
      'listDrafts',
      'listKeys',
      'listProposals',
      'readAudit',
      'readClientHistory',
      'readEvents',
      'readListEntries',
      'readLists',
    ]);
    for (const { operationId, parameters = [] } of paged)
      expect(JSON.stringify(parameters), operationId).to.include('"after"').and.to.include('"limit"');
  });

  it('the feed always says where to read on, also before the first event of all', async () => {
    const empty = await eyes.person('eve', 'empty');
    const { body } = await empty.ask<Page>('GET', 'events');
    expect(body).to.have.all.keys('events', 'next');
    expect(body.next).to.be.a('string');
    expect((await empty.ask('GET', `events?after=${body.next}`)).status).to.equal(200);
  });
});
