import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { examplePayments } from '../../scripts/example-data/example-payments.ts';
import { parseRecordedPayment } from '../../scripts/replay/recorded-payments.ts';
import { runNode } from '../processes/node-process.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';

const SCRIPT = join(import.meta.dirname, '..', '..', 'scripts', 'example-data.ts');
const PAYMENTS = examplePayments(1);

describe('example payments', () => {
  it('are the same for the same seed and others for another', () => {
    expect(examplePayments(1)).to.deep.equal(PAYMENTS);
    expect(examplePayments(2)).to.not.deep.equal(PAYMENTS);
  });

  it('are lines that a replay reads, in the order of time', () => {
    const read = PAYMENTS.map((line, place) =>
      parseRecordedPayment(JSON.stringify(line), 'example', place + 1),
    );
    expect(read.map(({ at }) => at)).to.deep.equal(read.map(({ at }) => at).toSorted((a, b) => a - b));
    expect(new Set(read.map(({ orderRef }) => orderRef))).to.have.property('size', PAYMENTS.length);
  });

  it('end paid, unpaid and unknown, each often enough to be counted', () => {
    const ended = (outcome: string | undefined) => PAYMENTS.filter((line) => line.outcome === outcome).length;
    expect([ended('PAID'), ended('UNPAID'), ended(undefined)].every((count) => count >= 100)).to.equal(true);
  });

  it('share devices and addresses here and there, and do not say who means ill', () => {
    const clientsOf = (key: 'fingerprint' | 'ip') =>
      Map.groupBy(PAYMENTS, (line) => line[key])
        .values()
        .map((lines) => new Set(lines.map(({ clientIdKey }) => clientIdKey)).size);
    expect(Math.max(...clientsOf('fingerprint'))).to.equal(8);
    expect(Math.max(...clientsOf('ip'))).to.equal(8);
    const names = PAYMENTS.map(({ clientIdKey, fingerprint }) => `${clientIdKey} ${fingerprint}`);
    expect(names.every((name) => /^payer-\d+ device-\d+$/.test(name))).to.equal(true);
  });
});

describe('npm run example-data', () => {
  it('writes the file and says what is in it', async () => {
    const file = join(temporaryDirectory(), 'payments.ndjson');
    const { exitCode, stdout } = await runNode([SCRIPT, file], { env: {} });
    expect(exitCode).to.equal(0);
    expect(stdout).to.equal(`${file}: 2777 payments of 810 payers, all made up (seed 1).\n`);
    expect(readFileSync(file, 'utf8')).to.equal(PAYMENTS.map((line) => `${JSON.stringify(line)}\n`).join(''));
  });

  it('refuses a seed that is no number, and a place where it cannot write, with exit code 2', async () => {
    const file = join(temporaryDirectory(), 'no-folder', 'payments.ndjson');
    const seed = await runNode([SCRIPT, file, '--seed', 'x'], { env: {} });
    expect(seed.exitCode).to.equal(2);
    expect(seed.stderr).to.equal(
      'error: --seed must be a whole number of up to nine digits, like 1, not "x"\n',
    );
    const folder = await runNode([SCRIPT, file], { env: {} });
    expect(folder.exitCode).to.equal(2);
    expect(folder.stderr).to.match(/no-folder\/payments\.ndjson cannot be written: ENOENT/);
  });
});
