import { globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { parse } from 'yaml';
import type { Mutation } from '../scripts/mutate.ts';
import { filesOf } from './run.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/**
 * What may import what: each storey itself and those after it. A name is a folder or a file below src/; the
 * longest one that fits a file is its place.
 */
const STOREYS: readonly (readonly string[])[] = [
  ['main.ts', 'cli'],
  ['serve.ts'],
  ['application.ts'],
  ['config.ts'],
  ['console/page/start.ts'],
  ['console/page/app.ts'],
  ['console/page/places.ts'],
  [
    'console/page/pages/changes.ts',
    'console/page/pages/worth.ts',
    'console/page/pages/find',
    'console/page/pages/settings',
    'console/page/pages/today.ts',
    'console/page/pages/rollout.ts',
    'console/page/pages/rules.ts',
    'console/page/pages/sign-in.ts',
  ],
  ['console/page/pages/draft.ts', 'console/page/pages/worth-of-rules.ts', 'console/page/pages/trial.ts'],
  [
    'console/page/pages/today-chart.ts',
    'console/page/pages/today-why.ts',
    'console/page/pages/today-versions.ts',
  ],
  [
    'console/page/pages/draft-files.ts',
    'console/page/pages/take-back.ts',
    'console/page/pages/today-view.ts',
  ],
  ['console/page/page-props.ts'],
  ['console/page/parts'],
  ['console/page'],
  ['http/platform'],
  ['http/caller'],
  ['http/openapi', 'console', 'http/server'],
  ['http/operation'],
  ['http/request'],
  ['service'],
  ['metrics'],
  ['evidence'],
  ['authoring/schema'],
  ['authoring/desk'],
  ['authoring/cases', 'authoring/diff'],
  ['authoring/explain', 'authoring'],
  ['archive/ship', 'archive/read'],
  ['archive/s3'],
  ['archive'],
  ['rollout', 'lists'],
  ['access'],
  ['state/open-store.ts'],
  ['state/sqlite', 'state/redis'],
  ['state/redis/connection'],
  ['state'],
  ['pseudonym.ts'],
  ['decision'],
  ['rules/folder'],
  ['rules/text'],
  ['rules/parse'],
  ['rules/proof', 'rules/evaluate'],
  ['rules'],
  ['facts'],
  ['client'],
  // Each of these knows none of the others, and every storey may use it.
  ['clock.ts', 'files', 'log.ts', 'sdk', 'shapes.ts', 'work', 'statistics'],
  ['counted.ts', 'csv.ts', 'json-schema.ts', 'key-length.ts', 'named-error.ts', 'invisible-characters.ts'],
];

/** These decide the same from the same inputs, without clock, chance or I/O. */
const PURE = /^src\/(client|facts|decision|rules\/(parse|evaluate|proof|text))\/|^src\/rules\/[a-z-]+\.ts$/;

const IMPURE: readonly RegExp[] = [
  /node:(fs|net|http|https|dns|child_process|timers|worker_threads|sqlite)/,
  /\bset(Timeout|Interval|Immediate)\b/,
  /\bDate\.now\b|\bnew Date\(\)/,
  /\bperformance\b/,
  /\bMath\.random\b|\brandomUUID\b|\brandomBytes\b/,
  /\bprocess\./,
  /\bfetch\(/,
];

/** Packages that only one folder may import. */
const CONFINED: readonly { readonly packages: readonly string[]; readonly home: string }[] = [
  { packages: ['@redis/client', '@keyv/redis', 'keyv', 'node:sqlite'], home: 'src/state/' },
  { packages: ['json-rules-engine', 'yaml'], home: 'src/rules/' },
  { packages: ['@duckdb/node-api'], home: 'src/archive/' },
  { packages: ['@aws-sdk/client-s3'], home: 'src/archive/s3/' },
];

/** Replaced words, each with what is said instead. */
const REPLACED_WORDS: readonly (readonly [RegExp, string])[] = [
  [/\bliv(?:e|es|ed|ing) (?:\w+ )?through\b/i, 'replay'],
  [/This cannot be done/, 'what was refused, and why'],
  [/\bhangs? together\b/i, 'linked'],
  [/\b(?:cannot|can|could(?: not)?) be told\b/i, 'known'],
  [/\bnobody can tell\b/i, 'nobody knows'],
  [/\btaken for\b/i, 'counts as'],
  [/\bat work on\b/i, 'works on'],
];

const FILE_LINES_MAX = 450;

/** Markup in templates is not wrapped by the formatter. */
const LINE_CHARACTERS_MAX = 110;

/** An exported function longer than this says in a docstring what it takes and gives. */
const SMALL_LINES = 20;

interface SourceFile {
  readonly path: string;
  readonly text: string;
  readonly lines: readonly string[];
  /** The modules after `from` or in `import()`. */
  readonly imports: readonly string[];
}

function sources(folder: string, extension: string): readonly SourceFile[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(extension))
    .map((entry) => readSource(join(entry.parentPath, entry.name)))
    .toSorted((a, b) => a.path.localeCompare(b.path, 'en'));
}

function readSource(path: string): SourceFile {
  const text = readFileSync(path, 'utf8');
  const imports = [...text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*['"]([^'"]+)['"]/g)].map(
    ([, name]) => name ?? '',
  );
  return { path: relative(ROOT, path), text, lines: text.split('\n'), imports };
}

