import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';

const ROOT = join(import.meta.dirname, '..');

/** Pages for who works on the project, which name files and folders. */
const PAGES = ['src/README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'test/README.md'];

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
  const platform = join(ROOT, 'src', 'http', 'platform');
  const openapi = join(ROOT, 'test', 'http', 'openapi');
  return [...places, chaos, platform, openapi].some((place) => existsSync(join(place, path)));
}

describe('the settings for editors', () => {
  it('name every schema of rule files', () => {
    const settings = text('.vscode/settings.json');
    const schemas = readdirSync(join(ROOT, 'rules', 'schema'));
    expect(schemas.filter((name) => !settings.includes(`./rules/schema/${name}`))).to.deep.equal([]);
  });
});

describe('the pages for contributors', () => {
  for (const page of PAGES) {
    it(`name files that are there: ${page}`, () => {
      const links = [...text(page).matchAll(/\]\(([^)#:]+)\)/g)].map(([, target = '']) => target);
      const folder = dirname(join(ROOT, page));
      expect(links.filter((target) => !existsSync(join(folder, target)))).to.deep.equal([]);
      expect(namedPaths(page).filter((path) => !isThere(page, path))).to.deep.equal([]);
    });
  }

  it('draw every folder of src in the picture of the storeys', () => {
    const [, picture = ''] = /## The storeys[\s\S]*?```\n([\s\S]*?)```/.exec(text('src/README.md')) ?? [];
    const folders = readdirSync(join(ROOT, 'src'), { withFileTypes: true }).filter((entry) =>
      entry.isDirectory(),
    );
    const words = picture.split(/[\s/,]+/);
    expect(folders.map(({ name }) => name).filter((name) => !words.includes(name))).to.deep.equal([]);
  });
});
