import { expect } from 'chai';
import { runCases, updateCases } from '../../../src/authoring/cases/cases.ts';
import { edited, editedFiles, swap, whole } from '../../rule-fixtures/sound-rules.ts';

const CASES = `
# What a payer sees.
cases:
  - name: waits
    steps:
      - verdict: {}
      - after: 1s # at once
        verdict: {}
        expect: { verdict: WAIT, waitSeconds: 30 }
      - after: 1s
        verdict: {}
        expect: { verdict: WAIT, waitSeconds: 300 }
  - name: comes back in time
    steps:
      - verdict: {}
      - after: 1s
        verdict: {}
        expect: { waitSeconds: 30 }
      - after: 30s
        verdict: {}
        expect: { verdict: GET_NEW }
  - name: is told why
    steps:
      - verdict: {}
      - verdict: {}
        expect:
          reason: The previous attempt did not reach payment; wait 30 s, cooldown level 1.
`;

/** p2.v10 with another ladder and these cases alone. */
function withLadder(levels: string) {
  const changes = {
    'ladder.yaml': swap('[30s, 5m, 30m]', levels),
    'cases/ladder.yaml': whole(CASES),
  };
  const files = [...editedFiles(changes)];
  const alone = files.filter(([path]) => !path.startsWith('cases/') || path === 'cases/ladder.yaml');
  return { rules: edited(changes), files: new Map(alone) };
}

describe('updating cases', () => {
  it('updates what only the seconds of the ladder changed, and keeps comments and layout', () => {
    const { rules, files } = withLadder('[20s, 10m, 30m]');
    const updated = updateCases(rules, files);
    const text = CASES.replaceAll('waitSeconds: 300', 'waitSeconds: 600')
      .replaceAll('waitSeconds: 30 ', 'waitSeconds: 20 ')
      .replace('wait 30 s', 'wait 20 s');
    expect(Object.fromEntries(updated.files)).to.deep.equal({ 'cases/ladder.yaml': text });
    expect(updated.lines[0]).to.deep.equal({
      file: 'cases/ladder.yaml',
      line: 9,
      before: '        expect: { verdict: WAIT, waitSeconds: 30 }',
      after: '        expect: { verdict: WAIT, waitSeconds: 20 }',
    });
    expect(updated.left).to.deep.equal([]);
    expect(runCases(rules, new Map([...files, ...updated.files])).failures).to.deep.equal([]);
  });

  it('leaves a case with a different verdict as it is, also its waits before that', () => {
    const { rules, files } = withLadder('[40s, 5m, 30m]');
    const { files: changed, written, left } = updateCases(rules, files);
    const [, text = ''] = [...changed][0] ?? [];
    const backInTime = text.slice(text.indexOf('comes back in time'), text.indexOf('is told why'));
    expect(backInTime).to.include('waitSeconds: 30').and.not.include('40');
    expect(left.map(({ caseName, step }) => [caseName, step])).to.deep.equal([['comes back in time', 3]]);
    expect(text).to.include('wait 40 s');
    expect(written).to.equal(2);
  });

  it('changes nothing where all cases hold', () => {
    const { rules, files } = withLadder('[30s, 5m, 30m]');
    const { files: changed, lines, left } = updateCases(rules, files);
    expect([changed.size, lines, left]).to.deep.equal([0, [], []]);
  });
});
