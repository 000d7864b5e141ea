import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { edited, swap } from '../../rule-fixtures/sound-rules.ts';
import { untilTaken } from '../../service/http-call.ts';
import { MovableClock } from '../../service/movable-clock.ts';
import { type RunningService, startService } from '../../service/running-service.ts';
import { Tenant } from '../../service/tenant.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';

/** The released rules, which also ask how often a device was used, and what was left unpaid there. */
const RULES = edited({
  'verdicts.yaml': swap(
    'No reason to hold the payer back.',
    'Asked {verdictsOnIp(10m)} and {verdictsOnFingerprint(24h)} times; {unpaidOrdersOnIp(1h)} unpaid.',
  ),
});

describeOnStores('requests on a device', (store) => {
  let first: RunningService;
  let second: RunningService;
  let shop: Tenant;
  let elsewhere: Tenant;
  let clock: MovableClock;
  before(async () => {
    clock = new MovableClock();
    first = await startService({ store: store(), clock, rules: RULES });
    second = await startService({ store: store(), clock, rules: RULES });
    shop = await first.tenant();
    elsewhere = new Tenant(second.application, shop.key);
  });
  after(async () => {
    await first?.stop();
    await second?.stop();
  });

  let addresses = 0;
  const newDevice = () => ({ fingerprint: randomUUID(), ip: `198.51.100.${++addresses}` });
  /** A client who shows the device in a score. */
  const clientOn = async (device: ReturnType<typeof newDevice>) => {
    const clientIdKey = randomUUID();
    await shop.score({ clientIdKey, ...device });
    return clientIdKey;
  };
  const factsOf = async (clientIdKey: string) => {
    await shop.verdict({ clientIdKey, orderRef: randomUUID() });
    const [{ facts } = { facts: {} }] = await shop.decisions({ clientIdKey });
    return facts;
  };

  it('count once each, however many nodes decide them at the same time and again', async () => {
    const device = newDevice();
    const contested = await clientOn(device);
    await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        untilTaken(() =>
          (index % 2 === 0 ? shop : elsewhere).verdict({ clientIdKey: contested, orderRef: `o-${index}` }),
        ),
      ),
    );
    const facts = await factsOf(await clientOn(device));
    expect(facts).to.include({ 'verdictsOnIp(10m)': 31, 'verdictsOnFingerprint(1d)': 31 });
  });

  it('do not count again where an Idempotency-Key repeats them, nor for a score', async () => {
    const device = newDevice();
    const clientIdKey = await clientOn(device);
    const repeated = { clientIdKey, orderRef: 'repeated' };
    for (let time = 0; time < 3; time++) await shop.verdict(repeated, { 'Idempotency-Key': clientIdKey });
    await shop.score({ clientIdKey, ...device, amountRequested: '99.00' });
    expect(await factsOf(clientIdKey)).to.include({ 'verdictsOnIp(10m)': 2 });
  });

  it('end with their window', async () => {
    const device = newDevice();
    const clientIdKey = await clientOn(device);
    for (let time = 0; time < 5; time++) await shop.verdict({ clientIdKey, orderRef: randomUUID() });
    clock.moveSeconds(20 * 60);
    expect(await factsOf(clientIdKey)).to.include({ 'verdictsOnIp(10m)': 1, 'verdictsOnFingerprint(1d)': 6 });
  });

  it('know what the payers there left unpaid when they asked last, until one is erased', async () => {
    const device = newDevice();
    const [debtor, other] = [await clientOn(device), await clientOn(device)];
    for (const orderRef of ['a', 'b', 'c']) await shop.outcome(debtor, orderRef, 'UNPAID');
    expect(await factsOf(other)).to.include({ 'unpaidOrdersOnIp(1h)': 0 });
    await factsOf(debtor);
    expect(await factsOf(other)).to.include({ 'unpaidOrdersOnIp(1h)': 3 });
    await shop.outcome(other, 'd', 'UNPAID');
    expect(await factsOf(other)).to.include({ 'unpaidOrdersOnIp(1h)': 4 });
    await shop.ask('DELETE', `client?clientIdKey=${debtor}`);
    expect(await factsOf(other)).to.include({ 'unpaidOrdersOnIp(1h)': 1 });
  });
});
