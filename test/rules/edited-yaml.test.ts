import { expect } from 'chai';
import { editedYaml } from '../../src/rules/folder/draft.ts';

const TEXT = `# A comment.
settings:
  # Another one.
  smoothing: { prior: 0.5, weight: 2 }   # as it was
levels: [30s, 5m,   30m]
rules:
  - name: "first"
    value: 4
`;

describe('an edited rule file', () => {
  it('differs in the values that were replaced, and in nothing else', () => {
    const edits = [
      { path: ['settings', 'smoothing', 'weight'], value: 0.4 },
      { path: ['levels', 1], value: '10m' },
      { path: ['rules', 0, 'value'], value: 12 },
      { path: ['rules', 0, 'name'], value: 'a: b' },
    ];
    expect(editedYaml(TEXT, edits)).to.equal(
      TEXT.replace('weight: 2', 'weight: 0.4')
        .replace('5m', '10m')
        .replace('value: 4', 'value: 12')
        .replace('"first"', '"a: b"'),
    );
  });

  it('has a value that was missing, and keeps its comments', () => {
    const text = editedYaml(TEXT, [
      { path: ['platforms', 'shop', 'smoothing', 'prior'], value: 0.5 },
      { path: ['platforms', 'shop', 'smoothing', 'weight'], value: 0.4 },
    ]);
    expect(text).to.include('platforms:\n  shop:\n    smoothing:\n      prior: 0.5\n      weight: 0.4\n');
    expect(text).to.include('# Another one.');
  });
});
