import { expect } from 'chai';
import fc from 'fast-check';
import { DeviceSightingsInMemory } from '#decision/device-sightings.ts';
import {
  CLIENTS_ON_DEVICE_MAX,
  type DeviceSharingCounts,
  NOBODY_SEEN,
  SHARING_WINDOW_MS_MAX,
} from '#decision/facts/fact.ts';
import {
  NO_SIGHTING_MARKS,
  SIGHTING_MARKS,
  type SightingMark,
  type SightingMarks,
} from '#decision/payer/sighting-marks.ts';

const HOUR_MS = 3_600_000;
const asking = (...windowsMs: readonly number[]) => ({
  windowsMs,
  marks: SIGHTING_MARKS,
  verdictWindowsMs: windowsMs.filter((windowMs) => windowMs <= 24 * HOUR_MS),
  notes: { verdicts: true, unpaidOrders: true },
});
const QUESTIONS = { fingerprint: asking(HOUR_MS, 24 * HOUR_MS), ip: asking(SHARING_WINDOW_MS_MAX) };

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

interface NotedSight {
  readonly client: string;
  readonly device: string;
  readonly at: number;
  readonly marks: SightingMarks;
}

/** Every client's last sighting on each device, looked through anew for each count. */
class NotedSights {
  #seen: readonly NotedSight[] = [];

  note(sight: NotedSight): void {
    const isSame = ({ client, device }: NotedSight) => client === sight.client && device === sight.device;
    this.#seen = [...this.#seen.filter((other) => !isSame(other)), sight];
  }

  notePayment(client: string, since: number, isUnpaid: boolean): void {
    this.#seen = this.#seen.map((seen) => {
      if (seen.client !== client || seen.at <= since) return seen;
      return { ...seen, marks: { ...seen.marks, paying: true, unpaid: seen.marks.unpaid && isUnpaid } };
    });
  }

  counts(device: string, since: number): DeviceSharingCounts {
    return countsWithOneMore(this.#seen.filter((seen) => seen.device === device && seen.at > since));
  }
}

/** The counts that a client without marks sees who comes to these. */
function countsWithOneMore(seen: readonly NotedSight[]): DeviceSharingCounts {
  const having = (mark: SightingMark) => seen.reduce((sum, { marks }) => sum + Number(marks[mark]), 0);
  return {
    clients: seen.length + 1,
    verdicts: 0,
    unpaidOrders: having('unpaidOrders'),
    paying: having('paying'),
    unpaid: having('unpaid'),
    blocked: having('blocked'),
  };
}