const SRC = sources('src', '.ts');

/** What browsers run. */
const PAGE = sources('src/console/page', '.ts');

const STYLE = readSource(join(ROOT, 'src/console/page/style.css'));

/** The places of all lines that the pattern matches, without comments and quoted texts. */
function findings(files: readonly SourceFile[], pattern: RegExp): readonly string[] {
  return files.flatMap(({ path, lines }) =>
    lines.flatMap((line, index) =>
      pattern.test(codeOf(line)) ? [`${path}:${index + 1} ${line.trim()}`] : [],
    ),
  );
}

/** The places of all lines that the pattern matches, comments included. */
function linesWith(files: readonly SourceFile[], pattern: RegExp): readonly string[] {
  return files.flatMap(({ path, lines }) =>
    lines.flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1} ${line.trim()}`] : [])),
  );
}

function classesOf(style: string): readonly string[] {
  const code = style.replace(/\/\*.*?\*\/|@import[^;]*;/gs, '').replace(/\{[^{}]*\}/g, '{}');
  return [...new Set([...code.matchAll(/\.([a-zA-Z][\w-]*)/g)].map(([, name]) => name ?? ''))];
}

/** Also finds a class made from a family and a variant: `pill-${tone}`. */
function usesClass(code: string, name: string): boolean {
  if (new RegExp(`(?<![\\w-])${name}(?![\\w-])`).test(code)) return true;
  const [family = '', ...variant] = name.split('-');
  return code.includes(`${family}-\${`) && new RegExp(`['"]${variant.join('-')}['"]`).test(code);
}

/** A line without its comment and quoted texts. */
function codeOf(line: string): string {
  if (/^\s*(\*|\/\*)/.test(line)) return '';
  return line.replace(/'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`/g, "''").replace(/\/\/.*$/, '');
}

const PLACES = STOREYS.flat().toSorted((a, b) => b.length - a.length);

/** The closest named place of a file of src/; a file that no storey names is a place of its own. */
function placeOf(path: string): string {
  const below = path.replace(/^src\//, '');
  return PLACES.find((place) => below === place || below.startsWith(`${place}/`)) ?? below;
}

function storeyOf(place: string): number {
  return STOREYS.findIndex((storey) => storey.includes(place));
}

/** The paths of our own files that a file imports. */
function ownImports({ path, imports }: SourceFile): readonly string[] {
  return imports.filter((name) => name.startsWith('.')).map((name) => join(dirname(path), name));
}

function mayImport(from: string, to: string): boolean {
  return from === to || storeyOf(from) < storeyOf(to);
}

/** The exported functions of a file that are long and have no docstring. */
function undocumented({ path, lines }: SourceFile): readonly string[] {
  return lines.flatMap((line, index) => {
    const [, name] = /^export (?:async )?function\*? (\w+)/.exec(line) ?? [];
    if (name === undefined || /\*\/\s*$/.test(lines[index - 1] ?? '')) return [];
    const length = lines.slice(index).indexOf('}') + 1;
    return length > SMALL_LINES ? [`${path}:${index + 1} ${name}`] : [];
  });
}

describe('the source', () => {
  it('has a storey for every folder and file', () => {
    const places = new Set(SRC.map(({ path }) => placeOf(path)));
    expect([...places].filter((place) => storeyOf(place) === -1)).to.deep.equal([]);
  });

  it('imports only downwards', () => {
    const upward = SRC.flatMap((file) =>
      ownImports(file)
        .filter((target) => !mayImport(placeOf(file.path), placeOf(target)))
        .map((target) => `${file.path} imports ${target}`),
    );
    expect(upward).to.deep.equal([]);
  });

  it('has no files that import each other in a circle', () => {
    const importing = new Map(SRC.map((file) => [file.path, ownImports(file)]));
    // A file that imports none of the others, or is imported by none of them, is in no circle.
    for (let before = -1; before !== importing.size; ) {
      before = importing.size;
      const imported = new Set([...importing.values()].flat());
      for (const [path, targets] of importing)
        if (!imported.has(path) || !targets.some((target) => importing.has(target))) importing.delete(path);
    }
    expect([...importing.keys()]).to.deep.equal([]);
  });

  it('never imports files outside src', () => {
    const outward = SRC.flatMap((file) =>
      ownImports(file)
        .filter((target) => !target.startsWith('src/') && target !== 'package.json')
        .map((target) => `${file.path} imports ${target}`),
    );
    expect(outward).to.deep.equal([]);
  });

  it('decides without clock, chance or I/O', () => {
    const pure = SRC.filter(({ path }) => PURE.test(path));
    expect(pure.length).to.be.above(30);
    expect(IMPURE.flatMap((pattern) => linesWith(pure, pattern))).to.deep.equal([]);
  });

  for (const { packages, home } of CONFINED) {
    it(`knows ${packages.join(', ')} only in ${home}`, () => {
      const strangers = SRC.filter(({ path }) => !path.startsWith(home)).flatMap(({ path, imports }) =>
        imports
          .filter((name) => packages.some((known) => name === known || name.startsWith(`${known}/`)))
          .map((name) => `${path} imports ${name}`),
      );
      expect(strangers).to.deep.equal([]);
    });
  }

  it('reads the environment only in config.ts', () => {
    const others = SRC.filter(({ path }) => path !== 'src/config.ts');
    expect(findings(others, /\bprocess\.env\b/)).to.deep.equal([]);
  });

  it('has no casts except as const', () => {
    const inCode = SRC.filter(({ path }) => !path.startsWith('src/console/page/')).map((file) => ({
      ...file,
      // `import { a as b }` renames and casts nothing.
      lines: file.lines.map((line) =>
        /^\s*(?:import|export)\b.*\bfrom\b|^\s+(?:type )?\w+ as \w+,?$/.test(line) ? '' : line,
      ),
    }));
    expect(findings(inCode, /[\w)\]}] as (?!const\b)[A-Za-z{[(]/)).to.deep.equal([]);
    // Templates of the page are words, too.
    expect(findings(PAGE, /[\w)\]}] as (?!const\b)[A-Z]\w*(?:\[\]|<[\w, ]+>)?[;,)} ]*$/)).to.deep.equal([]);
  });

  it('has nothing that the linter or the compiler is told to overlook', () => {
    expect(
      linesWith(SRC, /@ts-(ignore|expect-error|nocheck)|biome-ignore (?!.*noThenProperty)/),
    ).to.deep.equal([]);
  });

  it('leaves nothing to be done later', () => {
    expect(linesWith(SRC, /\b(TODO|FIXME|XXX|HACK)\b/)).to.deep.equal([]);
  });

  it(`has no file of more than ${FILE_LINES_MAX} lines that a person writes`, () => {
    const own = SRC.filter(({ text }) => !text.startsWith('// Written by scripts/'));
    const long = own.filter(({ lines }) => lines.length - 1 > FILE_LINES_MAX);
    expect(long.map(({ path, lines }) => `${path} has ${lines.length - 1}`)).to.deep.equal([]);
  });

  for (const [replaced, word] of REPLACED_WORDS) {
    it(`says ${word} in one way`, () => {
      expect(linesWith(SRC, replaced)).to.deep.equal([]);
    });
  }

  it('has no barrels and no drawers', () => {
    const drawers = /(?:^|\/)(?:index|utils?|helpers?|common|misc|types)(?:\.ts$|\/)/;
    expect(SRC.map(({ path }) => path).filter((path) => drawers.test(path))).to.deep.equal([]);
  });

  it('has a docstring for every exported function that is not small', () => {
    expect(SRC.flatMap(undocumented)).to.deep.equal([]);
  });
});

