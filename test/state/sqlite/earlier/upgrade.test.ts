import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { clientKey, platformName } from '../../../../src/client/client-key.ts';
import { Metrics } from '../../../../src/metrics/metrics.ts';
import { fixedRules } from '../../../../src/rollout/rule-source.ts';
import { ScoringService } from '../../../../src/service.ts';
import { openSqliteStore } from '../../../../src/state/sqlite/store.ts';
import type { Store } from '../../../../src/state/store.ts';
import { ArchivedStore } from '../../../archive/archived-store.ts';
import { temporaryDirectory } from '../../../servers/temporary-directory.ts';
import { currentRules } from '../../../service/current-rules.ts';

/** What the first version with an interface wrote: a score, three verdicts and the outcome of the first order. */
const WRITTEN = readFileSync(new URL('./written-before.sql', import.meta.url), 'utf8');

/** A second after the last of it. */
const NOW = Date.parse('2026-11-22T11:02:26Z');

const platform = platformName('shop');
const payer = clientKey(platform, 'payer-1');
const ORDERS = ['old-payer-1-0', 'old-payer-1-1', 'old-payer-1-2'];
const VERDICTS = ['GET_NEW', 'WAIT', 'WAIT'];

describe('a file that the first version wrote', () => {
  let store: Store;
  beforeEach(() => {
    const directory = temporaryDirectory();
    const db = new DatabaseSync(join(directory, 'scoring.sqlite'));
    db.exec(`PRAGMA journal_mode = WAL; ${WRITTEN}`);
    db.close();
    store = openSqliteStore(directory, () => NOW);
  });
  afterEach(() => store.close());

  const service = () =>
    new ScoringService({
      store,
      ruleSource: fixedRules(currentRules()),
      clock: () => NOW,
      pseudonym: (kind, text) => `${kind}-${text}`.padEnd(22, '-').slice(0, 22),
      metrics: new Metrics(),
    });
  const ask = (orderRef: string, idempotencyKey: string) =>
    service().verdict(
      platform,
      { sellPointKey: 'shop-1', clientIdKey: 'payer-1', method: 'card', amountRequested: '25.00', orderRef },
      { requestId: 'request', idempotencyKey },
    );

  it('holds where each client stands, and the next step follows', async () => {
    const { state } = await store.load(payer);
    expect([state.seq, state.ladder.level]).to.deep.equal([3, 2]);
    const { answer } = await ask('order-4', 'key-4');
    expect([answer.verdict, answer.waitSeconds]).to.deep.equal(['WAIT', 1800]);
  });

  it('repeats what was answered under an Idempotency-Key', async () => {
    const { decisionId, answer } = await ask('old-payer-1-1', 'old-payer-1-1');
    expect([decisionId, answer.verdict, answer.waitSeconds]).to.deep.equal([`${payer.hash}.2`, 'WAIT', 30]);
    expect((await store.load(payer)).state.seq).to.equal(3);
  });

  it('gives decisions by order, by client and by the names that they had', async () => {
    const found = await Promise.all(ORDERS.map((orderRef) => store.decisionsOfOrder(platform, orderRef)));
    expect(found.flat().map(({ verdict }) => verdict)).to.deep.equal(VERDICTS);
    expect((await store.decisionsOfClient(payer, 10)).map(({ seq }) => seq)).to.deep.equal([3, 2, 1]);
    expect((await store.decision(`${payer.hash}.1`))?.orderRef).to.equal('old-payer-1-0');
  });

  it('keeps its access keys', async () => {
    const keys = await store.documents.list<{ readonly platform: string }>('access-keys');
    expect(keys.map((key) => key.platform)).to.deep.equal(['shop']);
  });

  it('is archived whole, and what it grows by after it', async () => {
    const { entries } = await store.readJournal(null, 100);
    expect(entries.map(({ kind }) => kind)).to.deep.equal([
      'score',
      ...['verdict', 'verdict', 'verdict'],
      'outcome',
    ]);
    await ask('order-4', 'key-4');
    const place = await ArchivedStore.open(store);
    await place.shipAll(place.shipper({ clock: () => NOW }));
    const state = place.archive.read();
    const rows = async (columns: string, table: 'decisions' | 'outcomes' | 'scores', order: string) => {
      const source = place.archive.source(place.archive.segments(state, { table }));
      const all = await place.duck.rows(`SELECT ${columns} FROM ${source} ORDER BY ${order}`);
      return all.map((row) => Object.values(row));
    };
    expect(await rows('order_ref, verdict', 'decisions', 'seq')).to.deep.equal([
      ...ORDERS.map((orderRef, index) => [orderRef, VERDICTS[index]]),
      ['order-4', 'WAIT'],
    ]);
    expect(await rows('order_ref, outcome', 'outcomes', 'order_ref')).to.deep.equal([
      ['old-payer-1-0', 'UNPAID'],
    ]);
    expect(await rows('payment_score', 'scores', 'client_id_key')).to.deep.equal([['0.5000']]);
    place.duck.close();
  });
});
