import { expect } from 'chai';
import fc from 'fast-check';
import { parseDocument } from 'yaml';
import { YamlFile } from '#decision/rules/parse/yaml-file.ts';
import { formatProblem, type RuleProblem } from '#decision/rules/problem.ts';

function problemsOf(text: string): readonly string[] {
  const problems: RuleProblem[] = [];
  new YamlFile('ladder.yaml', text, problems);
  return problems.map(formatProblem);
}

describe('a YAML file of a rule set', () => {
  it('has no key twice in one mapping, however the mapping and the key are written', () => {
    expect(problemsOf('a: 1\nb: { c: 1, d: 2, "c": 3 }\n')).to.deep.equal([
      'ladder.yaml:2:18  "c" stands twice in this line; remove one of the two',
    ]);
    expect(problemsOf('a: 1\nb: 3\n"a": 2\n')).to.deep.equal([
      'ladder.yaml:3:1  "a" stands in line 1 already; remove one of the two',
    ]);
    expect(problemsOf('a: { c: 1 }\nb: { c: 1 }\nc: [{ c: 1 }, { c: 1 }]\n')).to.deep.equal([]);
  });

  it('is refused for the keys for which the YAML library refuses it', () => {
    const key = fc.constantFrom('a', 'b', '"a"', '1', "'1'", 'true', 'null', '~', '1.0', '0x1');
    const map = fc.letrec<{ readonly map: string; readonly value: string }>((tie) => ({
      value: fc.oneof({ depthSize: 'small' }, fc.constant('1'), tie('map')),
      map: fc
        .array(fc.tuple(key, tie('value')), { minLength: 1, maxLength: 4 })
        .map((pairs) => `{ ${pairs.map(([name, value]) => `${name}: ${value}`).join(', ')} }`),
    })).map;
    fc.assert(
      fc.property(map, (text) => {
        const repeated = parseDocument(text).errors.filter(({ code }) => code === 'DUPLICATE_KEY');
        expect(problemsOf(text)).to.have.length(Math.min(1, repeated.length));
      }),
    );
  });
});
