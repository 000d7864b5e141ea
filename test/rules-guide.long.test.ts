import { execFile } from 'node:child_process';
import { cpSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { blocksOf, section } from './guide-blocks.ts';
import { temporaryDirectory } from './servers/temporary-directory.ts';
import { type ServiceProcess, spawnService } from './service/service-process.ts';

const ROOT = join(import.meta.dirname, '..');
const GUIDE = readFileSync(join(ROOT, 'rules', 'TUTORIAL.md'), 'utf8');
/** What a reader types. */
const STEPS = blocksOf(section(GUIDE, 'Which rule should I change? Worked through')).filter(
  ({ language }) => language === 'sh',
);

/** What `npm run` runs by these names. */
const SCRIPTS = new Map([
  ['scoring', 'src/workbench/commands/scoring.ts'],
  ['replay', 'scripts/replay.ts'],
  ['example-data', 'scripts/example-data.ts'],
]);

/** Lines without indentation and column widths, which depend on other lines. */
function linesOf(text: string): readonly string[] {
  return text.split('\n').map((line) => line.trim().replaceAll(/\s+/g, ' '));
}

describe('rules/TUTORIAL.md', function () {
  // Two replays of four weeks and twenty commands may take minutes on a busy machine.
  this.timeout(900_000);
  let folder: string;
  let rules: string;
  let service: ServiceProcess;

  after(() => service?.stop());

  /** The state before the first line; a second try begins there, too. */
  async function begin(): Promise<void> {
    await service?.stop();
    folder = temporaryDirectory();
    rules = join(folder, 'rules');
    for (const part of ['p2.v10', 'schema'])
      cpSync(join(ROOT, 'rules', part), join(rules, part), { recursive: true });
    service = await spawnService(join(folder, 'data'), { RULES_DIR: rules });
  }

  /** What is printed when the commands run in one folder, without npm, which would look for a package there. */
  async function run(commands: string): Promise<string> {
    const script = commands
      .replaceAll(
        /npm run -s ([a-z-]+) --/g,
        (_, name: string) => `node '${join(ROOT, SCRIPTS.get(name) ?? name)}'`,
      )
      // Like diff itself it ends with 1 when it shows a difference.
      .replaceAll(/^.* rules diff .*$/gm, '{ $& || [ $? -eq 1 ]; }');
    const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], {
      cwd: folder,
      env: {
        RULES_DIR: rules,
        DATA_DIR: join(folder, 'data'),
        PATH: [join(ROOT, 'node_modules', '.bin'), process.env['PATH']].join(delimiter),
        NODE_COMPILE_CACHE: join(ROOT, 'node_modules', '.cache', 'compiled'),
      },
    });
    return stdout;
  }

  it('works through a change from the report to the rollback, and prints every line that it shows', async () => {
    expect(STEPS).to.have.lengthOf.above(6);
    await begin();
    for (const { text, prints } of STEPS) {
      const printed = linesOf(await run(text));
      const missing = linesOf(prints ?? '').filter((line) => line !== '' && !printed.includes(line));
      expect(missing, text).to.deep.equal([]);
    }
  });

  it('leaves a version that no first start chooses', async () => {
    const fresh = await spawnService(join(folder, 'fresh'), { RULES_DIR: rules });
    try {
      expect(fresh.stdout()).to.contain('rules p2.v10 ');
    } finally {
      await fresh.stop();
    }
  });
});