describe("the console's page", () => {
  it('has short lines, also inside templates, and short files', () => {
    const long = PAGE.flatMap(({ path, lines }) => [
      ...lines.flatMap((line, index) =>
        [...line].length > LINE_CHARACTERS_MAX
          ? [`${path}:${index + 1} has ${[...line].length} characters`]
          : [],
      ),
      ...(lines.length - 1 > FILE_LINES_MAX ? [`${path} has ${lines.length - 1} lines`] : []),
    ]);
    expect(long).to.deep.equal([]);
  });

  it('draws no component in a template, where no compiler checks its properties', () => {
    expect(linesWith(PAGE, /<\$\{/)).to.deep.equal([]);
  });

  it('uses every class of its style sheet, and every colour', () => {
    const code = PAGE.map(({ text }) => text).join('\n');
    const unused = classesOf(STYLE.text).filter((name) => !usesClass(code, name));
    // The charts bring classes of their own.
    expect(unused.filter((name) => !name.startsWith('u-'))).to.deep.equal([]);
    const named = [...STYLE.text.matchAll(/^\s*(--[a-z0-9-]+):/gm)].map(([, name]) => name ?? '');
    const idle = new Set(
      named.filter((name) => !`${code}${STYLE.text}`.match(new RegExp(`(\\(|')${name}\\b`))),
    );
    expect([...idle]).to.deep.equal([]);
  });
});

describe('the two runs of the tests', () => {
  it('take every file between them, and each but services on stores once', () => {
    const [short, long] = [filesOf('short'), filesOf('long')];
    expect([...new Set([...short, ...long])].toSorted()).to.deep.equal(
      globSync('test/**/*.test.ts', { cwd: ROOT }).toSorted(),
    );
    const twice = short.filter((file) => long.includes(file));
    expect(twice.filter((file) => !readFileSync(file, 'utf8').includes('describeOn'))).to.deep.equal([]);
  });
});

describe('the mutations', () => {
  it('each name a place that is in its file once', () => {
    const all: readonly Mutation[] = parse(readFileSync('scripts/mutate/mutations.yaml', 'utf8'));
    const isElsewhere = ({ file, from }: Mutation) => readFileSync(file, 'utf8').split(from).length !== 2;
    expect(all.filter(isElsewhere).map(({ file, breaks }) => `${file}: ${breaks}`)).to.deep.equal([]);
  });
});

describe('these checks', () => {
  it('see a line of code, and neither a comment nor a quoted text', () => {
    const file = (line: string): SourceFile => ({ path: 'x.ts', text: line, lines: [line], imports: [] });
    const sees = (line: string) => findings([file(line)], /\bany\b/).length === 1;
    expect(sees('const x: any = 1;')).to.equal(true);
    expect(sees('// in any case')).to.equal(false);
    expect(sees(' * in any case')).to.equal(false);
    expect(sees("const x = 'any';")).to.equal(false);
    expect(sees('const x = "any"; const y: any = x;')).to.equal(true);
  });

  it('let a folder import itself and what lies below, and nothing above or beside', () => {
    const may = [
      'decision decision',
      'decision client',
      'http/caller http/openapi',
      'rules/parse rules/proof',
    ];
    const mayNot = [
      'client decision',
      'access authoring',
      'http/openapi http/platform',
      'rules/proof rules/parse',
    ];
    const asked = [...may, ...mayNot, 'http/caller config.ts'].map((pair) => pair.split(' '));
    const allowed = asked.filter(([from = '', to = '']) => mayImport(from, to));
    expect(allowed.map((pair) => pair.join(' '))).to.deep.equal(may);
  });

  it('know a file by the closest place that is named', () => {
    expect(placeOf('src/state/redis/connection/url.ts')).to.equal('state/redis/connection');
    expect(placeOf('src/state/redis/store.ts')).to.equal('state/redis');
    expect(placeOf('src/state/keys.ts')).to.equal('state');
    expect(placeOf('src/main.ts')).to.equal('main.ts');
    expect(placeOf('src/cellar/wine.ts')).to.equal('cellar/wine.ts');
  });

  it('find the classes of a style sheet, and where the page uses them', () => {
    expect(classesOf('/* .no */ .one, .two:hover > p { margin: .5em }')).to.deep.equal(['one', 'two']);
    expect(usesClass('<p class="one two">', 'two')).to.equal(true);
    expect(usesClass('<p class="one-two">', 'two')).to.equal(false);
    expect(usesClass("class=${`pill-${tone}`} tone = 'good'", 'pill-good')).to.equal(true);
    expect(usesClass("class=${`pill-${tone}`} tone = 'good'", 'pill-bad')).to.equal(false);
  });

  it('find a long function without a docstring', () => {
    const body = Array.from({ length: 30 }, () => '  work();');
    const long = ['export function long(): void {', ...body, '}'];
    const file = (lines: readonly string[]): SourceFile => ({ path: 'x.ts', text: '', lines, imports: [] });
    expect(undocumented(file(long))).to.deep.equal(['x.ts:1 long']);
    expect(undocumented(file(['/** Works. */', ...long]))).to.deep.equal([]);
    expect(undocumented(file(['export function small(): void {', '  work();', '}']))).to.deep.equal([]);
  });
});
