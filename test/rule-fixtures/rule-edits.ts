import { type Edit, edits, problemsOf, swap, whole } from './sound-rules.ts';
import { itTells, paragraphsOf } from './told.ts';

type Edits = Readonly<Record<string, Edit>>;

const BLOCKED = '{ fact: clientGroup, operator: equal, value: BLOCKED }';
const REASON = 'reason: "The client is blocked."';

/** What is changed in verdicts.yaml, most of it in the first rule. */
const IN_VERDICTS: Readonly<Record<string, (text: string) => Edit>> = {
  condition: (text) => swap(BLOCKED, text),
  conditions: (text) => swap(`all:\n        - ${BLOCKED}`, text),
  named: (text) => swap('rules:\n', `conditions:\n  ${text}\nrules:\n`),
  payerText: (text) => swap(REASON, `${REASON}, payerText: "${text}"`),
};

const IN_FILE: readonly (readonly [RegExp, (first: string, second: string) => Edit])[] = [
  [/^(\S+): (.*?) -> (.*)$/s, swap],
  [/^(\S+) without (.*)$/s, (text) => swap(text, '')],
  [/^(\S+) = (.*)$/s, whole],
  [/^(\S+) is missing$/, () => () => null],
];

/**
 * Edits of the sound rules as a text has them, one a line: `- groups.yaml: this -> that`, `- groups.yaml without this`,
 * `- ladder.yaml = the whole text`, `- limits.yaml is missing`, `- condition: in the place of the first comparison`, and
 * so on. Escapes are as in JSON, and `(3 times: x)` stands for xxx.
 */
export function editsOf(lines: readonly string[]): Edits {
  const byPath = Map.groupBy(lines.map(readEdit), ([path]) => path);
  return Object.fromEntries([...byPath].map(([path, all]) => [path, edits(...all.map(([, edit]) => edit))]));
}

/** The edited rules in a file, each under its title: its edits, and after them what must be told about it. */
export function editedRulesIn(file: URL): ReadonlyMap<string, Edits> {
  return new Map([...editsIn(file)].map(([title, lines]) => [title, editsOf(lines)]));
}

/** Tests that each of the edited rules in a file is told what stands there, and nothing where nothing does. */
export function itTellsOfEdits(file: URL): void {
  const told = [...editsIn(file)].map(
    ([title, lines]) => [title, () => [...lines, ...problemsOf(editsOf(lines))]] as const,
  );
  itTells(file, Object.fromEntries(told));
}

function editsIn(file: URL): ReadonlyMap<string, readonly string[]> {
  return new Map(
    [...paragraphsOf(file)].map(([title, lines]) => [title, lines.filter((line) => line.startsWith('- '))]),
  );
}

function readEdit(line: string): readonly [path: string, edit: Edit] {
  const unescaped = line
    .slice(2)
    .replaceAll(/\\(?:u[0-9A-F]{4}|.)/g, (written) => JSON.parse(`"${written}"`));
  const text = unescaped.replaceAll(/\((\d+) times: (.*?)\)/g, (_, count: string, part: string) =>
    part.repeat(Number(count)),
  );
  const [, name = '', inVerdicts = ''] = /^(\S+): (.*)$/s.exec(text) ?? [];
  const edit = IN_VERDICTS[name]?.(inVerdicts);
  if (edit !== undefined) return ['verdicts.yaml', edit];
  for (const [form, make] of IN_FILE) {
    const [, path, first = '', second = ''] = form.exec(text) ?? [];
    if (path !== undefined) return [path, make(first, second)];
  }
  throw new Error(`"${line}" is no edit`);
}
