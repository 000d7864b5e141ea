import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import packageFile from '../package.json' with { type: 'json' };

const ROOT = join(import.meta.dirname, '..');

/** Pages for contributors, which name files and folders. */
const PAGES = [
  ...globSync('src/{*/,}README.md', { cwd: ROOT }).toSorted(),
  'CONTRIBUTING.md',
  'SECURITY.md',
  'test/README.md',
];

/** All pages about the project. */
const GUIDES = globSync(['*.md', '{packaging,rules,scripts,src,test}/**/*.md'], { cwd: ROOT }).toSorted();

/** The headings of a page, as links name them. */
function anchors(page: string): readonly string[] {
  return [...text(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

/** Links of a page that lead nowhere: no such file, or no such heading in it. */
function brokenLinks(page: string): readonly string[] {
  return [...text(page).matchAll(/\]\(([^)#:\s]*)(?:#([^)]*))?\)/g)].flatMap(([, target = '', heading]) => {
    const path = target === '' ? page : join(dirname(page), target);
    if (!existsSync(join(ROOT, path))) return [target];
    return heading === undefined || anchors(path).includes(heading) ? [] : [`${target}#${heading}`];
  });
}

function text(page: string): string {
  return readFileSync(join(ROOT, page), 'utf8');
}

/** What a page names in backticks that looks like a file or a folder of this repository. */
function namedPaths(page: string): readonly string[] {
  return [...text(page).matchAll(/`((?:[\w.-]+\/)+(?:[\w.-]+)?|[\w-]+\.(?:ts|yaml|json))`/g)]
    .map(([, path = '']) => path)
    .filter((path) => !/VERSION|^p2\.v11|NAME/.test(path));
}

function isThere(page: string, path: string): boolean {
  const places = [ROOT, join(ROOT, 'src'), dirname(join(ROOT, page)), join(ROOT, 'rules', 'p2.v10')];
  const chaos = join(ROOT, 'scripts', 'chaos');
  const platform = join(ROOT, 'src', 'workbench', 'platform');
  const openapi = join(ROOT, 'test', 'workbench', 'openapi');
  return [...places, chaos, platform, openapi].some((place) => existsSync(join(place, path)));
}

describe('the settings for editors', () => {
  it('name every schema of rule files', () => {
    const settings = text('.vscode/settings.json');
    const schemas = readdirSync(join(ROOT, 'rules', 'schema'));
    expect(schemas.filter((name) => !settings.includes(`./rules/schema/${name}`))).to.deep.equal([]);
  });
});

describe('the guides', () => {
  it('are found', () => {
    expect(GUIDES).to.include.members(['README.md', 'packaging/OPERATING.md', 'rules/README.md']);
  });

  for (const guide of GUIDES) {
    it(`link to existing pages, and run existing scripts of package.json: ${guide}`, () => {
      expect(brokenLinks(guide)).to.deep.equal([]);
      const run = [...text(guide).matchAll(/npm run (?:-s )?([\w:-]+)/g)].map(([, name = '']) => name);
      expect(run.filter((name) => !Object.hasOwn(packageFile.scripts, name))).to.deep.equal([]);
    });
  }
});

describe('the pictures of the console', () => {
  it('are all shown in README.md', () => {
    const pictures = readdirSync(join(ROOT, 'scripts', 'screenshots', 'pictures'));
    expect(pictures.filter((name) => !text('README.md').includes(`pictures/${name}"`))).to.deep.equal([]);
  });
});

describe('the pages for contributors', () => {
  for (const page of PAGES) {
    it(`name existing files: ${page}`, () => {
      expect(namedPaths(page).filter((path) => !isThere(page, path))).to.deep.equal([]);
    });
  }

  it('have a page in every room of src, which the page about the architecture links to', () => {
    const rooms = readdirSync(join(ROOT, 'src'), { withFileTypes: true }).filter((entry) =>
      entry.isDirectory(),
    );
    expect(rooms.length).to.be.at.most(7);
    const links = rooms.map(({ name }) => `](${name}/README.md)`);
    expect(links.filter((link) => !text('src/README.md').includes(link))).to.deep.equal([]);
    expect(brokenLinks('src/README.md')).to.deep.equal([]);
  });
});
