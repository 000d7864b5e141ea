import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import fc from 'fast-check';
import type { ClientKey } from '#decision/payer/client-key.ts';
import type { AuditLink, AuditLog, AuditNote } from '#state/audit-log.ts';
import { AUDIT_LOG_KEYS } from '#state/keys.ts';
import { RETENTION } from '#state/retention.ts';
import { openSqliteStore } from '#state/sqlite/store.ts';
import type { Store } from '#state/store.ts';
import { UnknownCursor } from '#state/store-errors.ts';
import { Audit } from '#workbench/access/audit.ts';
import { checkAuditChain } from '#workbench/access/audit-check.ts';
import { TEST_SALT } from '../decision/payer/client-keys.ts';
import { describeWithServer } from '../servers/needed-programs.ts';
import { command } from '../servers/redis-command.ts';
import { removeDirectory, temporaryDirectory } from '../servers/temporary-directory.ts';
import { emptyRedisUrl } from '../stores/empty-redis.ts';
import { openPatiently } from '../stores/temporary-store.ts';
import { newClient, T0 } from './clients.ts';

/** A store, and a way to change its data behind its back. */
interface Opened {
  readonly store: Store;
  /** Replaces all entries; the last number stays. */
  readonly put: (links: readonly AuditLink[], newest: number) => Promise<void>;
  readonly end: () => Promise<void>;
}

describe('the audit on SQLite', () => describeAudit(onSqlite));
describeWithServer('redis-server', 'the audit on Redis', () => describeAudit(onRedis));

