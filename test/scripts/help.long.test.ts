import { expect } from 'chai';
import { runNode } from '../processes/node-process.ts';

/** The scripts that people start by `npm run`. */
const SCRIPTS = ['bench', 'chaos', 'demo', 'example-data', 'mutate', 'replay'];

describe('a script that people start', () => {
  for (const name of SCRIPTS) {
    it(`says how it is called, and does nothing else: ${name}`, async () => {
      const { exitCode, stdout, stderr } = await runNode([`scripts/${name}.ts`, '--help'], {
        env: process.env,
      });
      expect([exitCode, stderr]).to.deep.equal([0, '']);
      expect(stdout).to.match(new RegExp(`^Usage: ${name} `));
    });

    it(`refuses an option that it does not know: ${name}`, async () => {
      const { exitCode, stdout, stderr } = await runNode([`scripts/${name}.ts`, '--unheard-of'], {
        env: process.env,
      });
      expect([exitCode, stdout]).to.deep.equal([2, '']);
      expect(stderr).to.match(/^error: unknown option '--unheard-of'\n/);
    });
  }

  it('names what it has where it is asked for something else', async () => {
    for (const [name, asked, told] of [
      ['chaos', ['floods'], /^error: there is no scenario "floods"; choose from service-kills, /],
      ['bench', ['--parts', 'speed'], /^error: there is no part "speed"; choose from rules, cost, /],
      ['bench', ['--runs', '0'], /^error: --runs must be a whole number from 1 to 99999999, not "0"/],
      ['mutate', ['src/none'], /^error: no mutation is in a file whose path begins with "src\/none"; /],
    ] as const) {
      const { exitCode, stderr } = await runNode([`scripts/${name}.ts`, ...asked], { env: process.env });
      expect([exitCode, stderr], name).to.satisfy(() => exitCode === 2 && told.test(stderr));
    }
  });
});
