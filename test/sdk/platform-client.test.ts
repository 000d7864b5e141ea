import { createServer, type Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import {
  type MadeListChange,
  NotFoundError,
  PlatformClient,
  type ReportedOutcome,
  ScoringClient,
} from '../../src/sdk/client.ts';
import { listening } from '../servers/listening.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { issueKey } from '../service/issued-key.ts';
import { type ServiceProcess, spawnService } from '../service/service-process.ts';

/** A service with a rollout in another process. */
describe('the platform client at a running service', () => {
  let service: ServiceProcess;
  let platform: PlatformClient;
  let operator: PlatformClient;
  let scoring: ScoringClient;
  before(async () => {
    const dataDir = temporaryDirectory();
    const accessKey = await issueKey({ dataDir });
    const operatorKey = await issueKey({ dataDir }, '*');
    service = await spawnService(dataDir);
    platform = new PlatformClient({ baseUrl: service.platformUrl, accessKey });
    operator = new PlatformClient({ baseUrl: service.platformUrl, accessKey: operatorKey });
    scoring = new ScoringClient({ baseUrl: service.callerUrl, accessKey });
  });
  after(() => service.stop());

  const ask = (clientIdKey: string, orderRef: string) =>
    scoring.verdict({ sellPointKey: 's', clientIdKey, method: 'card', amountRequested: '1.00', orderRef });

  /** Where a reader of events stopped. */
  function placeInMemory() {
    let place: string | null = null;
    const save = (next: string) => {
      place = next;
    };
    return { load: () => place, save };
  }

  it('reports an outcome, and many at once with a result each', async () => {
    expect(
      await platform.reportOutcome({ clientIdKey: 'a', orderRef: 'a-1', outcome: 'PAID' }),
    ).to.deep.equal({ clientIdKey: 'a', orderRef: 'a-1', result: 'recorded' });
    const reports = Array.from({ length: 2500 }, (_, n) => ({
      clientIdKey: n === 1200 ? '' : `client-${n % 50}`,
      orderRef: `order-${n}`,
      outcome: 'PAID' as const,
    }));
    const results: ReportedOutcome[] = [];
    for await (const result of platform.reportOutcomes(reports)) results.push(result);
    expect(results.map(({ report }) => report)).to.deep.equal(reports);
    expect(results.filter((one) => 'error' in one)).to.deep.equal([
      {
        report: reports[1200],
        error: 'malformed JSON body',
        code: 'malformed-body',
        detail: '/clientIdKey must not be empty.',
        errors: [{ pointer: '/clientIdKey', detail: 'must not be empty' }],
        retryable: false,
      },
    ]);
  });

  it('reads events page by page, and continues where it stopped', async () => {
    const kept = placeInMemory();
    const read = async (limit?: number) => {
      const seen: string[] = [];
      for await (const event of platform.events(kept, { follow: false, limit })) seen.push(event.id);
      return seen;
    };
    await ask('feed', 'feed-1');
    const first = await read(3);
    expect(first.length).to.be.greaterThan(0);
    expect(await read()).to.deep.equal([]);
    await ask('feed', 'feed-2');
    const [second, ...others] = await read();
    expect([others, first.includes(second ?? '')]).to.deep.equal([[], false]);
  });

  it('waits for new events, and reads unsaved ones again', async () => {
    const place = placeInMemory();
    for await (const _ of platform.events(place, { follow: false }));
    const following = platform.events(place);
    const coming = following.next();
    await ask('feed', 'feed-3');
    const { value } = await coming;
    expect(value && value.type === 'verdict' && value.data.decision.orderRef).to.equal('feed-3');
    await following.return();
    expect((await platform.events(place).next()).value).to.deep.equal(value);
  });

  it('binds and unbinds, blocks and unblocks, shows and erases a client whatever its name', async () => {
    const name = 'ann/ü %';
    await ask(name, 'o-1');
    await platform.bind(name, { requisiteRef: 'q-1', acceptorKeys: ['x'] });
    expect((await platform.setOverride(name, { group: 'BLOCKED', reason: 'r' })).group).to.equal('BLOCKED');
    const seen = await platform.client(name);
    expect(seen).to.include({ clientIdKey: name, clientGroup: 'BLOCKED' });
    expect(seen.binding?.requisiteRef).to.equal('q-1');
    await platform.unbind(name);
    await platform.liftOverride(name);
    expect(await platform.client(name)).to.include({ binding: null, override: null });
    await platform.eraseClient(name);
    const error = await platform.client(name).catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(NotFoundError);
  });

  it('shows the history, the links and all data of a client, whatever its name', async () => {
    const name = 'eve/ü %';
    await ask(name, 'o-1');
    await platform.reportOutcome({ clientIdKey: name, orderRef: 'o-1', outcome: 'PAID' });
    const all = await platform.clientHistory(name);
    expect([all.clientIdKey, all.complete]).to.deep.equal([name, true]);
    expect(all.entries.map(({ kind }) => kind)).to.deep.equal(['outcome', 'verdict']);
    const newest = await platform.clientHistory(name, { limit: 1 });
    expect([newest.entries, newest.complete]).to.deep.equal([all.entries.slice(0, 1), false]);
    const error = await platform.clientHistory('nobody').catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(NotFoundError);
    const links = await platform.clientLinks(name, { depth: 1, limit: 5 });
    const ties = links.clients.map((one) => `${one.clientIdKey} ${one.tie}`);
    expect([ties, links.complete]).to.deep.equal([[`${name} self`], true]);
    const { clientIdKey, decisions, audit, complete } = await platform.exportClient(name);
    const orders = decisions.map(({ orderRef }) => orderRef);
    expect([clientIdKey, orders, complete]).to.deep.equal([name, ['o-1'], true]);
    expect(audit.map(({ action, subject }) => [action, subject])).to.deep.equal([['client read', name]]);
  });

  it('finds and explains a decision', async () => {
    const { decisionId } = await ask('carl', 'disputed');
    const { decisions } = await platform.decisions({ orderRef: 'disputed', limit: 1 });
    const [found] = decisions;
    expect(found?.decisionId).to.equal(decisionId);
    const { lookedAt } = await platform.decisions({ verdict: 'BLOCK', rule: 'nobody-has-this' });
    expect(lookedAt).to.include({ complete: true });
    expect(await platform.decision(decisionId)).to.deep.equal(found);
    expect((await platform.explanation(decisionId)).reproduced).to.equal(true);
  });

  it('finds decisions page by page, with the outcomes of their orders', async () => {
    for (const orderRef of ['p-1', 'p-2', 'p-3']) await ask('pia', orderRef);
    await platform.reportOutcome({ clientIdKey: 'pia', orderRef: 'p-1', outcome: 'PAID' });
    const query = { clientIdKey: 'pia', limit: 2, include: 'outcomes' } as const;
    const first = await platform.decisions(query);
    const second = await platform.decisions({ ...query, after: first.next ?? 'none' });
    const orders = [first, second].map(({ decisions }) => decisions.map(({ orderRef }) => orderRef));
    expect(orders).to.deep.equal([['p-3', 'p-2'], ['p-1']]);
    expect([second.next, second.lookedAt.complete]).to.deep.equal([null, true]);
    expect(second.outcomes?.map(({ outcome }) => outcome)).to.deep.equal(['PAID']);
    const later = { from: new Date(Date.now() + 3_600_000), amountMin: '0.01' };
    expect((await platform.decisions(later)).decisions).to.deep.equal([]);
  });

  it('puts values on a shared list, pages through it, and removes them', async () => {
    const range = '203.0.113.0/24';
    expect(await platform.makeList('rings', 'ip')).to.include({ kind: 'ip', entries: 0 });
    const put = await platform.putListEntry('rings', range, { reason: 'a ring' });
    expect(put).to.deep.include({ value: range, reason: 'a ring', expiresAt: null, hasEnded: false });
    await platform.putListEntry('rings', '198.51.100.0/24', { reason: 'another' });
    const first = await platform.listEntries('rings', { limit: 1 });
    expect(first).to.deep.include({ list: 'rings', kind: 'ip', total: 2 });
    const second = await platform.listEntries('rings', { limit: 1, after: first.next ?? 'none' });
    expect(second.next).to.equal(null);
    const values = [first, second].flatMap(({ entries }) => entries.map(({ value }) => value));
    expect(values).to.deep.equal(['198.51.100.0/24', range]);
    const { lists, isStale } = await platform.lists();
    expect([isStale, lists.map(({ list }) => list)]).to.deep.equal([false, ['rings']]);
    await platform.removeListEntry('rings', range, { reason: 'cleared' });
    expect((await platform.listEntries('rings', { value: range })).entries).to.deep.equal([]);
    await platform.removeListEntry('rings', range);
    const misspelt = platform.putListEntry('ring', range, { reason: 'r' });
    const error = await misspelt.catch((refused: unknown) => refused);
    expect(error).to.be.instanceOf(NotFoundError).with.property('code', 'unknown-list');
  });

  it('changes a shared list by many lines with a result each', async () => {
    await platform.makeList('many', 'client');
    const changes = Array.from({ length: 1500 }, (_, n) => ({
      value: n === 1200 ? '' : `client-${n}`,
      reason: 'an import',
    }));
    const made: MadeListChange[] = [];
    for await (const one of platform.changeList('many', changes)) made.push(one);
    expect(made.map(({ change }) => change)).to.deep.equal(changes);
    expect(made.filter((one) => 'error' in one)).to.deep.equal([
      {
        change: changes[1200],
        error: 'malformed JSON body',
        code: 'malformed-body',
        detail: '/value must not be empty.',
        errors: [{ pointer: '/value', detail: 'must not be empty' }],
        retryable: false,
      },
    ]);
    expect((await platform.listEntries('many', { limit: 1 })).total).to.equal(1499);
    const ends: MadeListChange[] = [];
    const off = ['client-0', 'nobody'].map((value) => ({ value, remove: true }));
    for await (const one of platform.changeList('many', off)) ends.push(one);
    expect(ends).to.deep.equal([
      { change: off[0], result: 'removed' },
      { change: off[1], result: 'absent' },
    ]);
  });

  it('refuses a bad list name or page before anything is sent', async () => {
    const refused = await Promise.all([
      platform.listEntries('..').catch(String),
      platform.listEntries('rings', { limit: 0 }).catch(String),
      platform.putListEntry('rings', '', { reason: 'r' }).catch(String),
    ]);
    expect(refused).to.deep.equal([
      'InvalidArgumentError: list must not be "." or "..", which cannot stand in a path',
      'InvalidArgumentError: limit must be a whole number of at least 1',
      'InvalidArgumentError: value must not be empty',
    ]);
  });

  it('shows which version decides, and why a rollout is refused', async () => {
    const { rollout, nodes } = await platform.rulesStatus();
    expect(rollout?.active.version).to.equal('p2.v10');
    expect(nodes).to.equal(null);
    expect((await operator.rulesStatus()).nodes).to.have.length(1);
    const failure = (asked: Promise<unknown>) => asked.catch((error: unknown) => error);
    const active = { version: 'p2.v10', mode: 'active', reason: 'again' } as const;
    const denied = await failure(platform.rollBack({ reason: 'not mine' }));
    expect(denied).to.include({ name: 'NotProvisionedError', status: 403 });
    const refused = await failure(operator.rollOut(active));
    expect(refused).to.include({ name: 'RolloutRefusedError', status: 409 });
    const back = await failure(operator.rollBack({ reason: 'nothing to' }));
    expect(back).to.include({ name: 'RolloutRefusedError' });
    const late = await failure(operator.rollOut({ ...active, revision: 1000 }));
    expect(late).to.be.an('error').that.has.property('message').that.includes('by now, not at 1000');
  });
});

const ATTEMPT_MS = 200;

describe('a search of the client library', () => {
  let server: Server;
  let platform: PlatformClient;
  let asked: number;

  beforeEach(async () => {
    asked = 0;
    server = createServer(async (_, res) => {
      asked++;
      await sleep(3 * ATTEMPT_MS);
      res.writeHead(200, { 'Content-Type': 'application/json' }).end('{"found":true}');
    });
    const times = { attemptTimeoutMs: ATTEMPT_MS, timeoutMs: 2 * ATTEMPT_MS };
    platform = new PlatformClient({ baseUrl: await listening(server), accessKey: 'k', ...times });
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  const searches: Readonly<Record<string, () => Promise<unknown>>> = {
    'for decisions': () => platform.decisions(),
    'for a decision': () => platform.decision('a.1'),
    'for the explanation of a decision': () => platform.explanation('a.1'),
    'for what happened to a client': () => platform.clientHistory('ann'),
    'for the links of a client': () => platform.clientLinks('ann'),
  };

  for (const [what, search] of Object.entries(searches))
    it(`${what} is sent once, and has longer than other requests`, async () => {
      expect(await search()).to.deep.equal({ found: true });
      expect(asked).to.equal(1);
    });
});
