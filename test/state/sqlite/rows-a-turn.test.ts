import { StatementSync } from 'node:sqlite';
import { expect } from 'chai';
import { createPlatformDocument } from '#workbench/platform/platform-operations.ts';
import { type RunningService, startService } from '../../service/running-service.ts';
import type { Tenant } from '../../service/tenant.ts';
import { operationsOf } from '../../workbench/openapi/described-routes.ts';

/** More than any page has. */
const MANY = 1_200;
/** A page of the longest that others ask for. */
const ASKED_AT_ONCE = 400;
/** Some milliseconds of the event loop: three pages of 200. */
const ROWS_A_TURN_MAX = 620;

/**
 * The most rows that one statement gives in one turn of the event loop. What the service reads by its clock in the same turn
 * has statements of its own.
 */
class RowsATurn {
  most = 0;
  readonly #rows = new Map<string, number>();
  readonly #all = StatementSync.prototype.all;
  readonly #get = StatementSync.prototype.get;

  begin(): void {
    StatementSync.prototype.all = new Proxy(this.#all, {
      apply: (all, statement, values) => {
        const found = Reflect.apply(all, statement, values);
        this.#note(statement, found.length);
        return found;
      },
    });
    StatementSync.prototype.get = new Proxy(this.#get, {
      apply: (get, statement, values) => {
        this.#note(statement, 1);
        return Reflect.apply(get, statement, values);
      },
    });
  }

  end(): void {
    StatementSync.prototype.all = this.#all;
    StatementSync.prototype.get = this.#get;
  }

  async of(work: () => Promise<unknown>): Promise<number> {
    this.most = 0;
    await work();
    return this.most;
  }

  #note({ sourceSQL }: StatementSync, count: number): void {
    if (this.#rows.size === 0) setImmediate(() => this.#rows.clear());
    const rows = (this.#rows.get(sourceSQL) ?? 0) + count;
    this.#rows.set(sourceSQL, rows);
    this.most = Math.max(this.most, rows);
  }
}

describe('reading much of SQLite', () => {
  const rows = new RowsATurn();
  let service: RunningService;
  let shop: Tenant;
  let decisionId: string;
  before(async () => {
    service = await startService();
    shop = await service.tenant();
    decisionId = await fill(service, shop);
    rows.begin();
  });
  after(async () => {
    rows.end();
    await service?.stop();
  });

  it('leaves turns of the event loop to others, whichever question of the platform reads it', async () => {
    const headers = { 'X-KA-Access-Key': shop.key };
    const tooMany: Record<string, number> = {};
    for (const operation of operationsOf(createPlatformDocument())) {
      const [method = '', path = ''] = operation.split(' ');
      if (method !== 'GET') continue;
      const asked = path.replace('{decisionId}', decisionId).replace(/\{\w+\}/, 'walked');
      const ofClient = /\/client(\/|$)/.test(asked) ? '?clientIdKey=walked' : '';
      const query = asked.endsWith('/find') ? '?text=walked' : ofClient;
      const url = `${service.application.platformUrl}${asked}${query}`;
      const most = await rows.of(async () => {
        const answer = await fetch(url, { headers });
        await answer.text();
        expect(answer.status, asked).to.be.oneOf([200, 404]);
      });
      if (most > ROWS_A_TURN_MAX) tooMany[operation] = most;
    }
    expect(tooMany).to.deep.equal({});
  });

  it('leaves them also where it reads for itself', async () => {
    const { store } = service;
    const states = async () => {
      for (let from: string | null = ''; from !== null; ) from = (await store.texts.states(from)).next;
    };
    const journal = async () => {
      for (let after: string | null = null; ; ) {
        const { cursor, entries } = await store.readJournal(after, ASKED_AT_ONCE);
        if (entries.length === 0) return;
        after = cursor;
      }
    };
    const lists = async () => {
      for (let after = 0, latest = 1; after < latest; ) {
        const page = await store.listLog.read(after, ASKED_AT_ONCE);
        latest = page.latest;
        after = page.records.at(-1)?.version ?? latest;
      }
    };
    const texts = () => Array.fromAsync(store.texts.all());
    const documents = () => store.documents.list('sessions');
    const audit = () => shop.ask('GET', 'audit?who=nobody');
    for (const loop of [states, journal, lists, texts, documents, audit])
      expect(await rows.of(loop), loop.name).to.be.within(1, ROWS_A_TURN_MAX);
  });
});

/** Makes much of everything that is read in pages; gives the id of a decision. */
async function fill({ store, clock }: RunningService, shop: Tenant): Promise<string> {
  const numbers = Array.from({ length: MANY }, (_, index) => index);
  const all = (write: (index: number) => Promise<unknown>) => Promise.all(numbers.map(write));
  const link = { who: 'ann', action: 'list', platform: 'shop', subject: 'own', before: null, after: null };
  await all(() => store.auditLog.append({ at: clock.now(), entry: { ...link, reason: null }, payer: null }));
  const lines = numbers.map((index) => `${JSON.stringify({ value: `${index}`, reason: 'seen' })}\n`);
  await shop.ask('PUT', 'lists/walked', { kind: 'client' });
  await shop.ask('POST', 'lists/walked/entries', lines.join(''), { 'Content-Type': 'application/x-ndjson' });
  await all(async (index) => {
    const id = `session-${index}`;
    const who = { kind: 'key', keyId: 'none' };
    await store.documents.set('sessions', id, { id, who, endsAt: clock.now() + 3600_000 });
    await store.documents.set('session-uses', id, { at: clock.now() });
  });
  for (let from = 0; from < MANY; from += 100)
    await Promise.all(
      numbers.slice(from, from + 100).map(async (index) => {
        await shop.verdict({ clientIdKey: 'walked', orderRef: `order-${index}` });
        await shop.verdict({ clientIdKey: `payer-${index}`, orderRef: `other-${index}` });
      }),
    );
  const [newest] = await shop.decisions({ limit: '1' });
  return newest?.decisionId ?? '';
}
