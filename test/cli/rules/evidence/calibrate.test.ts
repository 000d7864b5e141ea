import { expect } from 'chai';
import { liveThroughJuly, Workplace } from '../../../evidence/backtest/backtest-history.ts';

describe('rules calibrate', () => {
  let place: Workplace;
  before(async () => {
    place = await Workplace.after(liveThroughJuly);
  });
  after(() => place.end());

  it('says from what it found a smoothing and how good that is later, and writes it into a draft', async () => {
    const { code, stdout, stderr } = await place.scoring(
      ...['rules', 'calibrate', 'p2.v10', '--journal', place.path('j'), '--write', 'p2.v11'],
    );
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
    expect(stdout).to.include(
      'Found on 5 orders before 2026-07-03T14:33:41Z, shown on 1 from then on; in neither: 2 orders with an unknown outcome.',
    );
    expect(stdout).to.include('Later part, with 95 % intervals by client\n');
    expect(stdout).to.include(
      'is a draft with this smoothing. Cases that pin a paymentScore fail until they are changed',
    );
    const smoothing = (version: string) => /smoothing: .*/.exec(place.text(version, 'ruleset.yaml'))?.[0];
    const [, weight] = /found +0\.5 +([\d.]+)/.exec(stdout) ?? [];
    expect(smoothing('p2.v11')).to.equal(`smoothing: { prior: 0.5, weight: ${weight} }`);
    expect(smoothing('p2.v11')).not.to.equal(smoothing('p2.v10'));
  });

  it('prints one JSON object with stable members on request', async () => {
    const { stdout } = await place.scoring(
      ...['rules', 'calibrate', 'p2.v10', '--journal', place.path('j'), '--json', '--split', '2026-07-01'],
    );
    const { after, orders, holds } = JSON.parse(stdout);
    expect({ after, orders, holds }).to.deep.equal({
      after: null,
      orders: { earlier: 0, later: 6, unknown: 2 },
      holds: false,
    });
  });
});
