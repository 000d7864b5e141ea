import { expect } from 'chai';
import { toPlatformName } from '#decision/payer/client-key.ts';
import {
  DRAFT_DAYS_MAX,
  DRAFTS_MAX,
  DraftChanged,
  Drafts,
  TooManyDrafts,
} from '#workbench/authoring/drafts.ts';
import { versionOf } from '../../checkout/rollout/rule-folders.ts';
import { MovableClock } from '../../service/movable-clock.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';

const V11 = versionOf('p2.v11');

describeOnStores('drafts', (store) => {
  let clock: MovableClock;
  let drafts: Drafts;
  let platforms = 0;
  let shop = toPlatformName('shop');
  beforeEach(() => {
    clock = new MovableClock();
    drafts = new Drafts(store(), clock.now);
    platforms += 1;
    shop = toPlatformName(`shop-${platforms}`);
  });

  const write = (basis: number | null, text = 'levels: [30s]', by = 'ann', version = V11) =>
    drafts.write(shop, { version, from: 'p2.v10', files: { 'ladder.yaml': text } }, basis, by);
  const refusedBy = async (change: Promise<unknown>) => {
    try {
      await change;
    } catch (error) {
      if (error instanceof DraftChanged) return error.now?.changedBy ?? 'nobody';
      throw error;
    }
    throw new Error('it was not refused');
  };
  const text = async () => (await drafts.open(shop, V11))?.files['ladder.yaml'];

  it('say who changed them last and when, their base version, and until when they are kept', async () => {
    await write(null);
    clock.moveSeconds(60);
    await write(1, 'levels: [40s]', 'bob');
    const at = clock.now();
    expect(await drafts.list(shop)).to.deep.equal([
      {
        version: V11,
        from: 'p2.v10',
        revision: 2,
        changedBy: 'bob',
        changedAt: at,
      },
    ]);
    expect(await text()).to.equal('levels: [40s]');
  });

  it('accept the first of two changes of one revision, and say who made it', async () => {
    await write(null);
    await write(1, 'levels: [40s]', 'bob');
    expect(await refusedBy(write(1, 'levels: [50s]', 'ann'))).to.equal('bob');
    expect(await text()).to.equal('levels: [40s]');
  });

  it('accept one of many concurrent changes', async () => {
    await write(null);
    const all = Array.from({ length: 8 }, (_, index) => write(1, `levels: [${index}s]`, `person ${index}`));
    const settled = await Promise.allSettled(all);
    expect(settled.filter(({ status }) => status === 'fulfilled')).to.have.length(1);
    const [draft] = await drafts.list(shop);
    expect(await text()).to.equal(`levels: [${draft?.changedBy.slice('person '.length)}s]`);
  });

  it('cannot be begun twice under one name', async () => {
    await write(null);
    expect(await refusedBy(write(null, 'levels: [50s]', 'bob'))).to.equal('ann');
  });

  it('accept the same change again from a page that got no answer the first time', async () => {
    await write(null);
    const first = await write(1, 'levels: [40s]');
    expect(await write(1, 'levels: [40s]')).to.deep.equal(first);
    expect(await text()).to.equal('levels: [40s]');
  });

  it('do not count as one that was discarded and begun anew', async () => {
    const { revision } = await write(null);
    await drafts.discard(shop, V11, revision);
    expect(await refusedBy(write(revision, 'levels: [50s]'))).to.equal('nobody');
    await write(null, 'levels: [60s]', 'bob');
    expect(await refusedBy(write(revision, 'levels: [50s]'))).to.equal('bob');
  });

  it('are discarded only in the revision that was seen', async () => {
    await write(null);
    await write(1, 'levels: [40s]', 'bob');
    expect(await refusedBy(drafts.discard(shop, V11, 1))).to.equal('bob');
    await drafts.discard(shop, V11, 2);
    expect(await drafts.list(shop)).to.deep.equal([]);
    expect(await drafts.open(shop, V11)).to.equal(null);
  });

  it('leave no files behind', async () => {
    await write(null);
    await write(1, 'levels: [40s]');
    await refusedBy(write(1, 'levels: [50s]'));
    const kept = () => store().documents.list(`draft-files:${shop}`);
    expect(await kept()).to.deep.equal([{ 'ladder.yaml': 'levels: [40s]' }]);
    await drafts.discard(shop, V11, 2);
    expect(await kept()).to.deep.equal([]);
  });

  it('are visible to their own platform alone', async () => {
    await write(null);
    const bank = toPlatformName('bank');
    expect(await drafts.list(bank)).to.deep.equal([]);
    expect(await drafts.open(bank, V11)).to.equal(null);
  });

  it(`are limited to ${DRAFTS_MAX}, which can still be changed and discarded`, async () => {
    const name = (minor: number) => versionOf(`p2.v${minor}`);
    for (let minor = 1; minor <= DRAFTS_MAX; minor++) await write(null, 'levels: [30s]', 'ann', name(minor));
    const more = write(null, 'levels: [30s]', 'ann', name(99));
    expect(await more.catch((error: unknown) => error instanceof TooManyDrafts)).to.equal(true);
    const { revision } = await write(1, 'levels: [40s]', 'ann', name(1));
    await drafts.discard(shop, name(1), revision);
    expect((await write(null, 'levels: [30s]', 'ann', name(99))).version).to.equal('p2.v99');
  });

  it('are forgotten after a long time without changes, which leaves room', async () => {
    await write(null);
    clock.moveSeconds(DRAFT_DAYS_MAX * 24 * 3600);
    expect(await drafts.list(shop)).to.deep.equal([]);
    await write(null, 'levels: [40s]', 'bob', versionOf('p2.v12'));
    expect((await drafts.list(shop)).map(({ version }) => version)).to.deep.equal(['p2.v12']);
    expect(await store().documents.list(`draft-files:${shop}`)).to.have.length(1);
  });
});
