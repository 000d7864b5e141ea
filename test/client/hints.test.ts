import { expect } from 'chai';
import fc from 'fast-check';
import {
  ASKED_SCORES_MAX,
  HINTS_VALID_MS,
  type Hints,
  type KnownHints,
  knownHints,
  type ScoreHints,
  withScore,
} from '../../src/client/hints.ts';

const NOW = 1_800_000_000_000;

const NOTHING: ScoreHints = {
  fingerprint: null,
  ip: null,
  jsOk: null,
  honeypotTriggered: false,
  userAgentPresent: false,
  userAgentIsAutomated: false,
};

const asking = (request: string) => ({ request, changes: 0 });

/** Different scores, a minute apart. */
function scored(...scores: readonly Partial<ScoreHints>[]): { readonly hints: Hints; readonly now: number } {
  let hints: Hints | null = null;
  let now = NOW;
  for (const score of scores) {
    now += 60_000;
    ({ hints } = withScore(hints, { ...NOTHING, ...score }, asking(JSON.stringify(score)), now));
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
});

const asSets = ({ fingerprints, ips, noScript: _last, ...signs }: KnownHints) => ({
  ...signs,
  fingerprints: fingerprints.toSorted(),
  ips: ips.toSorted(),
});

describe('the hints of scores', () => {
  it('keep the networks around an address as long as the address', () => {
    const { hints, now } = scored({ ip: 'x', networks: ['x/16', 'x/24'] }, { ip: 'y', networks: ['y/16'] });
    expect(knownHints(hints, now).networks).to.deep.equal(['x/16', 'x/24', 'y/16']);
    expect(knownHints(hints, now + HINTS_VALID_MS).networks).to.deep.equal([]);
  });

  it('are the same in whatever order the scores were asked', () => {
    fc.assert(
      fc.property(fc.array(anyScore, { minLength: 1, maxLength: 6 }), (scores) => {
        const known = (some: readonly ScoreHints[]) => {
          const { hints, now } = scored(...some);
          return asSets(knownHints(hints, now));
        };
        expect(known(scores.toReversed())).to.deep.equal(known(scores));
      }),
    );
  });

  it(`remember the newest ${ASKED_SCORES_MAX} different requests`, () => {
    const { hints } = scored(...Array.from({ length: 20 }, (_, n) => ({ fingerprint: `device-${n}` })));
    expect(hints.asked).to.have.length(ASKED_SCORES_MAX);
  });
});
