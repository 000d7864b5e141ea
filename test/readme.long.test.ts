import { execFile, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { type Block, blocksOf, section } from './guide-blocks.ts';
import { temporaryDirectory } from './servers/temporary-directory.ts';
import { type ServiceProcess, spawnService } from './service/service-process.ts';

const ROOT = join(import.meta.dirname, '..');

const README = readFileSync(join(ROOT, 'README.md'), 'utf8');

describe('README.md', () => {
  let service: ServiceProcess;
  let dataDir: string;
  before(async () => {
    dataDir = temporaryDirectory();
    service = await spawnService(dataDir);
  });
  after(() => service?.stop());

  /** The text as it must be for this service, which took free ports. */
  function here(text: string): string {
    return text
      .replaceAll('http://127.0.0.1:8080', service.callerUrl)
      .replaceAll('http://127.0.0.1:8081', service.platformUrl)
      .replaceAll(
        'npm run -s example --',
        `npm run -s example -- --url ${service.callerUrl} --platform-url ${service.platformUrl}`,
      );
  }

  /** The output of each block when all are run in order in one shell, which ends at the first failure. */
  async function run(blocks: readonly Block[]): Promise<readonly string[]> {
    const script = blocks.map(({ text }) => `${here(text)}\necho; echo '--- next block'\n`).join('');
    const path = [join(ROOT, 'node_modules', '.bin'), process.env['PATH']].join(delimiter);
    const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], {
      cwd: ROOT,
      env: { ...process.env, PATH: path, DATA_DIR: dataDir, NO_COLOR: '1' },
    });
    return stdout.split('--- next block\n').slice(0, -1);
  }

  it('has four first tasks that work in order and print what it says', async () => {
    const blocks = blocksOf(section(README, 'Four first tasks')).filter(({ language }) => language === 'sh');
    expect(blocks.length).to.be.above(8);
    const printed = await run(blocks);
    for (const [index, { text, prints }] of blocks.entries()) {
      const seen = printed[index] ?? '';
      expect(seen, text).to.not.match(/"status":[45]\d\d/);
      if (prints !== null) expect(seen.trim(), text).to.equal(prints);
    }
  });

  it('shows a checkout that runs to its end', async () => {
    const blocks = blocksOf(section(README, 'For programs')).filter(({ language }) => language === 'sh');
    const printed = await run(blocks);
    expect(printed.join('')).to.match(/outcome recorded: the payer is PAYING now, payment score 0\.\d{4}/);
  });
});

describe('TypeScript in the guide of the client library', () => {
  it('compiles as strictly as this project', () => {
    const blocks = blocksOf(readFileSync(join(ROOT, 'src', 'sdk', 'README.md'), 'utf8')).filter(
      ({ language }) => language === 'ts',
    );
    expect(blocks).to.not.have.length(0);
    const project = temporaryDirectory();
    const files = blocks.map((_, index) => `block-${index + 1}.mts`);
    for (const [index, { text }] of blocks.entries()) {
      writeFileSync(join(project, `block-${index + 1}.mts`), text);
    }
    const settings = {
      extends: join(ROOT, 'tsconfig.json'),
      compilerOptions: {
        types: ['node'],
        typeRoots: [join(ROOT, 'node_modules', '@types')],
        paths: { 'client-scoring-client': [join(ROOT, 'src', 'sdk', 'client.ts')] },
      },
      files,
      include: [],
    };
    writeFileSync(join(project, 'tsconfig.json'), JSON.stringify(settings));
    const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
    const { stdout } = spawnSync(process.execPath, [tsc, '--project', project]);
    expect(stdout.toString()).to.equal('');
  });
});
