import { expect } from 'chai';
import { serviceOfSuite } from '../../service/running-service.ts';

describe('an attempt that fails technically', () => {
  const { service, shop } = serviceOfSuite();

  const asks = async (clientIdKey: string, orderRef: string) => {
    const { body } = await shop.verdict({ clientIdKey, orderRef });
    return body.verdict === 'WAIT' ? `WAIT ${body.waitSeconds}` : body.verdict;
  };

  const fails = (clientIdKey: string, orderRef: string, cause = 'TECHNICAL') =>
    shop.ask('POST', 'outcomes', JSON.stringify({ clientIdKey, orderRef, outcome: 'UNPAID', cause }));

  it('leads to no wait, three times in a row, and then to the wait of any other', async () => {
    const answers: string[] = [];
    for (const order of ['a', 'b', 'c', 'd']) {
      answers.push(await asks('provider-away', order));
      await fails('provider-away', order);
      service.clock.moveSeconds(5);
    }
    answers.push(await asks('provider-away', 'e'));
    expect(answers).to.deep.equal(['GET_NEW', 'GET_NEW', 'GET_NEW', 'GET_NEW', 'WAIT 30']);
  });

  it('ends the wait that was imposed for it, and keeps the level', async () => {
    await asks('in-a-wait', 'a');
    expect(await asks('in-a-wait', 'a')).to.equal('WAIT 30');
    await fails('in-a-wait', 'a');
    expect(await asks('in-a-wait', 'b')).to.equal('GET_NEW');
    expect((await shop.client('in-a-wait')).body.ladder).to.deep.include({ level: 1, attemptOpen: true });
    expect(await asks('in-a-wait', 'b')).to.equal('WAIT 300');
  });

  it('says nothing of a newer attempt', async () => {
    await asks('newer', 'a');
    await fails('newer', 'a', 'EXPIRED');
    service.clock.moveSeconds(1);
    expect(await asks('newer', 'b')).to.equal('WAIT 30');
    service.clock.moveSeconds(31);
    expect(await asks('newer', 'b')).to.equal('GET_NEW');
    await fails('newer', 'a');
    expect(await asks('newer', 'c')).to.equal('WAIT 300');
  });

  it('stays excused when a cause is reported later', async () => {
    await asks('later-cause', 'a');
    await fails('later-cause', 'a');
    service.clock.moveSeconds(1);
    await fails('later-cause', 'a', 'DECLINED');
    expect(await asks('later-cause', 'b')).to.equal('GET_NEW');
  });
});
