import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { YamlFile } from '#decision/rules/parse/yaml-file.ts';
import { formatProblem, type RuleProblem } from '#decision/rules/problem.ts';
import { RULES_DIR } from '../../../rule-fixtures/sound-rules.ts';
import { paragraphsOf } from '../../../rule-fixtures/told.ts';

function problemsOf(text: string): readonly string[] {
  const problems: RuleProblem[] = [];
  new YamlFile('verdicts.yaml', text, problems);
  return problems.map(formatProblem);
}

/** Every YAML file of the rule sets of this repository. */
const SOUND_TEXTS: ReadonlyMap<string, string> = new Map(
  readdirSync(RULES_DIR, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.yaml'))
    .map((path) => [path, readFileSync(join(RULES_DIR, path), 'utf8')]),
);

const LAST_LINES: readonly (readonly [line: string, message: string])[] = [
  ['extra: "text', 'this quote is never closed; write " where it ends'],
  ['extra: { a: 1', '"{" is never closed; write } where it ends'],
  ['extra: 5: 6', 'put quotes around a text with a colon'],
  ['extra 5', 'a colon is missing; write "extra: 5"'],
  [
    'extra: "a "text" b"',
    'the text goes on after its closing quote; write \' around a text that has " in it',
  ],
];

/** What the YAML library says of faults, and of what it is about. */
const PARSER_WORDS =
  /YAML|implicit|scalar|block (map|seq)|flow|mapping(s)? (are|items)|must be unique|member name of|Unexpected|Unresolved|token|indicator/i;

describe('a fault in how a rule file is written', () => {
  for (const [line, message] of LAST_LINES) {
    it(`is found in the last line of each sound file, and nowhere before it: ${line}`, () => {
      for (const [path, text] of SOUND_TEXTS) {
        const lines = text.trimEnd().split('\n').length;
        const [problem = '', ...others] = problemsOf(`${text.trimEnd()}\n${line}\n`);
        expect(problem, path).to.match(new RegExp(`^verdicts.yaml:${lines + 1}:\\d+  `));
        expect(problem.replace(/^\S+ {2}/, ''), path).to.equal(message);
        expect(others, path).to.deep.equal([]);
      }
    });
  }

  it('is told alone, before what is wrong with what the file says', () => {
    expect(problemsOf('rules: 5\n  x: [\nrules: "\n')).to.have.length(1);
  });

  it('is told in at most three problems and without the words of the parser, whatever an analyst mistook', () => {
    const file = new URL('../../../rule-fixtures/analyst-mistakes.txt', import.meta.url);
    for (const [title, lines] of paragraphsOf(file)) {
      const told = lines.filter((line) => !line.startsWith('- '));
      expect(told.length, title).to.be.at.most(3);
      for (const line of told) expect(line.replace(/\S+\.yaml/g, ''), title).not.to.match(PARSER_WORDS);
      expect(told.length === 0, title).to.equal(/which (is|are) no mistake$/.test(title));
    }
  });

  it('is found in time, whatever a long file repeats', () => {
    const long = 16 * 1024;
    for (const part of ['{', '"', '\\', ' \t\n', 'a: ', ', ', '- ', '“', "''", '{ a: 1 }\n', 'a\n', '"a: \n'])
      expect(problemsOf(part.repeat(Math.floor(long / part.length))).length, part).to.be.at.most(1);
  });
});
