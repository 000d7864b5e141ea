import { writeFileSync } from 'node:fs';
import { expect } from 'chai';
import type { Decision } from '#decision/decision.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { recordActivity } from '#decision/payer/client-state.ts';
import type { Segment } from '#history/archive/archive-log.ts';
import { ArchiveReader } from '#history/archive/read/archive-reader.ts';
import type { FoundDecisions } from '#history/archive/read/found-decisions.ts';
import { ArchivedRuleSets } from '#history/archive/ship/archived-rule-sets.ts';
import { openSqliteStore } from '#state/sqlite/store.ts';
import type { Store } from '#state/store.ts';
import type { Explanation } from '#workbench/authoring/explain/explain.ts';
import { clientKey, TEST_SALT } from '../../../decision/payer/client-keys.ts';
import { ArchivedStore } from '../../../history/archive/archived-store.ts';
import { RULES_DIR } from '../../../rule-fixtures/sound-rules.ts';
import { temporaryDirectory } from '../../../servers/temporary-directory.ts';
import { currentRules } from '../../../service/current-rules.ts';
import { type RunningService, startService } from '../../../service/running-service.ts';
import type { Tenant } from '../../../service/tenant.ts';
import { changeTo } from '../../../state/clients.ts';

describe('decisions that the archive alone keeps', () => {
  let place: ArchivedStore;
  /** Has no hot decisions, and another rule set than the one that decided. */
  let forgetful: Store;
  let reader: ArchiveReader;
  let service: RunningService;
  let shop: Tenant;
  let kept: Decision;
  let lost: Decision;
  let damaged: Segment;

  before(async () => {
    place = await ArchivedStore.open();
    lost = await lived('ann');
    const [first] = place.archive.listSegments(place.archive.read(), { table: 'decisions' });
    damaged = first ?? expect.fail('there is a segment');
    kept = await lived('bob');
    writeFileSync(place.archive.getSegmentPath(damaged), 'torn');
    forgetful = openSqliteStore(temporaryDirectory(), { salt: TEST_SALT });
    reader = new ArchiveReader(place.archive.folder, forgetful);
    const rules = { ...currentRules(), digest: 'another' };
    service = await startService({ store: forgetful, archive: reader, rules });
    shop = await service.tenant('shop');
  });
  after(async () => {
    await service?.stop();
    await reader?.close();
    await forgetful?.close();
    await place?.close();
  });

  /** A decision about a client, shipped. */
  async function lived(clientIdKey: string): Promise<Decision> {
    const living = await startService({ store: place.store });
    try {
      const tenant = await living.tenant('shop');
      await tenant.verdict({ clientIdKey, orderRef: `order-${clientIdKey}` });
      const [decision] = await tenant.decisions({ clientIdKey });
      await place.shipper().step();
      return decision ?? expect.fail('a decision was made');
    } finally {
      await living.stop();
    }
  }

  const unread = () => [{ from: damaged.from, to: damaged.to, decisions: 1 }];

  it('are marked incomplete while a file that may have more cannot be read, however they are searched', async () => {
    for (const [query, orders] of [
      ['clientIdKey=ann', []],
      ['orderRef=order-ann', []],
      ['verdict=GET_NEW', ['order-bob']],
    ] as const) {
      const { body } = await shop.ask<FoundDecisions>('GET', `decisions?${query}`);
      expect(
        body.decisions.map(({ orderRef }) => orderRef),
        query,
      ).to.deep.equal(orders);
      expect(body.next, query).to.equal(null);
      expect(body.lookedAt, query).to.deep.include({ complete: false, unread: unread() });
    }
  });

  it('are complete for an order that is not in that file', async () => {
    const { body } = await shop.ask<FoundDecisions>('GET', 'decisions?orderRef=order-bob');
    expect(body.decisions).to.deep.equal([kept]);
    expect(body.lookedAt).to.include({ complete: true }).and.not.to.have.property('unread');
  });

  it('are answered with 503 and never with 404 while the file that may have them cannot be read', async () => {
    const at = new Date(damaged.from).toISOString();
    for (const path of ['', '/explanation']) {
      const { status, headers, body } = await shop.ask('GET', `decisions/${lost.decisionId}${path}`);
      expect([status, headers.get('Retry-After')]).to.deep.equal([503, '60']);
      expect(body.detail).to.equal(
        `It is not known whether there is such a decision: 1 decision from ${at} to ${at} lies in a file of the archive that cannot be read.`,
      );
    }
  });

  it('are unknown to another platform, whose files can all be read', async () => {
    const other = await service.tenant('other');
    expect((await other.ask('GET', `decisions/${lost.decisionId}`)).status).to.equal(404);
  });

  it('are missing from the last ones of a client, which is said there', async () => {
    const client = clientKey(toPlatformName('shop'), 'ann');
    const snapshot = await forgetful.load(client);
    await forgetful.commit(changeTo(client, snapshot, recordActivity(snapshot.state, damaged.from)));
    expect((await shop.client('ann')).body).to.deep.include({ decisions: [], unread: unread() });
  });

  it('are explained by the rule set that the archive keeps', async () => {
    const path = `decisions/${kept.decisionId}/explanation`;
    const before = await shop.ask<Explanation>('GET', path);
    expect(before.status).to.equal(200);
    expect(before.body).to.deep.include({ reproduced: false, rules: null, differences: [] });
    expect(before.body.verification).to.match(
      /^The rule set that decided, p2\.v10 .* is not here: neither has this node loaded it nor does its archive keep it\./,
    );
    const { version, digest } = currentRules();
    new ArchivedRuleSets(place.archive.folder, RULES_DIR).keep(version, digest);
    const { status, body } = await shop.ask<Explanation>('GET', path);
    expect([status, body.reproduced]).to.deep.equal([200, true]);
  });
});
