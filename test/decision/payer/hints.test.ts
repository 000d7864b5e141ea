import { expect } from 'chai';
import fc from 'fast-check';
import { UNKNOWN_CLIENT_STATE } from '#decision/payer/client-state.ts';
import {
  ASKED_SCORES_MAX,
  addScoreHints,
  getHintsOfAskedScore,
  getKnownHints,
  HINTS_VALID_MS,
  type Hints,
  type KnownHints,
  rememberScore,
  removeExpiredHints,
  type ScoreHints,
} from '#decision/payer/hints.ts';
import { roundTripState } from '#decision/payer/state-document.ts';

const NOW = 1_800_000_000_000;
const HOUR_MS = 3_600_000;

const NOTHING: ScoreHints = {
  fingerprint: null,
  ip: null,
  jsOk: null,
  honeypotTriggered: false,
  userAgentPresent: false,
  userAgentIsAutomated: false,
  userAgentIsApp: false,
};

const asking = (request: string, fingerprints = 0) => ({
  request,
  changes: 0,
  devices: { fingerprints, ips: 0 },
});

/** Different scores, a minute apart. */
function scored(...scores: readonly Partial<ScoreHints>[]): { readonly hints: Hints; readonly now: number } {
  let hints: Hints | null = null;
  let now = NOW;
  for (const score of scores) {
    now += 60_000;
    ({ hints } = rememberScore(hints, { ...NOTHING, ...score }, asking(JSON.stringify(score)), now));
  }
  if (hints === null) throw new Error('nothing was scored');
  return { hints, now };
}

const anyScore: fc.Arbitrary<ScoreHints> = fc.record({
  fingerprint: fc.constantFrom(null, 'device-1', 'device-2'),
  ip: fc.constantFrom(null, 'network-1', 'network-2'),
  jsOk: fc.constantFrom(null, true, false),
  honeypotTriggered: fc.boolean(),
  userAgentPresent: fc.boolean(),
  userAgentIsAutomated: fc.boolean(),
  userAgentIsApp: fc.boolean(),
});

const asSets = ({ fingerprints, ips, jsOk: _last, ...signs }: KnownHints) => ({
  ...signs,
  fingerprints: fingerprints.toSorted(),
  ips: ips.toSorted(),
});