function describeAudit(open: () => Promise<Opened>): void {
  let opened: Opened;
  let log: AuditLog;
  beforeEach(async () => {
    opened = await open();
    log = opened.store.auditLog;
  });
  afterEach(() => opened.end());

  const plain: AuditNote = { at: T0, entry: { what: 'ü' }, payer: null };
  const note = (more: Partial<AuditNote> = {}): AuditNote => ({ ...plain, ...more });
  const about = ({ hash, clientIdKey }: ClientKey) =>
    note({ payer: { clientHash: hash, detail: { subject: clientIdKey } } });
  const kept = async () => (await log.read(null, 10_000)).links;
  const faults = async (now = T0) => (await checkAuditChain(log, now)).faults;

  it('gives its entries in the order in which they were noted, from any place on', async () => {
    for (let index = 0; index < 8; index += 1) await log.append(note({ entry: index }));
    const first = await log.read(null, 5);
    expect(first.links.map(({ number }) => number)).to.deep.equal([1, 2, 3, 4, 5]);
    const rest = await log.read(first.cursor, 5);
    expect(rest.links.map(({ body }) => JSON.parse(body).entry)).to.deep.equal([5, 6, 7]);
    expect(await log.read(rest.cursor, 5)).to.deep.equal({ links: [], cursor: rest.cursor });
  });

  it('refuses a cursor that it never gave', async () => {
    for (const cursor of ['x', '1-', '-1', '1 OR 1']) {
      const error = await log.read(cursor, 1).catch((reason: unknown) => reason);
      expect(error, cursor).to.be.instanceOf(UnknownCursor);
    }
  });

  it('stays one chain when many write at once', async () => {
    await Promise.all(Array.from({ length: 40 }, (_, index) => log.append(note({ entry: index }))));
    expect(await kept()).to.have.length(40);
    expect(await faults()).to.deep.equal([]);
  });

  it("names every entry that is changed, dropped or swapped behind the service's back", async () => {
    const [erased, other] = [newClient(), newClient()];
    for (const one of [note(), about(erased), about(other), note({ entry: 'last' })]) await log.append(one);
    await log.forget(erased.hash, { at: T0, entry: 'erased' }, true);
    await log.append(about(other));
    const whole = await kept();
    expect(await faults()).to.deep.equal([]);
    const place = fc.nat(whole.length - 1);
    const tampered = fc.oneof(
      fc
        .tuple(place, fc.constantFrom('previous', 'hash', 'body', 'clientHash', 'text'), fc.nat())
        .map(([at, member, character]) =>
          whole.map((link, index) => (index === at ? flipped(link, member, character) : link)),
        ),
      place.map((at) => whole.filter((_, index) => index !== at)),
      fc.tuple(place, place).map(([a, b]) => swapped(whole, a, b)),
      place.map((at) => whole.map((link, index) => (index === at ? { ...link, payer: null } : link))),
    );
    await fc.assert(
      fc.asyncProperty(tampered, async (links) => {
        fc.pre(JSON.stringify(links) !== JSON.stringify(whole));
        await opened.put(links, whole.length);
        const kept = new Map(links.map((link) => [link.number, JSON.stringify(link)]));
        const changed = whole.filter((link) => kept.get(link.number) !== JSON.stringify(link));
        // A gap may be named by its beginning or by the entry after it.
        const near = changed.flatMap(({ number }) => [number, number + 1]);
        expect((await faults()).map(({ number }) => number)).to.include.oneOf(near);
      }),
      { numRuns: 150 },
    );
    await opened.put(whole, whole.length);
    expect(await faults()).to.deep.equal([]);
  }).timeout(60_000);

  it('can be read around an entry with any changed character, which is shown or named', async () => {
    const audit = new Audit(log, () => T0);
    const client = newClient();
    for (const who of ['key 1', 'key 2', 'key 3']) await audit.noteReading(who, client);
    const whole = await kept();
    const everything = { platform: null, who: null, action: null, from: null, to: null };
    const place = fc.nat(whole.length - 1);
    const member = fc.constantFrom('body', 'text');
    await fc.assert(
      fc.asyncProperty(place, member, fc.nat(), async (at, changed, character) => {
        const links = whole.map((link, index) => (index === at ? flipped(link, changed, character) : link));
        await opened.put(links, whole.length);
        const found = await audit.search(everything, null, 10);
        const numbers = [...found.entries, ...found.unreadable].map(({ number }) => number);
        expect(numbers).to.have.members(whole.map(({ number }) => number));
        expect(found.unreadable.every(({ number }) => number === whole[at]?.number)).to.equal(true);
        const page = await audit.read(null, 10);
        expect({ ...page, entries: page.entries.toReversed() }).to.deep.include({
          entries: found.entries,
          unreadable: found.unreadable,
        });
      }),
      { numRuns: 150 },
    );
  }).timeout(60_000);

  it('says what was changed', async () => {
    for (const one of [note(), note({ entry: 2 }), about(newClient()), note(), note()]) await log.append(one);
    const [first, second, third, fourth, fifth] = await kept();
    if (!first || !second || !third || !fourth || !fifth) throw new Error('five were noted');
    const whats = async (...links: readonly AuditLink[]) => {
      await opened.put(links, 5);
      return (await faults()).map(({ what }) => what);
    };
    expect(await whats(first, { ...second, body: fourth.body }, third, fourth, fifth)).to.deep.equal([
      'Entry 2 was changed.',
    ]);
    expect(await whats(first, second, fourth, fifth)).to.deep.equal(['Entry 3 is missing.']);
    expect(await whats(first, fourth, fifth)).to.deep.equal(['Entries 2 to 3 are missing.']);
    expect(await whats(second, third, fourth)).to.deep.equal(['Entry 1 is missing.', 'Entry 5 is missing.']);
    expect(await whats(first, second, { ...third, payer: null }, fourth, fifth)).to.deep.equal([
      'What entry 3 told of a payer is gone, and no erasure says so.',
    ]);
    const { faults: unknown } = await checkAuditChain(log, T0, { number: 4, hash: fifth.hash });
    expect(unknown[0]?.what).to.equal('Entry 4 is not the one that was known.');
  });

  it("keeps its chain when a payer is erased, without the payer's data", async () => {
    const [erased, other] = [newClient(), newClient()];
    for (const client of [erased, other, erased]) await log.append(about(client));
    await log.forget(erased.hash, { at: T0, entry: 'erased' }, true);
    const text = JSON.stringify(await kept());
    for (const trace of [erased.hash, erased.clientIdKey]) expect(text).not.to.include(trace);
    expect(text).to.include(other.clientIdKey);
    const { check, faults: found } = await checkAuditChain(log, T0);
    expect({ found, forgotten: check.forgotten }).to.deep.equal({ found: [], forgotten: 2 });
  });

  it('forgets by age alone, and keeps the newest of the old entries as the end of the chain', async () => {
    const day = 24 * 3600_000;
    for (let index = 0; index < 5; index += 1) await log.append(about(newClient()));
    const later = T0 + RETENTION.auditMs + day;
    await log.append(note({ at: later }));
    expect((await kept()).map(({ number, payer }) => `${number} ${payer}`)).to.deep.equal([
      '5 null',
      '6 null',
    ]);
    expect(await faults(later)).to.deep.equal([]);
    await opened.put((await kept()).slice(1), 6);
    expect((await faults(later)).map(({ what }) => what)).to.deep.equal(['Entries 1 to 5 are missing.']);
  });

  for (const [what, spoilt] of [
    ['cannot be read', () => '{'],
    ['says that it is of another time', (body: string) => body.replace(String(T0), String(T0 * 2))],
  ] as const)
    it(`forgets an entry that ${what} with the next sound one`, async () => {
      const spoil = async (bad: number, newest: number) => {
        const links = await kept();
        const changed = links.map((one) => (one.number === bad ? { ...one, body: spoilt(one.body) } : one));
        await opened.put(changed, newest);
      };
      const left = async () =>
        (await kept()).map(({ number, payer }) => (payer === null ? number : `${number} of a payer`));
      const age = RETENTION.auditMs + 1;
      for (let index = 0; index < 4; index += 1) await log.append(about(newClient()));
      await spoil(2, 4);
      await spoil(4, 4);
      await log.append(note({ at: T0 + age }));
      expect(await left()).to.deep.equal([3, '4 of a payer', 5]);
      await log.append(note({ at: T0 + 2 * age }));
      expect(await left()).to.deep.equal([5, 6]);
    });
}

