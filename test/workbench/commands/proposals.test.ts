import { cpSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { openSqliteStore } from '#state/sqlite/store.ts';
import { Audit } from '#workbench/access/audit.ts';
import { Proposals } from '#workbench/approvals/proposals.ts';
import { addVersion, rulesDirectory } from '../../checkout/rollout/rule-folders.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { RULES_FOLDER } from '../../service/current-rules.ts';
import { scoring } from './scoring.ts';

const SHOP = ['--platform', 'shop'];
const REASON = ['--reason', 'a test'];

describe('commands with APPROVALS=required', () => {
  let env: { DATA_DIR: string; RULES_DIR: string; APPROVALS: string };
  beforeEach(() => {
    env = { DATA_DIR: temporaryDirectory(), RULES_DIR: rulesDirectory(), APPROVALS: 'required' };
  });

  const run = async (...args: string[]) => {
    const { stdout, stderr, exitCode } = await scoring(args, env);
    return { stdout: stdout.trim(), stderr: stderr.trim().split('\n').at(-1), exitCode };
  };
  const json = async (...args: string[]) => JSON.parse((await run(...args, '--json')).stdout);

  it('propose a key that may approve, which is valid once somebody else has approved it', async () => {
    const ask = ['keys', 'issue', '--platform', '*', '--operations', 'approve'];
    expect((await run(...ask)).stderr).to.equal(
      'refused: a key with approve needs an owner; pass --owner, or use a key that has one',
    );
    const { id, proposalId } = await json(...ask, '--owner', 'ann');
    expect(await json('keys', 'list')).to.deep.equal([]);
    const [shown] = await json('proposals', 'list');
    expect(shown).to.include({ proposalId, what: 'key', subject: id, state: 'open' });
    const own = await run('proposals', 'approve', proposalId, ...REASON);
    expect(own.exitCode).to.equal(1);
    expect(own.stderr).to.match(/^refused: \S+ proposed it; somebody else approves it$/);
    expect((await run('proposals', 'reject', proposalId, ...REASON)).stdout).to.contain(
      ': rejected, proposed by',
    );
  });

  it('say that there is no such proposal, as they say it of anything that is not there', async () => {
    for (const way of ['approve', 'reject']) {
      expect(await run('proposals', way, 'nope', ...REASON)).to.deep.equal({
        stdout: '',
        stderr: 'error: There is no proposal "nope" here; the list of proposals has the ids.',
        exitCode: 1,
      });
    }
  });

  it('change at once when they are asked to, which the audit notes', async () => {
    const ask = ['keys', 'issue', '--platform', '*', '--operations', 'approve', '--owner', 'ann'];
    const { id } = await json(...ask, '--without-approval');
    expect((await json('keys', 'list')).map((key: { id: string }) => key.id)).to.deep.equal([id]);
    expect((await run('audit')).stdout).to.contain(', without approval  key issued');
  });

  it('propose a release and leave the folder as it is', async () => {
    addVersion(env.RULES_DIR, 'p2.v13', [], { draft: true });
    const folder = join(env.RULES_DIR, 'p2.v13');
    cpSync(join(RULES_FOLDER, 'cases'), join(folder, 'cases'), { recursive: true });
    const { proposalId } = await json('rules', 'release', folder);
    expect((await json('proposals', 'list', '--state', 'open'))[0]).to.include({
      proposalId,
      subject: 'p2.v13',
    });
    expect(existsSync(join(folder, 'release.json'))).to.equal(false);
  });

  it('carry out what somebody else proposed: a payer is trusted', async () => {
    const store = openSqliteStore(env.DATA_DIR);
    const proposals = new Proposals(
      store.registers,
      new Audit(store.auditLog, Date.now),
      store.clientKeys,
      Date.now,
    );
    const asked = { clientIdKey: 'payer-1', group: 'TRUSTED', reason: 'known' } as const;
    const { proposalId } = await proposals.add(
      toPlatformName('shop'),
      { what: 'override', ...asked, expiresAt: null },
      { subject: 'payer-1', basis: 'no override on the client', lines: [], versions: null },
      { text: 'key 1 of bob', owner: 'bob' },
    );
    await store.close();
    const approved = await json('proposals', 'approve', proposalId, ...SHOP, ...REASON);
    expect(approved).to.include({ proposalId, state: 'approved' });
    expect((await run('audit')).stdout).to.match(/key 1 of bob, approved by user \S+ on \S+ {2}override/);
  });
});
