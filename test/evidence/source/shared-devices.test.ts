import { expect } from 'chai';
import { type AskedInput, inputsOf } from '../../../src/evidence/backtest/input.ts';
import { type EvidencePlace, withEvidence } from '../../../src/evidence/source/evidence.ts';
import {
  countSharedDevices,
  makeInputView,
  sharingWindowsOf,
} from '../../../src/evidence/source/shared-devices.ts';
import type { Store } from '../../../src/state/store.ts';
import { currentRules } from '../../service/current-rules.ts';
import { History } from '../backtest/backtest-history.ts';
import { all, type LivedEvidence, livedEvidence } from './lived-evidence.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Bob, Cid and Dan come from one address, Dan with a device of his own, Eve shows nothing; Bob comes back after two hours, and after three days. */
async function live(store: Store): Promise<void> {
  const history = new History(store);
  const ask = async (client: string, order: string, device?: string) => {
    if (device !== undefined) await history.score(client, device);
    history.now += 1000;
    await history.verdict(client, order);
    history.now += 1000;
  };
  await ask('bob', 'bob-1', 'shared');
  await ask('cid', 'cid-1', 'shared');
  await ask('dan', 'dan-1', 'own');
  await ask('eve', 'eve-1');
  history.now += 2 * HOUR_MS;
  await ask('bob', 'bob-2', 'shared');
  history.now += 3 * DAY_MS;
  await ask('bob', 'bob-3', 'shared');
}

describe('the number of clients on a device', () => {
  let lived: LivedEvidence;
  const rules = currentRules();
  before(async () => {
    lived = await livedEvidence(live);
  });

  function verdictsIn(place: EvidencePlace): Promise<readonly AskedInput[]> {
    return withEvidence(all(place), async (evidence) => {
      await makeInputView(evidence, [rules]);
      const inputs = (await Array.fromAsync(inputsOf(evidence.duck))).flat();
      return inputs.filter((input) => input.kind === 'verdict');
    });
  }

  const places: readonly (keyof LivedEvidence)[] = ['archive', 'journal'];
  for (const place of places) {
    it(`comes with each request of the ${place}, for each window, where there were several`, async () => {
      const seen = (await verdictsIn(lived[place])).map(({ orderRef, sightings: { fingerprint, ip } }) => [
        orderRef,
        fingerprint.get(DAY_MS) ?? null,
        ip.get(HOUR_MS) ?? null,
        ip.get(DAY_MS) ?? null,
      ]);
      expect(seen.toSorted()).to.deep.equal([
        ['bob-1', null, null, null],
        ['bob-2', 2, null, 3],
        ['bob-3', null, null, null],
        ['cid-1', 2, 2, 2],
        ['dan-1', null, 3, 3],
        ['eve-1', null, null, null],
      ]);
    });
  }

  it('is counted once for rule sets that ask about the same windows, and anew for others', () =>
    withEvidence(all(lived.archive), async (evidence) => {
      await makeInputView(evidence, [rules]);
      const { duck } = evidence;
      const windows = sharingWindowsOf([rules, rules]);
      await duck.run('DELETE FROM shared_devices');
      const rows = async () => (await duck.rows('SELECT * FROM shared_devices')).length;
      await countSharedDevices(duck, windows);
      expect(await rows()).to.equal(0);
      await countSharedDevices(duck, { ...windows, ip: [5 * DAY_MS] });
      expect(await rows()).to.equal(4);
    }));
});
