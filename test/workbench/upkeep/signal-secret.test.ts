import { expect } from 'chai';
import { DAY_MS } from '#base/duration.ts';
import { KNOWN_DEVICE_DAYS } from '#decision/payer/known-devices.ts';
import { RETENTION } from '#state/retention.ts';
import type { Store } from '#state/store.ts';
import { agreeOnSecret, SecretRefused } from '#workbench/upkeep/signal-secret.ts';
import { MovableClock } from '../../service/movable-clock.ts';
import { startService } from '../../service/running-service.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';

const FIRST = 'the first secret of these tests, long';
const SECOND = 'the second secret of these tests, long';
const THIRD = 'the third secret of these tests, long';

const NOW = 1_793_491_200_000;

describeOnStores('the secret of the HMACs', (store) => {
  const agree = (signalSecret: string, signalSecretPrevious: string | null = null, now = NOW) =>
    agreeOnSecret(store().registers, { signalSecret, signalSecretPrevious }, now);
  const refusal = (agreed: Promise<unknown>) => agreed.catch((error: unknown) => error);

  it('is that of the first node, and no node with another one starts', async () => {
    expect(await agree(FIRST)).to.equal(null);
    expect(await agree(FIRST)).to.equal(null);
    const refused = await refusal(agree(SECOND));
    expect(refused).to.be.instanceOf(SecretRefused);
    expect(String(refused)).to.equal(
      'SecretRefused: SIGNAL_SECRET is not the one with which the fingerprints and IPs of this store were hashed, so none of them would be recognised. Give every node the same SIGNAL_SECRET (a node without one makes its own, in the file signal-secret under DATA_DIR). To change it, set SIGNAL_SECRET_PREVIOUS to the one of before; if that is lost, run state forget-secret',
    );
    expect(await refusal(agree(SECOND, THIRD))).to.be.instanceOf(SecretRefused);
  });

  it('is not kept in the store, only a fingerprint of it', async () => {
    const noted = (await store().registers.read('signal-secret')) ?? '';
    expect(JSON.parse(noted)).to.have.all.keys('fingerprint', 'former', 'since');
    expect(noted).not.to.include(FIRST);
  });

  it('is changed by a node that has the former one, too, and both count while a payer knows devices', async () => {
    expect(await agree(SECOND, FIRST)).to.equal(FIRST);
    expect(await agree(SECOND, FIRST, NOW + RETENTION.sightingMs - 1)).to.equal(FIRST);
    expect(await agree(FIRST), 'a node that was not given the new one yet').to.equal(null);
    expect(await agree(SECOND), 'a node that was given the new one alone').to.equal(null);
    const later = NOW + RETENTION.sightingMs;
    expect(await agree(SECOND, FIRST, later)).to.equal(FIRST);
    const much = NOW + KNOWN_DEVICE_DAYS * DAY_MS;
    expect(await agree(SECOND, FIRST, much - 1)).to.equal(FIRST);
    expect(await agree(SECOND, FIRST, much)).to.equal(null);
    expect(await refusal(agree(FIRST, null, later))).to.be.instanceOf(SecretRefused);
  });

  it('is asked for again when its note cannot be read', async () => {
    const noted = await store().registers.read('signal-secret');
    await store().registers.compareAndSet('signal-secret', noted, '{"torn');
    expect(String(await refusal(agree(SECOND)))).to.equal(
      'SecretRefused: what the store holds as register/signal-secret cannot be read; "state forget-secret --reason TEXT" removes it, and the next node that starts notes its own secret',
    );
  });

  it('changes without losing who shares a device, or counting one device as two', async () => {
    const clock = new MovableClock();
    const before = await startService({ store: store(), clock, signalSecret: FIRST });
    const shop = await before.tenant('shop');
    const device = { fingerprint: 'one phone', ip: '203.0.113.7' };
    for (const clientIdKey of ['ann', 'bob', 'cem']) {
      await shop.score({ clientIdKey, ...device });
      await shop.verdict({ clientIdKey });
    }
    await before.stop();
    const blind = await factsOfNext(store(), clock, { signalSecret: SECOND }, 'blind', device);
    expect(blind['clientsOnFingerprint(1d)'], 'without the secret of before').to.equal(1);
    const secrets = { signalSecret: SECOND, signalSecretPrevious: FIRST };
    const seen = await factsOfNext(store(), clock, secrets, 'dan', device);
    expect(seen['clientsOnFingerprint(1d)']).to.equal(4);
    const same = await factsOfNext(store(), clock, secrets, 'ann', device);
    expect(same['clientsOnFingerprint(1d)']).to.equal(4);
    expect(same['distinctFingerprints(1h)']).to.equal(1);
    expect(same['distinctIps(1h)']).to.equal(1);
    const through = await factsOfNext(store(), clock, { signalSecret: SECOND }, 'eve', device);
    expect(through['clientsOnFingerprint(1d)'], 'of those that were seen since').to.equal(4);
  });
});

/** The facts of a client after a score and a verdict, on a node with these secrets. */
async function factsOfNext(
  store: Store,
  clock: MovableClock,
  secrets: { readonly signalSecret: string; readonly signalSecretPrevious?: string },
  clientIdKey: string,
  device: object,
): Promise<Readonly<Record<string, unknown>>> {
  const service = await startService({ store, clock, ...secrets });
  try {
    const shop = await service.tenant('shop');
    clock.moveSeconds(1);
    await shop.score({ clientIdKey, ...device });
    await shop.verdict({ clientIdKey });
    const [newest] = await shop.decisions({ clientIdKey });
    return newest?.facts ?? {};
  } finally {
    await service.stop();
  }
}
