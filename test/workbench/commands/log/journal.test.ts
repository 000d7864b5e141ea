import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { type AnyExportedEntry, toExportedEntry } from '#history/archive/ship/journal-file.ts';
import { openSqliteStore } from '#state/sqlite/store.ts';
import { TEST_SALT } from '../../../decision/payer/client-keys.ts';
import { History, playJuly, Workplace } from '../../../history/evidence/backtest/backtest-history.ts';
import { until } from '../../../servers/until.ts';
import { SCORING } from '../scoring.ts';

describe('journal export', () => {
  let place: Workplace;
  let followers: ChildProcess[] = [];
  beforeEach(() => {
    place = new Workplace();
  });
  afterEach(() => {
    for (const follower of followers) follower.kill('SIGKILL');
    followers = [];
    place.end();
  });

  const exportTo = (file = 'j', ...more: readonly string[]) =>
    place.scoring('journal', 'export', '--output', place.path(file), ...more);
  const expectWhole = async () => expect(fileEntries(place)).to.deep.equal(await everything(place));

  function follow(): ChildProcess {
    const follower = spawn(
      process.execPath,
      [SCORING, 'journal', 'export', '--follow', '--output', place.path('j')],
      { env: place.environment(), stdio: 'ignore' },
    );
    followers.push(follower);
    return follower;
  }

  it('writes every entry as a line, in order, and the cursor with the last one', async () => {
    await playJuly(place);
    const { code, stdout, stderr } = await place.scoring('journal', 'export');
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
    const lines = linesOf(stdout);
    expect(lines.map(withoutCursor)).to.deep.equal(await everything(place));
    expect(lines.map(({ cursor }) => cursor !== undefined).indexOf(true)).to.equal(lines.length - 1);
    for (const line of stdout.trim().split('\n')) expect(line).to.match(/^\{"kind":"/);
  });

  it('continues after the cursor of --after', async () => {
    await playJuly(place);
    const { stdout } = await place.scoring('journal', 'export', '--after', '20');
    expect(linesOf(stdout).map(withoutCursor)).to.deep.equal((await everything(place)).slice(20));
  });

  it('begins a file and later continues it', async () => {
    await playJuly(place);
    const first = await exportTo();
    const stderr = `30 entries were written to ${place.path('j')}.\n`;
    expect(first).to.deep.equal({ code: 0, stdout: '', stderr });
    await addVerdicts(place, 3);
    const second = await exportTo('j', '--json');
    expect(second.code).to.equal(0);
    expect(JSON.parse(second.stdout)).to.deep.equal({ written: 3, cursor: '33', gaps: [] });
    await expectWhole();
  });

  it('says what is missing in between, and exits with 1', async () => {
    await playJuly(place);
    const db = new DatabaseSync(join(place.dataDir, 'scoring.sqlite'));
    db.exec(
      'DELETE FROM journal WHERE position <= 20; INSERT INTO journal_loss (only, entries, from_ms, to_ms, last_position) VALUES (1, 20, 1435708800000, 1435712400000, 20)',
    );
    db.close();
    const { code, stdout, stderr } = await place.scoring('journal', 'export', '--after', '5');
    expect(code).to.equal(1);
    expect(stderr).to.equal(
      'gap: about 20 entries are missing from 2015-07-01T00:00:00.000Z to 2015-07-01T01:00:00.000Z; the journal keeps a limited number of entries, and newer ones pushed these out before they were exported\n',
    );
    expect(linesOf(stdout)).to.have.length(10);
  });

  it('cuts off lines that a crash left after the last cursor, and reads them again', async () => {
    await playJuly(place);
    await exportTo();
    const [line = ''] = readFileSync(place.path('j'), 'utf8').split('\n');
    await addVerdicts(place, 2);
    appendFileSync(place.path('j'), `${line}\n${line.slice(0, 40)}`);
    await exportTo();
    await expectWhole();
  });

  it('starts over when the crash came before the first cursor', async () => {
    await playJuly(place);
    writeFileSync(place.path('j'), '{"kind":"sco');
    await exportTo();
    await expectWhole();
  });

  it('leaves another file alone', async () => {
    writeFileSync(place.path('letter'), 'Dear Ann,\n');
    const { code, stderr } = await exportTo('letter');
    const told = `error: ${place.path('letter')} exists and is not an export of the journal; choose another file\n`;
    expect([code, stderr]).to.deep.equal([2, told]);
    expect(readFileSync(place.path('letter'), 'utf8')).to.equal('Dear Ann,\n');
  });

  it('ends with the exit code for the environment when the file cannot be made', async () => {
    const { code, stderr } = await place.scoring('journal', 'export', '--output', place.path('no', 'j'));
    expect(code).to.equal(3);
    expect(stderr).to.match(/^error: the journal cannot be written to .+: ENOENT/);
  });

  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    it(`follows until ${signal} and ends without an error`, async () => {
      await addVerdicts(place, 1);
      const exporter = follow();
      await untilFileHas(place, 1);
      await addVerdicts(place, 1);
      await untilFileHas(place, 2);
      exporter.kill(signal);
      expect(await once(exporter, 'exit')).to.deep.equal([0, null]);
    });
  }

  it('ends without an error when its reader goes away', async () => {
    await addVerdicts(place, 1);
    const exporter = spawn(process.execPath, [SCORING, 'journal', 'export', '--follow'], {
      env: place.environment(),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const complaints: Buffer[] = [];
    exporter.stderr.on('data', (part: Buffer) => complaints.push(part));
    await once(exporter.stdout, 'data');
    // It may end before the writes of the verdicts are known.
    const exit = once(exporter, 'exit');
    exporter.stdout.destroy();
    await addVerdicts(place, 2);
    expect(await exit).to.deep.equal([0, null]);
    expect(Buffer.concat(complaints).toString()).to.equal('');
  });

  it('writes every entry exactly once although it is killed several times', async () => {
    const store = openSqliteStore(place.dataDir, { salt: TEST_SALT });
    const history = new History(store);
    let writing = true;
    const writer = (async () => {
      for (let number = 0; writing; number++) {
        await history.verdict(`client-${number}`, `order-${number}`);
        await sleep(1);
      }
    })();
    try {
      for (let kills = 0; kills < 6; kills++) {
        const before = sizeOf(place);
        const exporter = follow();
        await until('the file has grown', async () => sizeOf(place) !== before);
        await sleep(40 * kills);
        exporter.kill('SIGKILL');
        await once(exporter, 'exit');
      }
    } finally {
      writing = false;
      await writer;
      await store.close();
    }
    const { code } = await exportTo();
    expect(code).to.equal(0);
    const entries = await everything(place);
    expect(entries.length).to.be.greaterThan(50);
    expect(fileEntries(place)).to.deep.equal(entries);
  });
});

type Line = AnyExportedEntry & { readonly cursor?: string };

function linesOf(text: string): readonly Line[] {
  return text
    .trim()
    .split('\n')
    .map((line): Line => JSON.parse(line));
}

function withoutCursor({ cursor: _, ...entry }: Line): unknown {
  return entry;
}

function fileEntries(place: Workplace): readonly unknown[] {
  return linesOf(readFileSync(place.path('j'), 'utf8')).map(withoutCursor);
}

async function everything(place: Workplace): Promise<readonly AnyExportedEntry[]> {
  const store = openSqliteStore(place.dataDir, { salt: TEST_SALT });
  const { entries } = await store.readJournal(null, 1_000_000);
  await store.close();
  return entries.map((entry) => toExportedEntry(entry, store.clientKeys));
}

async function addVerdicts(place: Workplace, count: number): Promise<void> {
  const store = openSqliteStore(place.dataDir, { salt: TEST_SALT });
  const history = new History(store);
  for (let number = 0; number < count; number++) await history.verdict(`client-${number}`, `order-${number}`);
  await store.close();
}

function sizeOf(place: Workplace): number {
  return statSync(place.path('j'), { throwIfNoEntry: false })?.size ?? 0;
}

async function untilFileHas(place: Workplace, lines: number): Promise<void> {
  const has = () =>
    existsSync(place.path('j')) ? readFileSync(place.path('j'), 'utf8').split('\n').length - 1 : 0;
  await until('the export has come', async () => has() >= lines);
}