type Text = 'previous' | 'hash' | 'body' | 'clientHash' | 'text';

/** The link with one other character, in what it tells of a payer for the last two. */
function flipped(link: AuditLink, member: Text, place: number): AuditLink {
  const { payer } = link;
  if (member !== 'clientHash' && member !== 'text')
    return { ...link, [member]: withOther(link[member], place) };
  return payer === null ? link : { ...link, payer: { ...payer, [member]: withOther(payer[member], place) } };
}

function withOther(text: string, place: number): string {
  const at = place % (text.length + 1);
  const other = text[at] === 'x' ? 'y' : 'x';
  return text.slice(0, at) + other + text.slice(at + 1);
}

function swapped(whole: readonly AuditLink[], a: number, b: number): readonly AuditLink[] {
  return whole.map((link, index) => {
    const from = whole[index === a ? b : index === b ? a : index];
    return { ...link, ...from, number: link.number };
  });
}

async function onSqlite(): Promise<Opened> {
  const directory = temporaryDirectory();
  const store = openSqliteStore(directory, { salt: TEST_SALT });
  return {
    store,
    put: async (links, newest) => {
      const db = new DatabaseSync(join(directory, 'scoring.sqlite'));
      db.exec("DELETE FROM log_records WHERE log = 'audit'; DELETE FROM log_parts WHERE log = 'audit'");
      for (const { number, previous, hash, body, payer } of links) {
        const text = JSON.stringify([previous, hash, body]);
        db.prepare("INSERT INTO log_records VALUES ('audit', ?, ?, ?, NULL)").run(
          String(number),
          number,
          text,
        );
        const part = payer && JSON.stringify([payer.clientHash, payer.text]);
        if (payer !== null)
          db.prepare("INSERT INTO log_parts VALUES ('audit', ?, ?, ?)").run(number, payer.clientHash, part);
      }
      db.prepare("UPDATE log_heads SET latest = ? WHERE log = 'audit'").run(newest);
      db.close();
    },
    end: async () => {
      await store.close();
      removeDirectory(directory);
    },
  };
}

async function onRedis(): Promise<Opened> {
  const url = await emptyRedisUrl();
  const store = await openPatiently(url);
  return {
    store,
    put: async (links, newest) => {
      const { records, numbers, parts, head } = AUDIT_LOG_KEYS;
      await command(url, ['DEL', records, numbers, parts]);
      for (const { number, previous, hash, body, payer } of links) {
        const name = String(number);
        await command(url, ['HSET', records, name, JSON.stringify([previous, hash, body])]);
        await command(url, ['ZADD', numbers, name, name]);
        const part = payer && JSON.stringify([payer.clientHash, payer.text]);
        if (part !== null) await command(url, ['HSET', parts, name, part]);
      }
      await command(url, ['HSET', head, 'latest', String(newest)]);
    },
    end: () => store.close(),
  };
}