describe('the device book', () => {
  it('counts the clients of a device in each window like a count over all sightings', () => {
    fc.assert(
      fc.property(fc.array(sight, { maxLength: 40 }), (sights) => {
        const book = new DeviceSightingsInMemory();
        const seen: (Sight & { readonly at: number })[] = [];
        let now = Date.UTC(2026, 0, 1);
        for (const one of sights) {
          now += one.afterMs;
          seen.push({ ...one, at: now });
          const shown = { fingerprints: [one.device], ips: [one.device] };
          book.recordDevices(one.client, shown, now);
          const { fingerprint, ip } = book.countClientsOnDevices(one.client, shown, QUESTIONS, now);
          for (const [windowMs, { clients }] of [...fingerprint, ...ip])
            expect(clients).to.equal(counted(seen, windowMs));
        }
      }),
    );
  });

  it('counts the clients with each mark like a count over all sightings and payments', () => {
    const marks = fc.record({
      paying: fc.boolean(),
      unpaid: fc.boolean(),
      blocked: fc.boolean(),
      unpaidOrders: fc.nat(31),
    });
    const step = fc.tuple(sight, marks, fc.constantFrom('seen', 'seen', 'paid'), fc.boolean());
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const book = new DeviceSightingsInMemory();
        const noted = new NotedSights();
        let now = Date.UTC(2026, 0, 1);
        for (const [{ client, device, afterMs }, marks, kind, isUnpaid] of steps) {
          now += afterMs;
          const shown = { fingerprints: [device], ips: [] };
          const since = now - 24 * HOUR_MS;
          if (kind === 'seen') {
            book.recordDevices(client, shown, now, marks);
            noted.note({ client, device, at: now, marks });
          } else {
            book.notePayment(client, since, isUnpaid);
            noted.notePayment(client, since, isUnpaid);
          }
          const { fingerprint } = book.countClientsOnDevices('eve', shown, QUESTIONS, now);
          for (const [windowMs, counts] of fingerprint)
            expect({ ...counts, verdicts: 0 }).to.deep.equal(noted.counts(device, now - windowMs));
        }
      }),
    );
  });

  it('gives all counts of one device: the most shared, and of equals that with fewer who pay', () => {
    const book = new DeviceSightingsInMemory();
    const paying = { ...NO_SIGHTING_MARKS, paying: true };
    for (const client of ['bob', 'cid'])
      book.recordDevices(client, { fingerprints: ['x'], ips: [] }, 1000, paying);
    for (const client of ['dan', 'eve']) book.recordDevices(client, { fingerprints: ['y'], ips: [] }, 1000);
    const shown = (...fingerprints: readonly string[]) => ({ fingerprints, ips: [] });
    const counts = (...ids: readonly string[]) =>
      book.countClientsOnDevices('ann', shown(...ids), QUESTIONS, 1000).fingerprint.get(HOUR_MS);
    expect(counts('x', 'y')).to.deep.equal({ ...NOBODY_SEEN, clients: 3, verdicts: 3, paying: 0 });
    expect(counts('y', 'x')).to.deep.equal({ ...NOBODY_SEEN, clients: 3, verdicts: 3, paying: 0 });
    book.recordDevices('fay', shown('x'), 1000);
    expect(counts('y', 'x')).to.deep.equal({ ...NOBODY_SEEN, clients: 4, verdicts: 4, paying: 2 });
  });

  it('counts the most shared one of several devices', () => {
    const book = new DeviceSightingsInMemory();
    for (const client of ['bob', 'cid']) book.recordDevices(client, { fingerprints: ['y'], ips: [] }, 1000);
    const shown = { fingerprints: ['x', 'y'], ips: [] };
    book.recordDevices('ann', shown, 1000);
    const { fingerprint, ip } = book.countClientsOnDevices('ann', shown, QUESTIONS, 1000);
    expect([fingerprint.get(HOUR_MS)?.clients, ip.size]).to.deep.equal([3, 0]);
  });

  it('counts the verdicts on a device in steps, as the stores do', () => {
    const book = new DeviceSightingsInMemory();
    const shown = { fingerprints: ['x'], ips: [] };
    const minute = 60_000;
    for (const at of [0, 1, 9, 10, 70, 75])
      book.recordDevices('ann', shown, at * minute, NO_SIGHTING_MARKS, QUESTIONS);
    book.recordDevices('bob', shown, 75 * minute);
    const verdicts = (windowMs: number, at: number) => {
      const questions = { fingerprint: asking(windowMs), ip: asking() };
      return book.countClientsOnDevices('ann', shown, questions, at * minute).fingerprint.get(windowMs)
        ?.verdicts;
    };
    expect(verdicts(10 * minute, 79)).to.equal(2);
    expect(verdicts(60 * minute, 79)).to.equal(3);
    expect(verdicts(3 * HOUR_MS, 79)).to.equal(6);
    expect(verdicts(24 * HOUR_MS, 24 * 60 + 60)).to.equal(2);
  });

  it('remembers only the newest clients of a device', () => {
    const book = new DeviceSightingsInMemory();
    const shown = { fingerprints: ['x'], ips: [] };
    for (let number = 0; number < CLIENTS_ON_DEVICE_MAX + 5; number++)
      book.recordDevices(`payer-${number}`, shown, number);
    const { fingerprint } = book.countClientsOnDevices('ann', shown, QUESTIONS, CLIENTS_ON_DEVICE_MAX + 5);
    expect(fingerprint.get(HOUR_MS)?.clients).to.equal(CLIENTS_ON_DEVICE_MAX);
  });

  it('forgets who was last seen before the longest window, as the stores do', () => {
    const book = new DeviceSightingsInMemory();
    const shown = { fingerprints: ['x'], ips: [] };
    for (const [client, at] of [
      ['ann', 1],
      ['bob', 2],
      ['cid', 1 + SHARING_WINDOW_MS_MAX],
    ] as const)
      book.recordDevices(client, shown, at);
    const everMs = { fingerprint: asking(Number.MAX_SAFE_INTEGER), ip: asking() };
    const { fingerprint } = book.countClientsOnDevices('dan', shown, everMs, SHARING_WINDOW_MS_MAX);
    expect([...fingerprint.values()].map(({ clients }) => clients)).to.deep.equal([3]);
  });
});
