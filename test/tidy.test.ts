import { globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { parse } from 'yaml';
import type { Mutation } from '../scripts/mutate.ts';
import { filesOf } from './run.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** The rooms of src/, and which others each may import. The files beside the rooms may import all of them. */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  base: [],
  sdk: [],
  decision: ['base'],
  state: ['decision', 'base'],
  checkout: ['decision', 'state', 'base'],
  history: ['decision', 'state', 'base'],
  workbench: ['checkout', 'history', 'decision', 'state', 'sdk', 'base'],
};

/** The files of src/ that belong to no room, and who may import them beside each other. */
const BESIDE_ROOMS: Readonly<Record<string, readonly string[]>> = {
  'application.ts': [],
  'config.ts': ['workbench'],
  'main.ts': [],
  'serve.ts': [],
};

/** So many lines of code, without comments, can run when a checkout asks: in `checkout`, both stores and what they import. */
const CHECKOUT_LINES_MAX = 19_300;

/** These decide and reckon the same from the same inputs, without clock, chance or I/O. */
const PURE = /^src\/(decision|history\/statistics)\//;

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
  { packages: ['json-rules-engine', 'yaml'], home: 'src/decision/rules/' },
  { packages: ['@duckdb/node-api'], home: 'src/history/archive/' },
  { packages: ['@aws-sdk/client-s3'], home: 'src/history/archive/s3/' },
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

const FILE_LINES_MAX = 500;

/** Markup in templates is not wrapped by the formatter. */
const LINE_CHARACTERS_MAX = 110;

/** The verbs that names of exported functions begin with. */
const VERBS: ReadonlySet<string> = new Set(
  `
    accept acquire add advance agree allow analyze answer append apply are ask assemble assess assign audit
    authenticate back begin bind bound build call check choose claim classify climb close collect combine
    compact compare compile complete compose compress compute conclude connect convert copy count counts
    create cut date decide declare decode delay delete derive describe diff draw edit encode end erase escape
    estimate evaluate examine exclude excuse expire explain explore export extend fetch filter find fold follow foresee
    forget format get go grant group guess has hash hide hold holds identify import includes insert intersect
    is join keep keeps label limit list listen lists load locate log lower make map mark match matches
    measure merge mount move multiply name negate normalize note number open pack paint parse pause pick
    predict prepare present print prove quarantine query quote rank read reapply rebuild recall recommend record
    redecide rederive refuse rehash release reload remember remove rename render reopen repair repeat
    replace replay report require reset restore retry reverse rewrite roll round run save scan schedule
    select send serialize serve set settle shed shorten show shows sign sleep sort spell split start
    stop stream stringify subtract suggest sum summarize sync take tally to toggle tokenize trace try unpack
    update use verify wait walk was watch widen with work write
  `
    .trim()
    .split(/\s+/),
);

/** Names that end in one of these are the noun of what the function returns. */
const NOUN_ENDINGS: readonly (readonly [RegExp, string])[] = [
  [/Sql$/, 'a piece of SQL'],
  [/(?:Key|Prefix)$/, 'the key of something stored'],
  [/(?:Schema|Form|Parameter|Option)$/, 'a declaration of a shape'],
  [/Commands?$/, 'commands of the command line'],
  [/Fact(?:IfKnown)?$/, 'the declaration of a fact'],
  [/Question$/, "a question of the console's page"],
];

/** Files in which other names are usual, and why. */
const NOUNS_ALLOWED: Readonly<Record<string, { readonly names: string; readonly why: string }>> = {
  'src/base/shapes.ts': {
    names:
      'text key choice describedChoice oneOf plainText digestText yesNo percent literal instantText nullable shape epochMs named',
    why: "words of schemas, read like TypeBox's own",
  },
  'src/decision/rules/proof/built-conditions.ts': {
    names: 'allOf anyOf not implies iff',
    why: 'words of logic',
  },
  'src/state/keys.ts': {
    names: 'attributeValueId deviceMember deviceMembers orderBucket',
    why: 'parts of keys',
  },
  'src/workbench/commands/scoring.ts': { names: 'main', why: 'where the commands begin' },
  'src/workbench/console/page/html.ts': { names: 'h', why: "Preact's name for it" },
  'src/workbench/console/page/parts/form.ts': {
    names: 'onTyped onSubmit',
    why: 'handlers of events, as HTML names them',
  },
};

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
const PAGE = sources('src/workbench/console/page', '.ts');

