import { expect } from 'chai';
import { NotFoundError, PlatformClient, type ReportedOutcome, ScoringClient } from '../../src/sdk/client.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { issueKey } from '../service/issued-key.ts';
import { type ServiceProcess, spawnService } from '../service/service-process.ts';

/** A service with a rollout, in a process of its own. */
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

  it('reports an outcome, and many at once with a result each', async () => {
    expect(
      await platform.reportOutcome({ clientIdKey: 'a', orderRef: 'a-1', outcome: 'PAID' }),
    ).to.deep.equal({
      clientIdKey: 'a',
      orderRef: 'a-1',
      result: 'recorded',
    });
    const reports = Array.from({ length: 2500 }, (_, n) => ({
      clientIdKey: n === 1200 ? '' : `client-${n % 50}`,
      orderRef: `order-${n}`,
      outcome: 'PAID' as const,
    }));
    const results: ReportedOutcome[] = [];
    for await (const result of platform.reportOutcomes(reports)) results.push(result);
    expect(results.map(({ report }) => report)).to.deep.equal(reports);
    expect(results.filter((one) => 'error' in one)).to.deep.equal([
      { report: reports[1200], error: 'malformed JSON body', detail: '/clientIdKey must not be empty.' },
    ]);
  });

  it('binds and unbinds, blocks and lets go, shows and forgets a client whatever its name', async () => {
    const name = 'ann/ü %';
    await ask(name, 'o-1');
    await platform.bind(name, { requisiteRef: 'q-1', acceptorKeys: ['x'] });
    const override = await platform.setOverride(name, { group: 'BLOCKED', reason: 'r', by: 'b' });
    expect(override.group).to.equal('BLOCKED');
    const seen = await platform.client(name);
    expect(seen.clientIdKey).to.equal(name);
    expect(seen.binding?.requisiteRef).to.equal('q-1');
    expect(seen.clientGroup).to.equal('BLOCKED');
    await platform.unbind(name);
    await platform.liftOverride(name);
    expect(await platform.client(name)).to.include({ binding: null, override: null });
    await platform.eraseClient(name);
    const error = await platform.client(name).catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(NotFoundError);
  });

  it('tells what happened to a client, whatever its name', async () => {
    const name = 'eve/ü %';
    await ask(name, 'o-1');
    await platform.reportOutcome({ clientIdKey: name, orderRef: 'o-1', outcome: 'PAID' });
    const all = await platform.clientHistory(name);
    expect(all.clientIdKey).to.equal(name);
    expect(all.entries.map(({ kind }) => kind)).to.deep.equal(['outcome', 'verdict']);
    expect(all.complete).to.equal(true);
    const newest = await platform.clientHistory(name, { limit: 1 });
    expect(newest.entries).to.deep.equal(all.entries.slice(0, 1));
    expect(newest.complete).to.equal(false);
    const error = await platform.clientHistory('nobody').catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(NotFoundError);
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

  it('tells which version decides, and why a rollout is refused', async () => {
    const { rollout, nodes } = await platform.rulesStatus();
    expect(rollout?.active.version).to.equal('p2.v10');
    expect(nodes).to.equal(null);
    expect((await operator.rulesStatus()).nodes).to.have.length(1);
    const denied = await platform.rollBack({ reason: 'not mine' }).catch((error: unknown) => error);
    expect(denied).to.include({ name: 'NotProvisionedError', status: 403 });
    const refused = await operator
      .rollOut({ version: 'p2.v10', mode: 'active', reason: 'again' })
      .catch((error: unknown) => error);
    expect(refused).to.include({ name: 'RolloutRefusedError', status: 409 });
    const back = await operator.rollBack({ reason: 'nothing to' }).catch((error: unknown) => error);
    expect(back).to.include({ name: 'RolloutRefusedError' });
  });
});