describe('the hints of scores', () => {
  it('keep the networks around an address as long as the address', () => {
    const { hints, now } = scored({ ip: 'x', networks: ['x/16', 'x/24'] }, { ip: 'y', networks: ['y/16'] });
    const { ips, networks } = getKnownHints(hints, now);
    expect([ips, networks]).to.deep.equal([
      ['x', 'y'],
      ['x/16', 'x/24', 'y/16'],
    ]);
    expect(getKnownHints(hints, now + HINTS_VALID_MS).networks).to.deep.equal([]);
  });

  it('end with the 24th hour: for a reader, in the store, for the next score and for a repeated one', () => {
    const { hints, now } = scored({ fingerprint: 'x' });
    const leftAfter = (ms: number) => {
      const at = now + ms;
      const { fingerprints, scored } = getKnownHints(hints, at);
      const { shown } = addScoreHints(hints, NOTHING, at);
      const [{ request } = asking('')] = hints.asked;
      const { asked } = rememberScore(hints, NOTHING, asking(request), at);
      return [fingerprints, scored, removeExpiredHints(hints, at), shown.length, asked.at === now];
    };
    expect(leftAfter(HINTS_VALID_MS - 1)).to.deep.equal([['x'], true, hints, 1, true]);
    expect(leftAfter(HINTS_VALID_MS)).to.deep.equal([[], false, null, 0, false]);
  });

  it('are the same in whatever order the scores were asked', () => {
    fc.assert(
      fc.property(fc.array(anyScore, { minLength: 1, maxLength: 6 }), (scores) => {
        const known = (some: readonly ScoreHints[]) => {
          const { hints, now } = scored(...some);
          return asSets(getKnownHints(hints, now));
        };
        expect(known(scores.toReversed())).to.deep.equal(known(scores));
      }),
    );
  });

  it('answer a repeated score for 24 hours from what was known when it was first asked', () => {
    const requests = fc.uniqueArray(anyScore, {
      minLength: 1,
      maxLength: ASKED_SCORES_MAX,
      selector: (score) => JSON.stringify(score),
    });
    const steps = fc.array(
      fc.record({ which: fc.nat(), afterMs: fc.constantFrom(0, 1, HOUR_MS, 6 * HOUR_MS) }),
    );
    fc.assert(
      fc.property(requests, steps, (scores, asked) => {
        const first = new Map<ScoreHints, { readonly at: number; readonly known: KnownHints }>();
        let hints: Hints | null = null;
        let now = NOW;
        for (const { which, afterMs } of asked) {
          now += afterMs;
          const score = scores[which % scores.length] ?? NOTHING;
          const answered = rememberScore(hints, score, asking(JSON.stringify(score), which % 9), now);
          hints = roundTripState({ ...UNKNOWN_CLIENT_STATE, lastAt: now, hints: answered.hints }).hints;
          const before = first.get(score);
          const known = getHintsOfAskedScore(answered.asked);
          if (before !== undefined && now - before.at < HINTS_VALID_MS)
            expect(known).to.deep.equal(before.known);
          else {
            expect(known).to.deep.equal({
              ...getKnownHints(hints, now),
              devices: { fingerprints: which % 9, ips: 0 },
            });
            first.set(score, { at: now, known });
          }
        }
      }),
    );
  });

  it(`remember the newest ${ASKED_SCORES_MAX} different requests`, () => {
    const { hints } = scored(...Array.from({ length: 20 }, (_, n) => ({ fingerprint: `device-${n}` })));
    expect(hints.asked).to.have.length(ASKED_SCORES_MAX);
  });
});

describe('the attributes that scores say', () => {
  const known = ({ hints, now }: ReturnType<typeof scored>, laterMs = 0) =>
    getKnownHints(hints, now + laterMs).attributes;

  it('are known by name for 24 hours after they were last said, the newest value of each', () => {
    const life = scored(
      { attributes: { card: 'DE', age: 3 } },
      { attributes: { card: 'FR', returning: false } },
    );
    expect(known(life)).to.deep.equal({ age: 3, card: 'FR', returning: false });
    expect(known(life, HINTS_VALID_MS - 60_000)).to.deep.equal({ card: 'FR', returning: false });
    expect(known(life, HINTS_VALID_MS)).to.equal(undefined);
  });

  it('are not known any more once a later score says what is not declared', () => {
    expect(known(scored({ attributes: { card: 'DE' } }, { attributes: { card: null } }))).to.deep.equal({
      card: null,
    });
  });

  it('are at most 32, the newest, and push no device out', () => {
    const names = Array.from({ length: 40 }, (_, n) => `a${n}`);
    const life = scored(
      { fingerprint: 'device-1' },
      ...names.map((name) => ({ attributes: { [name]: name } })),
    );
    expect(Object.keys(known(life) ?? {})).to.deep.equal(names.slice(-32));
    expect(getKnownHints(life.hints, life.now).fingerprints).to.deep.equal(['device-1']);
  });

  it('are stored as they were said, and remembered with each score that knew them', () => {
    const { hints } = scored(
      { attributes: { card: 'DE', age: -0.5, none: null } },
      { attributes: { card: 'FR' } },
    );
    const stored = roundTripState({ ...UNKNOWN_CLIENT_STATE, lastAt: NOW + 120_000, hints });
    expect(stored.hints).to.deep.equal(hints);
    expect(
      (stored.hints?.asked ?? []).map((asked) => getHintsOfAskedScore(asked).attributes?.['card']),
    ).to.deep.equal(['DE', 'FR']);
  });
});
