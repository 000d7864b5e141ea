import { expect } from 'chai';
import fc from 'fast-check';
import { NO_SIGHTING_MARKS, SIGHTING_MARKS } from '#decision/payer/sighting-marks.ts';
import type { Store } from '#state/store.ts';
import { StoredClients } from '../simulation/stored-clients.ts';
import { askFor, MINUTE_MS, newClient, newPlatform, T0 } from './clients.ts';

const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** All that can be asked of a device over some windows. */
export function everythingOver(windowsMs: readonly number[]) {
  const question = {
    windowsMs,
    marks: SIGHTING_MARKS,
    verdictWindowsMs: windowsMs.filter((windowMs) => windowMs <= DAY_MS),
    notes: { verdicts: true, unpaidOrders: true },
  };
  return { fingerprint: question, ip: question };
}

const WINDOWS_MS = [10 * MINUTE_MS, HOUR_MS, 3 * HOUR_MS, DAY_MS, 7 * DAY_MS];

const sight = fc.record({
  client: fc.nat(5),
  afterMs: fc.constantFrom(0, 1, MINUTE_MS, 10 * MINUTE_MS, HOUR_MS - 1, HOUR_MS, 5 * HOUR_MS, DAY_MS),
  marks: fc.record({
    paying: fc.boolean(),
    unpaid: fc.boolean(),
    blocked: fc.boolean(),
    unpaidOrders: fc.oneof(fc.constant(0), fc.nat(31)),
  }),
  recording: fc.constantFrom('first', 'first', 'first', 'again', 'no'),
  windowsMs: fc.uniqueArray(fc.constantFrom(...WINDOWS_MS), { minLength: 1 }),
});

/** What both stores say of a device, held against the plain one that simulations use. */
export function describeSightingLaw(store: () => Store): void {
  it('count over any windows what a count of all sightings, one by one, gives', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(sight, { minLength: 5, maxLength: 40 }), async (sights) => {
        const platform = newPlatform();
        const clients = Array.from({ length: 6 }, () => newClient(platform));
        const plain = new StoredClients();
        let at = T0;
        for (const { client, afterMs, marks, recording, windowsMs } of sights) {
          at += afterMs;
          const ask = askFor(clients[client] ?? expect.fail('no client'), {
            ...{ at, fingerprint: 'd', ip: 'd', marks, sharing: everythingOver(windowsMs) },
            record: recording !== 'no',
            isRepeated: recording === 'again',
          });
          const expected = plain.sightings(ask);
          expect(await store().sightings(ask)).to.deep.equal(expected);
        }
      }),
      { numRuns: 30 },
    );
  });

  it('count no verdicts of a clock that was ahead by more than the steps reach', async () => {
    const client = newClient();
    const noteAt = (at: number) =>
      store().sightings(
        askFor(client, {
          ...{ at, fingerprint: 'd', ip: 'd', record: true, marks: NO_SIGHTING_MARKS },
          sharing: everythingOver([HOUR_MS, DAY_MS]),
        }),
      );
    for (let time = 0; time < 3; time++) await noteAt(T0 + 30 * DAY_MS);
    await noteAt(T0);
    const { ip } = await noteAt(T0);
    expect([...ip.values()].map(({ verdicts }) => verdicts)).to.deep.equal([2, 2]);
  });
}