const STYLE = readSource(join(ROOT, 'src/workbench/console/page/style.css'));

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

/** The room of a file below src/, or the file itself where it lies beside the rooms. */
function roomOf(path: string): string {
  return path.split('/')[1] ?? '';
}

function mayImport(from: string, to: string): boolean {
  if (from === to || Object.hasOwn(BESIDE_ROOMS, from)) return true;
  return ROOMS[from]?.includes(to) === true || BESIDE_ROOMS[to]?.includes(from) === true;
}

/** A folder without folders in it is a place, and so is each file of one that has some. */
function placeOf(path: string): string {
  const folder = dirname(path);
  return SRC.some((file) => dirname(dirname(file.path)) === folder) ? path : folder;
}

/** Those places that import each other in a circle. */
function circlesIn(importing: ReadonlyMap<string, ReadonlySet<string>>): readonly string[] {
  const left = new Map(importing);
  // What imports none of the others, or is imported by none of them, is in no circle.
  for (let before = -1; before !== left.size; ) {
    before = left.size;
    const imported = new Set([...left.values()].flatMap((targets) => [...targets]));
    for (const [place, targets] of left)
      if (!imported.has(place) || ![...targets].some((target) => left.has(target))) left.delete(place);
  }
  return [...left.keys()];
}

/** What each place imports of other places. */
function importsBetween(placeOf: (path: string) => string): ReadonlyMap<string, ReadonlySet<string>> {
  const importing = new Map<string, Set<string>>();
  for (const file of SRC) {
    const place = placeOf(file.path);
    const targets = importing.get(place) ?? new Set();
    importing.set(place, targets);
    for (const target of ownImports(file)) if (placeOf(target) !== place) targets.add(placeOf(target));
  }
  return importing;
}

