import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import type { WrittenConstant } from '#decision/rules/text/constant.ts';
import { type SeededConsole, startSeededConsole } from '../../../scripts/screenshots/seeded-console.ts';
import { rawExchange, rawStatus } from '../../checkout/http/raw-exchange.ts';
import { call } from '../../service/http-call.ts';
import { KEY_LIFETIME_MS } from '../../service/key-lifetime.ts';
import { Tenant } from '../../service/tenant.ts';

interface VersionBody {
  readonly version: string;
  readonly sound: boolean;
  readonly files: readonly { readonly path: string; readonly text: string }[];
  readonly problems: readonly {
    readonly at: { readonly file: string; readonly line: number };
    readonly message: string;
  }[];
  readonly ladder: { readonly levelsMs: readonly number[] } | null;
  readonly constants: readonly WrittenConstant[];
  readonly coverage: { readonly passed: number; readonly failed: number } | null;
}

const PAGE = fileURLToPath(new URL('../../../src/workbench/console/page', import.meta.url));

/** What a process was started with; nothing once it has ended. */
function commandOf(pid: string): string {
  return existsSync(`/proc/${pid}`) ? readFileSync(`/proc/${pid}/cmdline`, 'utf8') : '';
}

describe('the console over HTTP', () => {
  let seeded: SeededConsole;
  let shop: Tenant;
  before(async () => {
    seeded = await startSeededConsole();
    shop = new Tenant(seeded, seeded.key);
  });
  after(() => seeded.stop());

  const file = (path: string, headers = {}) => call<string>('GET', `${seeded.url}${path}`, headers);

  /** Below which address the page has its files: it holds a hash of them. */
  const release = async (): Promise<string> => {
    const [, found = ''] = /src="(console\/[\w-]{22})\/start\.js"/.exec((await file('')).body) ?? [];
    return found;
  };

  describe('its files', () => {
    it('are served without a key, under a policy that allows nothing from elsewhere and nothing inline', async () => {
      const page = await file('');
      expect(page.status).to.equal(200);
      expect(page.headers.get('Content-Type')).to.equal('text/html; charset=utf-8');
      expect(page.headers.get('Content-Security-Policy')).to.equal(
        "default-src 'none';script-src 'self';style-src 'self';connect-src 'self';img-src 'self' data:;font-src 'self';base-uri 'none';form-action 'none';frame-ancestors 'none'",
      );
      expect(page.headers.get('X-Content-Type-Options')).to.equal('nosniff');
      expect(page.headers.get('Referrer-Policy')).to.equal('no-referrer');
      expect(page.body).to.not.match(/<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=/);
    });

    it('have a font of their own, which the style sheet names', async () => {
      const root = await release();
      expect((await file(`${root}/style.css`)).body).to.include('url(./inter.woff2)');
      const font = await file(`${root}/inter.woff2`);
      expect([font.status, font.headers.get('Content-Type')]).to.deep.equal([200, 'font/woff2']);
    });

    it('are few, each loads only others of them, and what draws charts or edits comes after those that the page begins with', async () => {
      const root = await release();
      const begun = new Set<string>();
      const later = new Set<string>();
      const walk = async (name: string): Promise<void> => {
        if (begun.has(name)) return;
        begun.add(name);
        const answer = await file(`${root}/${name}`);
        expect(answer.status, name).to.equal(200);
        expect(answer.headers.get('Content-Type'), name).to.equal('text/javascript; charset=utf-8');
        for (const [, own = ''] of answer.body.matchAll(/\bimport\("\.\/([\w.-]+\.js)"\)/g)) later.add(own);
        for (const [, own = ''] of answer.body.matchAll(/\b(?:from|import)"\.\/([\w-]+\.js)"/g))
          await walk(own);
      };
      await walk('start.js');
      await walk('app.js');
      expect([...begun]).to.deep.equal(['start.js', 'app.js']);
      expect([...later]).to.have.members(['app.js', 'uPlot.esm.js', 'code-editor.js', 'browser.js']);
      for (const name of later) expect((await file(`${root}/${name}`)).status, name).to.equal(200);
    });

    it('are bundled by a process that ends', async function () {
      const children = `/proc/self/task/${process.pid}/children`;
      if (!existsSync(children)) this.skip();
      await release();
      const commands = readFileSync(children, 'utf8').split(' ').filter(Boolean).map(commandOf);
      expect(commands.filter((command) => command.includes('esbuild'))).to.deep.equal([]);
    });

    it('are kept for a year under an address that changes with them; the page itself is asked for again', async () => {
      const page = await file('');
      expect(page.headers.get('Cache-Control')).to.equal('no-cache');
      const known = { 'If-None-Match': page.headers.get('ETag') ?? '', 'Cache-Control': 'max-age=0' };
      expect((await file('', known)).status).to.equal(304);
      expect((await file('', { 'If-None-Match': '"other"' })).status).to.equal(200);
      const module = await file(`${await release()}/app.js`);
      expect(module.headers.get('Cache-Control')).to.equal('max-age=31536000, immutable');
    });

    it('that a page of another version asks for come from this one, and are not kept', async () => {
      const answer = await file('console/of-another-version/app.js');
      expect([answer.status, answer.headers.get('Cache-Control')]).to.deep.equal([200, 'no-store']);
    });

    it('are sent compressed to whoever takes that', async () => {
      const sent = async (encoding: string) =>
        (await file(`${await release()}/app.js`, { 'Accept-Encoding': encoding })).headers.get(
          'Content-Encoding',
        );
      expect([await sent('gzip, br'), await sent('gzip'), await sent('identity')]).to.deep.equal([
        'br',
        'gzip',
        null,
      ]);
    });

    it('are those of the page alone', async () => {
      const root = await release();
      const strange = ['', 'index.html', 'pages/now.js', 'bundled.json', 'package.json', 'app.js/', 'APP.JS'];
      for (const path of strange) expect((await file(`${root}/${path}`)).status, path).to.equal(404);
      expect((await file('console/app.js')).status).to.equal(404);
      for (const path of ['/console/a/../routes.ts', '/console/a/..%2froutes.ts', '//etc/passwd']) {
        const answer = await rawExchange(
          seeded.url,
          `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
        );
        expect(rawStatus(answer), path).to.equal(404);
      }
    });

    it('never put data into markup', async () => {
      for (const path of readdirSync(PAGE, { recursive: true, encoding: 'utf8' }).filter((one) =>
        one.endsWith('.ts'),
      )) {
        expect(readFileSync(join(PAGE, path), 'utf8'), path).to.not.match(
          /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/,
        );
      }
    });
  });

  describe('the session', () => {
    it('tells a key what it may do, and until when', async () => {
      const reader = new Tenant(shop, await seeded.issueShopKey('decisions'));
      const answer = await reader.ask<{ expiresAt?: number | null }>('GET', 'session');
      expect(answer.status).to.equal(200);
      expect(answer.body).to.include({ platform: 'shop' });
      expect(answer.body.expiresAt).to.be.within(Date.now(), Date.now() + KEY_LIFETIME_MS);
      expect(answer.body).to.have.deep.property('operations', ['figures', 'decisions']);
      expect(JSON.stringify(answer.body)).to.not.contain(reader.key.slice(16));
      const ofInstallation = await new Tenant(seeded, seeded.operatorKey).ask<object>('GET', 'session');
      expect(ofInstallation.body).to.include({ platform: '*', expiresAt: null });
    });

    it('is open to a key of any operation of the platform, and refused to one of the checkout', async () => {
      for (const operation of ['outcomes', 'clients', 'rules'] as const) {
        const answer = await new Tenant(shop, await seeded.issueShopKey(operation)).ask('GET', 'session');
        expect(answer.status, operation).to.equal(200);
      }
      const checkout = await new Tenant(shop, await seeded.issueShopKey('score', 'verdict')).ask(
        'GET',
        'session',
      );
      expect(checkout.status).to.equal(403);
      expect(checkout.body.detail).to.equal(
        'The access key has no operation of the platform; the console needs one of figures, decisions, clients:read, clients, waits, rules:read, rules, outcomes, erase, lists:read, lists, operate, keys, audit, approve. The platform owner grants operations.',
      );
    });
  });

  describe('the rule sets', () => {
    it('are listed with their state, newest first', async () => {
      const { body } = await shop.ask<{ versions: readonly VersionBody[] }>('GET', 'rules/versions');
      expect(body.versions.map(({ version, sound }) => [version, sound])).to.deep.equal([
        ['p2.v12', false],
        ['p2.v11', true],
        ['p2.v10', true],
      ]);
    });

    it('open to their files, their ladder, and the constants that may be varied', async () => {
      const { body } = await shop.ask<VersionBody>('GET', 'rules/versions/p2.v10');
      expect(body.files.map(({ path }) => path)).to.include.members(['verdicts.yaml', 'cases/ladder.yaml']);
      expect(body.ladder?.levelsMs).to.deep.equal([30_000, 300_000, 1_800_000]);
      expect(body.problems).to.deep.equal([]);
      expect(body.coverage?.failed).to.equal(0);
      const firstWait = body.constants.find(({ path }) => path === 'ladder.levels[0]');
      expect(firstWait?.at.file).to.equal('ladder.yaml');
      expect(firstWait?.text).to.equal('30s');
    });

    it('that are not sound open to their problems, each with its place', async () => {
      const { body } = await shop.ask<VersionBody>('GET', 'rules/versions/p2.v12');
      expect(body).to.include({ sound: false, ladder: null, coverage: null });
      expect(body.problems.map(({ at, message }) => [at.file, message])).to.deep.equal([
        ['verdicts.yaml', 'unknown fact "atemptOpen"; did you mean "attemptOpen"?'],
      ]);
    });

    it('are compared by meaning', async () => {
      const answer = await shop.ask<{ differences: readonly { text: string }[] }>(
        'GET',
        'rules/diff?before=p2.v10&after=p2.v11',
      );
      expect(answer.body.differences.map(({ text }) => text)).to.deep.equal([
        'ladder level 1: 30s -> 40s',
        'asked-too-early: waitRemainingSeconds > 0 -> > 2',
      ]);
    });
  });
});
