import { expect } from 'chai';
import fc from 'fast-check';
import { UNKNOWN_CLIENT_STATE } from '#decision/payer/client-state.ts';
import {
  addShownDeviceToPacked,
  countKnownDevices,
  excludeOldPackedDevices,
  findFirstShownAt,
  KNOWN_DEVICES_MAX,
  listRememberedDevices,
  moveKnownDevicesBack,
} from '#decision/payer/known-devices.ts';
import { encodeClientState } from '#decision/payer/state-document.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const NOW = Date.UTC(2026, 0, 15);

/** Ids like HMACs, which differ in their first characters. */
const ID = 'abcdefghijkl'.split('').map((letter) => `${letter}3fX_-deviceIdOfHmac`);

function shown(packed: string, id: string, now: number, formerId: string | null = null): string {
  return addShownDeviceToPacked(packed, { id, formerId }, now);
}

function count(packed: string, now: number): number {
  return countKnownDevices({ fingerprints: packed, ips: '' }, now).fingerprints;
}

interface Remembered {
  readonly id: string;
  readonly firstAt: number;
  readonly lastAt: number;
}

const dayOf = (at: number) => Math.floor(at / DAY_MS);

/** The same list without packing. */
function naivelyShown(devices: readonly Remembered[], id: string, now: number): readonly Remembered[] {
  const kept = devices.filter(({ lastAt }) => dayOf(now) - dayOf(lastAt) < 90);
  const known = kept.find((device) => device.id === id);
  const next = { id, firstAt: known?.firstAt ?? now, lastAt: now };
  return [...kept.filter((device) => device.id !== id), next].slice(-8);
}

describe('the known devices of a payer', () => {
  it('are the eight that were shown last, each with when it was first shown, to the minute', () => {
    const gapMs = fc.constantFrom(
      0,
      1,
      59_999,
      MINUTE_MS,
      DAY_MS - 1,
      DAY_MS,
      30 * DAY_MS,
      89 * DAY_MS,
      90 * DAY_MS,
      400 * DAY_MS,
    );
    const step = fc.record({ id: fc.constantFrom(...ID), gapMs });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        let [packed, naive, now]: [string, readonly Remembered[], number] = ['', [], NOW];
        for (const { id, gapMs: gap } of steps) {
          now += gap;
          packed = shown(packed, id, now);
          naive = naivelyShown(naive, id, now);
          expect(count(packed, now)).to.equal(naive.length);
          for (const any of ID) {
            const known = naive.find((device) => device.id === any);
            const firstMinute = known === undefined ? null : known.firstAt - (known.firstAt % MINUTE_MS);
            expect(findFirstShownAt(packed, any, now)).to.equal(firstMinute);
          }
        }
      }),
      { numRuns: 200 },
    );
  });

  it('take 9 characters each, so that eight fingerprints and eight addresses fit into 150 bytes', () => {
    let packed = '';
    for (const id of ID) packed = shown(packed, id, NOW);
    expect(packed).to.have.lengthOf(9 * KNOWN_DEVICES_MAX);
    // A member at the end, so that those before it stand in both texts.
    const blocked = { ...UNKNOWN_CLIENT_STATE, lastVerdictBlocked: true };
    expect(
      encodeClientState({ ...blocked, knownDevices: { fingerprints: packed, ips: packed } }).length -
        encodeClientState(blocked).length,
    ).to.be.at.most(150);
  });

  it('are forgotten on the 90th day of UTC after they were last shown, not before', () => {
    const packed = shown(shown('', 'aaaa', NOW), 'bbbb', NOW + DAY_MS);
    expect(excludeOldPackedDevices(packed, NOW + 90 * DAY_MS - 1)).to.equal(packed);
    expect(count(packed, NOW + 90 * DAY_MS)).to.equal(1);
    expect(excludeOldPackedDevices(packed, NOW + 91 * DAY_MS)).to.equal('');
  });

  it('are as old as under the secret before, when the secret of the HMACs is changed', () => {
    const before = shown('', 'oldid', NOW);
    const after = shown(before, 'newid', NOW + 5 * DAY_MS, 'oldid');
    expect(findFirstShownAt(after, 'newid', NOW + 5 * DAY_MS)).to.equal(NOW);
    expect(count(after, NOW + 5 * DAY_MS)).to.equal(1);
    expect(findFirstShownAt(shown(before, 'newid', NOW + 1), 'newid', NOW + 1)).to.equal(NOW);
  });

  it('keep 22 bits of an HMAC: two that differ there are two devices', () => {
    const packed = shown(shown('', 'AAAA', NOW), 'AAAE', NOW);
    expect(count(packed, NOW)).to.equal(2);
    expect(listRememberedDevices(packed, NOW)).to.deep.equal([
      { id: 'AAAA', firstShownAt: NOW, lastShownOn: '2026-01-15' },
      { id: 'AAAE', firstShownAt: NOW, lastShownOn: '2026-01-15' },
    ]);
  });

  it('are never of the future after a clock came back, and stay known', () => {
    const ago = fc.integer({ min: 0, max: 80 * DAY_MS });
    fc.assert(
      fc.property(
        fc.array(ago, { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 2001, max: 400 * DAY_MS }),
        (ages, aheadMs) => {
          const times = ages.toSorted((a, b) => b - a).map((age) => NOW - age);
          const packed = times.reduce((list, at, n) => shown(list, ID[n] ?? '', at), '');
          const to = NOW - aheadMs;
          const { fingerprints } = moveKnownDevicesBack({ fingerprints: packed, ips: '' }, NOW, to);
          const known = listRememberedDevices(fingerprints, to);
          expect(known).to.have.lengthOf(times.length);
          for (const [n, { firstShownAt: first, lastShownOn }] of known.entries()) {
            const at = times[n] ?? 0;
            expect(first).to.be.at.most(to);
            expect(Date.parse(lastShownOn)).to.be.at.most(to);
            if (at <= to) expect(first).to.equal(at - (at % MINUTE_MS));
          }
        },
      ),
    );
  });
});
