import { expect } from 'chai';
import { serviceOfSuite } from '../../../service/running-service.ts';
import { describeOnStores } from '../../../stores/describe-on-stores.ts';

describeOnStores('ending a wait', (store) => {
  const { service, shop } = serviceOfSuite(() => ({ store: store() }));

  async function verdict(clientIdKey: string) {
    const { body, headers } = await shop.verdict({ clientIdKey, orderRef: `${clientIdKey}-1` });
    return { ...body, decisionId: headers.get('x-decision-id') ?? '' };
  }

  /** Has a client wait, and gives the decision that imposed it. */
  async function waits(clientIdKey: string): Promise<string> {
    await verdict(clientIdKey);
    const { verdict: answer, decisionId } = await verdict(clientIdKey);
    expect(answer).to.equal('WAIT');
    return decisionId;
  }

  async function end(clientIdKey: string, decisionId: string) {
    const body = { decisionId, reason: 'the payer called' };
    const path = `client/wait/end?clientIdKey=${encodeURIComponent(clientIdKey)}`;
    const answer = await shop.ask<{ ended?: boolean; code?: string; detail?: string }>('POST', path, body);
    return { status: answer.status, told: answer.body.ended ?? answer.body.code, detail: answer.body.detail };
  }

  it('lets the payer ask again at once, and keeps the level for the next wait', async () => {
    const decisionId = await waits('called');
    service.clock.moveSeconds(1);
    expect(await end('called', decisionId)).to.include({ status: 200, told: true });
    const { body } = await shop.client('called');
    expect(body.ladder).to.include({ level: 1, attemptOpen: false });
    expect((await verdict('called')).verdict).to.equal('GET_NEW');
    expect(await verdict('called')).to.include({ verdict: 'WAIT', waitSeconds: 300 });
  });

  it('says of a repeat that nothing was ended, also after the payer went on', async () => {
    const decisionId = await waits('twice');
    await end('twice', decisionId);
    expect(await end('twice', decisionId)).to.include({ status: 200, told: false });
    await verdict('twice');
    expect(await end('twice', decisionId)).to.include({ status: 200, told: false });
  });

  it('refuses a wait that a newer one replaced, and names that', async () => {
    const older = await waits('newer');
    const { decisionId: newer } = await verdict('newer');
    const { detail, ...refused } = await end('newer', older);
    expect(refused).to.deep.equal({ status: 409, told: 'newer-wait' });
    expect(detail).to.equal(
      `The current wait was imposed by the decision ${newer}. Nothing was changed; look at what happened since, and send the id of that decision.`,
    );
    expect((await verdict('newer')).verdict).to.equal('WAIT');
  });

  it('refuses a wait that is over, a decision that is no wait, and one about somebody else', async () => {
    const decisionId = await waits('over');
    expect(await end('somebody-else', decisionId)).to.include({ status: 404, told: 'unknown-decision' });
    service.clock.moveSeconds(31);
    expect(await end('over', decisionId)).to.include({ status: 409, told: 'no-wait-due' });
    const { decisionId: granted } = await verdict('over');
    expect(await end('over', granted)).to.include({ status: 409, told: 'no-wait-due' });
  });

  it('ends a wait that a clock imposed which was ahead and came back', async () => {
    service.clock.moveSeconds(3600);
    const older = await waits('ahead');
    const { decisionId: newer } = await verdict('ahead');
    service.clock.moveSeconds(-3590);
    expect((await end('ahead', older)).detail).to.contain(`was imposed by the decision ${newer}.`);
    expect(await end('ahead', newer)).to.include({ status: 200, told: true });
    expect((await verdict('ahead')).verdict).to.equal('GET_NEW');
  });

  it('leaves a block as it is', async () => {
    const decisionId = await waits('blocked');
    await shop.override('blocked', 'BLOCKED');
    expect(await end('blocked', decisionId)).to.include({ status: 200, told: true });
    expect((await verdict('blocked')).verdict).to.equal('BLOCK');
  });

  it('stands in the history, the feed and the audit, with who did it and why', async () => {
    const decisionId = await waits('told');
    await end('told', decisionId);
    const ended = { kind: 'waitEnded', decisionId, reason: 'the payer called' };
    type Told = { readonly entries: readonly object[] };
    const { entries } = (await shop.ask<Told>('GET', 'client/history?clientIdKey=told')).body;
    expect(entries[0]).to.include(ended);
    const feed = await shop.ask<{ events: readonly { type: string; data: object }[] }>(
      'GET',
      'events?limit=500',
    );
    const event = feed.body.events.findLast(({ type }) => type === 'waitEnded');
    expect(event?.data).to.include({ ...ended, clientIdKey: 'told' });
    const audit = await shop.ask<Told>('GET', 'audit?action=wait%20ended');
    expect(audit.body.entries[0]).to.include({ subject: 'told', reason: 'the payer called' });
  });

  it('is refused the fourth time for a payer within 24 hours', async () => {
    for (const _ of ['first', 'second', 'third']) {
      expect(await end('often', await waits('often'))).to.include({ told: true });
      await verdict('often');
    }
    const { decisionId } = await verdict('often');
    expect(await end('often', decisionId)).to.include({ status: 429, told: 'too-many-waits-ended' });
    const metrics = await (await fetch(`${shop.platformUrl}/metrics`)).text();
    expect(metrics).to.contain('scoring_too_many_waits_ended_timestamp_seconds{who="key ');
  });

  it('is refused the 31st time for a person within 24 hours, whoever the payers are', async () => {
    service.clock.moveSeconds(24 * 3600);
    for (let payer = 1; payer <= 30; payer++)
      expect(await end(`payer-${payer}`, await waits(`payer-${payer}`))).to.include({ told: true });
    const decisionId = await waits('payer-31');
    const { detail, ...refused } = await end('payer-31', decisionId);
    expect(refused).to.deep.equal({ status: 429, told: 'too-many-waits-ended' });
    expect(detail).to.equal(
      'You ended 30 waits in the last 24 hours, which is the limit for one person; nothing was changed. The payer waits until the wait is over.',
    );
  });
});