/** The files that a room's README names as public, by their paths below src/. */
function publicFiles(room: string): readonly string[] {
  const page = readFileSync(join(ROOT, 'src', room, 'README.md'), 'utf8');
  const [, table = ''] = page.split('## Public files');
  return table
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .flatMap((line) => [...line.matchAll(/`([^`]+\.ts)`/g)].map(([, file]) => `src/${room}/${file}`));
}

/** Whether a line holds code, and not a part of a comment alone or nothing. */
function isCode(line: string): boolean {
  return !/^\s*(?:\/\*|\*|\/\/|$)/.test(line);
}

/** All files that some files reach by imports that are there at run time. */
function reachedFrom(roots: readonly SourceFile[]): readonly SourceFile[] {
  const reached = new Set<SourceFile>();
  const follow = (file: SourceFile) => {
    if (reached.has(file)) return;
    reached.add(file);
    for (const target of runTimeImports(file)) {
      const found = SRC.find(({ path }) => path === target);
      if (found !== undefined) follow(found);
    }
  };
  roots.forEach(follow);
  return [...reached];
}

/** Without `import type`, and without imports that name types alone. */
function runTimeImports({ path, text }: SourceFile): readonly string[] {
  const statements = text.matchAll(/\b(?:import|export)\s+(type\s)?([^;'"]*?)\s*from\s+'([#.][^']+)'/g);
  return [...statements].flatMap(([, type, names = '', module = '']) => {
    const members = /^\{(.*)\}$/s.exec(names.trim())?.[1]?.split(',') ?? [names];
    const named = members.map((name) => name.trim()).filter((name) => name !== '');
    const isType = type !== undefined || named.every((name) => name.startsWith('type '));
    return isType ? [] : [pathOf(path, module)];
  });
}

/** The path of one of our own modules; `#` stands for src/, as package.json says. */
function pathOf(importer: string, module: string): string {
  return module.startsWith('#') ? `src/${module.slice(1)}` : join(dirname(importer), module);
}

/** The paths of our own files that a file imports. */
function ownImports({ path, imports }: SourceFile): readonly string[] {
  return imports.filter((name) => /^[.#]/.test(name)).map((name) => pathOf(path, name));
}

/** `import { a as b }` renames and casts nothing. */
function withoutRenames(files: readonly SourceFile[]): readonly SourceFile[] {
  const rename = /^\s*(?:import|export)\b.*\bfrom\b|^\s+(?:type )?\w+ as \w+,?$/;
  return files.map((file) => ({ ...file, lines: file.lines.map((line) => (rename.test(line) ? '' : line)) }));
}

/** The exported functions of a file whose names neither begin with a verb nor are allowed as a noun. */
function namedOddly({ path, text }: SourceFile): readonly string[] {
  const functions =
    /^export (?:(?:async )?function\*? |const (?=\w+ = (?:async )?(?:\([^)]*\)(?:: [^=]+)? =>|<)))(\w+)/gm;
  const allowed = NOUNS_ALLOWED[path]?.names.split(' ') ?? [];
  return [...text.matchAll(functions)]
    .map(([, name = '']) => name)
    .filter((name) => {
      const [word = ''] = /^[a-z]*/.exec(name) ?? [];
      // Components of the page are nouns and begin with a capital.
      if (word === '' || VERBS.has(word)) return false;
      return !allowed.includes(name) && !NOUN_ENDINGS.some(([ending]) => ending.test(name));
    })
    .map((name) => `${path} ${name}`);
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
  it('lies in rooms, beside which there are few files', () => {
    const names = readdirSync(join(ROOT, 'src')).filter((name) => name !== 'README.md');
    expect(names.toSorted()).to.deep.equal([...Object.keys(ROOMS), ...Object.keys(BESIDE_ROOMS)].toSorted());
  });

  it('imports of other rooms only what its own may', () => {
    const past = SRC.flatMap((file) =>
      ownImports(file)
        .filter((target) => !mayImport(roomOf(file.path), roomOf(target)))
        .map((target) => `${file.path} imports ${target}`),
    );
    expect(past).to.deep.equal([]);
  });

  for (const room of Object.keys(ROOMS).filter((name) => name !== 'sdk')) {
    it(`imports of ${room} the files that its README calls public, and no others`, () => {
      const strangers = SRC.filter(({ path }) => roomOf(path) !== room);
      const imported = strangers.flatMap(ownImports).filter((target) => roomOf(target) === room);
      expect([...new Set(imported)].toSorted()).to.deep.equal(publicFiles(room).toSorted());
    });
  }

  it('names files of other folders from src/, and those of its own folder from there', () => {
    const climbing = SRC.flatMap(({ path, imports }) =>
      imports.filter((name) => name.startsWith('..')).map((name) => `${path} imports ${name}`),
    );
    expect(climbing).to.deep.equal([]);
  });

  it('has no files that import each other in a circle', () => {
    expect(circlesIn(importsBetween((path) => path))).to.deep.equal([]);
  });

  it('has no folders that import each other in a circle', () => {
    expect(circlesIn(importsBetween(placeOf))).to.deep.equal([]);
  });

  it('reaches from a checkout and both stores no more than somebody can read', () => {
    const roots = SRC.filter(({ path }) => /^src\/(checkout|state\/(?!rule-folders))/.test(path));
    const lines = reachedFrom(roots).flatMap((file) => file.lines.filter(isCode)).length;
    expect(lines).to.be.within(CHECKOUT_LINES_MAX / 2, CHECKOUT_LINES_MAX);
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

  it('parses rules without the prover', () => {
    const parsers = SRC.filter(({ path }) => path.startsWith('src/decision/rules/parse/'));
    const reached = reachedFrom(parsers).map(({ path }) => path);
    expect(reached).to.include('src/decision/rules/parse/parse.ts');
    expect(reached.filter((path) => path.startsWith('src/decision/rules/proof/'))).to.deep.equal([]);
  });

  it('reads the environment only in config.ts', () => {
    const others = SRC.filter(({ path }) => path !== 'src/config.ts');
    expect(findings(others, /\bprocess\.env\b/)).to.deep.equal([]);
  });

  it('has no casts except as const', () => {
    const outsidePage = SRC.filter(({ path }) => !path.startsWith('src/workbench/console/page/'));
    const cast = /[\w)\]}] as (?!const\b)[A-Za-z{[(]/;
    expect(findings(withoutRenames(outsidePage), cast)).to.deep.equal([]);
    // Templates of the page are words, too.
    const castOfPage = /[\w)\]}] as (?!const\b)[A-Z]\w*(?:\[\]|<[\w, ]+>)?[;,)} ]*$/;
    expect(findings(withoutRenames(PAGE), castOfPage)).to.deep.equal([]);
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

  it('begins the name of each exported function with a verb, or lists it as a noun', () => {
    expect(SRC.flatMap(namedOddly)).to.deep.equal([]);
    const unused = Object.entries(NOUNS_ALLOWED).flatMap(([path, { names }]) => {
      const text = SRC.find((file) => file.path === path)?.text ?? '';
      return names.split(' ').filter((name) => !new RegExp(`^export .*\\b${name}\\b`, 'm').test(text));
    });
    expect(unused).to.deep.equal([]);
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
  it('see a function that is named by a participle, and not one that begins with a verb', () => {
    const file = (text: string): SourceFile => ({ path: 'x.ts', text, lines: [text], imports: [] });
    const odd = (name: string) => namedOddly(file(`export function ${name}(`)).length === 1;
    expect(['told', 'whyNeither', 'findOrder', 'orderKey', 'Chart'].map(odd)).to.deep.equal([
      true,
      true,
      false,
      false,
      false,
    ]);
  });

  it('see a line of code, and neither a comment nor a quoted text', () => {
    const file = (line: string): SourceFile => ({ path: 'x.ts', text: line, lines: [line], imports: [] });
    const sees = (line: string) => findings([file(line)], /\bany\b/).length === 1;
    expect(sees('const x: any = 1;')).to.equal(true);
    expect(sees('// in any case')).to.equal(false);
    expect(sees(' * in any case')).to.equal(false);
    expect(sees("const x = 'any';")).to.equal(false);
    expect(sees('const x = "any"; const y: any = x;')).to.equal(true);
  });

  it('know which room may import which', () => {
    const may = [
      'checkout decision',
      'workbench history',
      'state state',
      'workbench config.ts',
      'main.ts sdk',
    ];
    const mayNot = ['decision state', 'checkout history', 'history checkout', 'sdk base', 'state config.ts'];
    const asked = [...may, ...mayNot].map((pair) => pair.split(' '));
    const allowed = asked.filter(([from = '', to = '']) => mayImport(from, to));
    expect(allowed.map((pair) => pair.join(' '))).to.deep.equal(may);
  });

  it('know the room of a file, and its place among those of a room', () => {
    expect(roomOf('src/state/redis/connection/url.ts')).to.equal('state');
    expect(roomOf('src/main.ts')).to.equal('main.ts');
    expect(placeOf('src/state/redis/connection/url.ts')).to.equal('src/state/redis/connection');
    expect(placeOf('src/state/redis/store.ts')).to.equal('src/state/redis/store.ts');
  });

  it('find what imports each other in a circle', () => {
    const circle = new Map([
      ['a', new Set(['b'])],
      ['b', new Set(['c'])],
      ['c', new Set(['b', 'd'])],
      ['d', new Set<string>()],
    ]);
    expect(circlesIn(circle)).to.deep.equal(['b', 'c']);
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
