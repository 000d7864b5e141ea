import { expect } from 'chai';
import { type ParseResult, parse } from '../../../src/rules/parse/parse.ts';
import { editedFiles, problemsOf, SOUND_VERSION, swap, whole } from '../../rule-fixtures/sound-rules.ts';

/** How many rules a file may hold. */
const RULES = 500;

function parseMany(priorityOf: (n: number) => number, conditions: (n: number) => string): ParseResult {
  const rules = Array.from({ length: RULES }, (_, n) => {
    const params = `{ verdict: ${n % 2 === 0 ? 'WAIT' : 'BLOCK'}, reason: "Many." }`;
    return `  - { name: rule-${n}, priority: ${priorityOf(n)}, conditions: ${conditions(n)}, event: { type: verdict, params: ${params} } }`;
  });
  const text = `rules:\n${rules.join('\n')}\notherwise: { verdict: GET_NEW, reason: "None." }\n`;
  return parse(SOUND_VERSION, editedFiles({ 'verdicts.yaml': whole(text) }));
}

function messages(result: ParseResult): readonly string[] {
  return result.ok ? [] : result.problems.map(({ message }) => message);
}

/** CPU seconds of this process, which other processes do not lengthen as they lengthen the time by the clock. */
function cpuSeconds(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

const byMethod = (n: number) => `{ all: [{ fact: method, operator: equal, value: m${n} }] }`;
/** Counts over five hundred windows, every longer one at least as high: each question alone is hard. */
const byWindow = (n: number) =>
  `{ all: [{ fact: verdicts, params: { window: ${n + 1}s }, operator: greaterThan, value: ${n % 60} }] }`;

describe('two rules of equal priority', () => {
  it('are refused when they wait on different ladders', () => {
    const rule = (name: string, ladder: string) =>
      `  - { name: ${name}, priority: 85, conditions: { all: [{ fact: amount, operator: equal, value: 7 }] }, event: { type: verdict, params: { verdict: WAIT, ${ladder}reason: "R" } } }\n`;
    const problems = problemsOf({
      'ladder.yaml': swap('resetAfter: 24h', 'resetAfter: 24h\nladders: { patient: [2m, 10m] }'),
      'verdicts.yaml': swap('rules:\n', `rules:\n${rule('one', '')}${rule('other', 'ladder: patient, ')}`),
    });
    expect(problems.join()).to.contain('"other" and "one" (line 5) both have priority 85');
  });
});

describe('many rules of equal priority', () => {
  it('are sound when no two of them can match together', () => {
    expect(messages(parseMany(() => 50, byMethod))).to.deep.equal([]);
  });

  for (const [title, conditions] of [
    ['that exclude each other', byMethod],
    ['of which nothing is soon decided', byWindow],
  ] as const) {
    it(`cost little more to load than as many of different priorities, ${title}`, () => {
      parseMany((n) => n + 1, conditions);
      const apart = cpuSeconds(() => parseMany((n) => n + 1, conditions));
      const equal = cpuSeconds(() => parseMany(() => 50, conditions));
      expect(equal).to.be.below(3 * apart + 1);
    });
  }

  it('are refused where the work of loading was not enough to decide, and the message says so', () => {
    const last = messages(parseMany(() => 50, byWindow)).at(-1);
    expect(last).to.equal(
      '"rule-499" and "rule-0" (line 2) both have priority 50, and whether both can match first was not decided within 1,000,000 steps of proof; give each its own priority',
    );
  });
});
