import { once } from 'node:events';
import { expect } from 'chai';
import { openStore } from '#state/open-store.ts';
import type { NodeProcess } from '../../../processes/node-process.ts';
import { describeOnSharedStates, type SharedState } from '../../../stores/shared-state.ts';
import { AT, audit, note, PATIENT, shows } from './audit-process.ts';

describeOnSharedStates('audit --follow', (share) => {
  let place: SharedState;
  let follower: NodeProcess;
  beforeEach(async () => {
    place = await share();
    await note(place, { reason: 'the first' });
  });
  afterEach(() => follower.child.kill('SIGKILL'));

  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    it(`prints old and new entries, each once and in order, and ends without an error at ${signal}`, async () => {
      follower = audit(place, '--follow');
      await shows(follower, '"the first"');
      for (const reason of ['the second', 'the third']) {
        await note(place, { reason });
        await shows(follower, `"${reason}"`);
      }
      follower.child.kill(signal);
      expect(await follower.exited).to.equal(0);
      const line = (reason: string) => `2026-11-21T10:00:00Z  ann  list  "${reason}"\n`;
      expect(follower.stdout()).to.equal(['the first', 'the second', 'the third'].map(line).join(''));
      expect(follower.stderr()).to.equal('');
    });
  }

  it('names an entry that cannot be read, and goes on with the next', async () => {
    const redisUrl = place.env['REDIS_URL'] ?? null;
    const store = await openStore({ redisUrl, dataDir: place.dataDir, patience: PATIENT }, () => {});
    await store.auditLog.append({ at: AT, entry: 'changed', payer: null });
    await store.close();
    await note(place, { reason: 'the third' });
    follower = audit(place);
    expect(await follower.exited).to.equal(1);
    expect(follower.stdout()).to.match(/the first.*\n.*the third"\n$/);
    expect(follower.stderr()).to.equal('Entry 2 was changed and cannot be read; run "audit verify".\n');
  });

  it('ends without an error when its reader goes away', async () => {
    follower = audit(place, '--follow');
    await shows(follower, '"the first"');
    // It may end before the write of the entry is known.
    const exit = once(follower.child, 'exit');
    follower.child.stdout?.destroy();
    await note(place, { reason: 'the second' });
    await exit;
    expect([follower.child.exitCode, follower.stderr()]).to.deep.equal([0, '']);
  });

  it('escapes control sequences and line breaks in entries, as text and as JSON', async () => {
    const hostile = 'wipe\u001b[2J\u009b1A\nann  rollout \u202egnp.exe \u{e0041}';
    await note(place, { who: hostile, subject: hostile, after: { [hostile]: hostile }, reason: hostile });
    follower = audit(place, '--follow');
    await shows(follower, 'wipe');
    const asJson = audit(place, '--follow', '--json');
    await shows(asJson, 'wipe');
    for (const command of [follower, asJson]) {
      command.child.kill('SIGINT');
      expect(await command.exited).to.equal(0);
      expect(command.stdout()).not.to.match(/[^\P{C}\n]/u);
      expect(command.stdout().split('\n')).to.have.length(3);
    }
    expect(follower.stdout()).to.include(
      '"wipe\\u001b[2J\\u009b1A\\nann  rollout \\u202egnp.exe \\udb40\\udc41"\n',
    );
    const [, told = ''] = asJson.stdout().split('\n');
    expect(JSON.parse(told)).to.include({ who: hostile, subject: hostile, reason: hostile });
  });
});

describeOnSharedStates('audit verify', (share) => {
  it('says that nothing was changed, and names a missing entry that was noted elsewhere', async () => {
    const place = await share();
    await note(place, { reason: 'the first' });
    const follower = audit(place, '--json');
    await follower.exited;
    const { number, hash } = JSON.parse(follower.stdout().trim().split('\n').at(-1) ?? '');
    const known = audit(place, 'verify', '--known', `${number}:${hash}`);
    expect(await known.exited).to.equal(0);
    expect(known.stdout()).to.equal(
      'The chain is whole, and nothing up to the known entry was changed: 1 entry; about payers who were erased: 0.\n',
    );
    const alone = audit(place, 'verify');
    expect(await alone.exited).to.equal(0);
    expect(alone.stdout()).to.match(
      /^The chain of entries is whole: 1 entry; .*\nThis check does not catch somebody who/,
    );
    const lost = audit(place, 'verify', '--known', `${number + 1}:${hash}`, '--json');
    expect(await lost.exited).to.equal(1);
    const { checkedAt, ...found } = JSON.parse(lost.stdout());
    expect(checkedAt).to.match(/^2\d{3}-.*Z$/);
    expect(found).to.deep.equal({
      entries: number,
      forgotten: 0,
      faults: [{ number: number + 1, what: `Entry ${number + 1} is missing.` }],
    });
  });
});
