import { expect } from 'chai';
import fc from 'fast-check';
import { DeviceBook } from '../../src/authoring/simulation.ts';
import { CLIENTS_ON_DEVICE_MAX, SHARING_WINDOW_MS_MAX } from '../../src/facts/fact.ts';

const HOUR_MS = 3_600_000;
const WINDOWS = { fingerprint: [HOUR_MS, 24 * HOUR_MS], ip: [SHARING_WINDOW_MS_MAX] };

interface Sight {
  readonly client: string;
  readonly device: string;
  readonly afterMs: number;
}

const sight = fc.record({
  client: fc.constantFrom('ann', 'bob', 'cid', 'dan'),
  device: fc.constantFrom('x', 'y'),
  afterMs: fc.constantFrom(0, 1, HOUR_MS - 1, HOUR_MS, 24 * HOUR_MS, SHARING_WINDOW_MS_MAX),
});

/** Counts all clients anew each time. */
function counted(seen: readonly (Sight & { readonly at: number })[], windowMs: number): number {
  const { at: now = 0, device } = seen.at(-1) ?? {};
  const within = seen.filter((other) => other.device === device && other.at > now - windowMs);
  return new Set(within.map(({ client }) => client)).size;
}

describe('the device book', () => {
  it('counts the clients of a device in each window like a count over all sightings', () => {
    fc.assert(
      fc.property(fc.array(sight, { maxLength: 40 }), (sights) => {
        const book = new DeviceBook();
        const seen: (Sight & { readonly at: number })[] = [];
        let now = Date.UTC(2026, 0, 1);
        for (const one of sights) {
          now += one.afterMs;
          seen.push({ ...one, at: now });
          const shown = { fingerprints: [one.device], ips: [one.device] };
          book.record(one.client, shown, now);
          const { fingerprint, ip } = book.sightings(one.client, shown, WINDOWS, now);
          for (const [windowMs, clients] of [...fingerprint, ...ip])
            expect(clients).to.equal(counted(seen, windowMs));
        }
      }),
    );
  });

  it('counts the most shared one of several devices', () => {
    const book = new DeviceBook();
    for (const client of ['bob', 'cid']) book.record(client, { fingerprints: ['y'], ips: [] }, 1000);
    const shown = { fingerprints: ['x', 'y'], ips: [] };
    book.record('ann', shown, 1000);
    const { fingerprint, ip } = book.sightings('ann', shown, WINDOWS, 1000);
    expect([fingerprint.get(HOUR_MS), ip.size]).to.deep.equal([3, 0]);
  });

  it('remembers only the newest clients of a device', () => {
    const book = new DeviceBook();
    const shown = { fingerprints: ['x'], ips: [] };
    for (let number = 0; number < CLIENTS_ON_DEVICE_MAX + 5; number++)
      book.record(`payer-${number}`, shown, number);
    const { fingerprint } = book.sightings('ann', shown, WINDOWS, CLIENTS_ON_DEVICE_MAX + 5);
    expect(fingerprint.get(HOUR_MS)).to.equal(CLIENTS_ON_DEVICE_MAX);
  });

  it('forgets who was last seen before the longest window, as the stores do', () => {
    const book = new DeviceBook();
    const shown = { fingerprints: ['x'], ips: [] };
    for (const [client, at] of [
      ['ann', 1],
      ['bob', 2],
      ['cid', 1 + SHARING_WINDOW_MS_MAX],
    ] as const)
      book.record(client, shown, at);
    const everMs = { fingerprint: [Number.MAX_SAFE_INTEGER], ip: [] };
    const { fingerprint } = book.sightings('dan', shown, everMs, SHARING_WINDOW_MS_MAX);
    expect([...fingerprint.values()]).to.deep.equal([3]);
  });
});
