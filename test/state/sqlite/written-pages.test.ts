import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { platformName } from '../../../src/client/client-key.ts';
import { hmacPseudonym } from '../../../src/pseudonym.ts';
import { openSqliteStore } from '../../../src/state/sqlite/store.ts';
import { TEST_SALT } from '../../client/client-keys.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { scoringService } from '../../service/scoring-service.ts';

/** The size of a page in SQLite's log. */
const LOGGED_PAGE_BYTES = 4096 + 24;

const PAYERS = 12_000;

/** Verdicts in one transaction, as a busy service has them. */
const AT_ONCE = 32;

const MEASURED = 640;

describe('the SQLite log of a verdict', () => {
  const dataDir = temporaryDirectory();
  const store = openSqliteStore(dataDir, { salt: TEST_SALT });
  const file = new DatabaseSync(join(dataDir, 'scoring.sqlite'), { timeout: 5000 });
  const pseudonym = hmacPseudonym('a secret that only this test knows');
  const service = scoringService(store, Date.now, { pseudonym });
  const known = Array.from({ length: PAYERS }, () => randomUUID());

  before(() => ask(known, 500));

  after(async () => {
    file.close();
    await store.close();
  });

  it('takes at most 4.2 pages for a new payer', async () => {
    expect(await pagesEach(Array.from({ length: MEASURED }, () => randomUUID()))).to.be.within(2, 4.2);
  });

  it('takes at most 4.2 pages for a known payer', async () => {
    expect(await pagesEach(known.slice(0, MEASURED))).to.be.within(2, 4.2);
  });

  async function ask(payers: readonly string[], atOnce: number): Promise<void> {
    for (let done = 0; done < payers.length; done += atOnce)
      await Promise.all(payers.slice(done, done + atOnce).map(verdict));
  }

  function verdict(clientIdKey: string): Promise<unknown> {
    const body = { sellPointKey: 'shop-1', clientIdKey, method: 'card', amountRequested: '25.00' };
    const request = { requestId: randomUUID(), idempotencyKey: null };
    return service.verdict(platformName('demo'), { ...body, orderRef: randomUUID() }, request);
  }

  async function pagesEach(payers: readonly string[]): Promise<number> {
    // The log grows with each page, and these are too few for SQLite to restart it.
    file.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    await ask(payers, AT_ONCE);
    return statSync(join(dataDir, 'scoring.sqlite-wal')).size / LOGGED_PAGE_BYTES / payers.length;
  }
});
