import { expect } from 'chai';
import { openSqliteStore } from '#state/sqlite/store.ts';
import { TEST_SALT } from '../../decision/payer/client-keys.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { addVersion, LONGER_FIRST_WAIT, rulesDirectory } from './rule-folders.ts';
import { refusal, TestFleet } from './test-fleet.ts';

describe('two nodes on one store', () => {
  let fleet: TestFleet;
  let rulesDir: string;
  beforeEach(async () => {
    const directory = temporaryDirectory();
    fleet = new TestFleet(async () => openSqliteStore(directory, { salt: TEST_SALT }));
    rulesDir = rulesDirectory();
    addVersion(rulesDir, 'p2.v11', [LONGER_FIRST_WAIT]);
    await fleet.start(rulesDir);
  });
  afterEach(() => fleet.stop());

  const actives = () => fleet.nodes.map((node) => node.active.version);

  it('both follow a change before it returns, and a rollback', async () => {
    await fleet.start(rulesDir);
    const { following, lagging } = await fleet.rollOut(rulesDir, 'p2.v11', { mode: 'active' });
    expect([following.length, lagging]).to.deep.equal([2, []]);
    expect(actives()).to.deep.equal(['p2.v11', 'p2.v11']);
    await fleet.rollBack();
    expect(actives()).to.deep.equal(['p2.v10', 'p2.v10']);
  });

  it('both stay as they are when one of them lacks the version', async () => {
    await fleet.start(rulesDirectory());
    expect(await refusal(fleet.rollOut(rulesDir, 'p2.v11', { mode: 'active' }))).to.equal(
      "NODE lacks p2.v11; deploy the same files to every node's RULES_DIR first",
    );
    expect(actives()).to.deep.equal(['p2.v10', 'p2.v10']);
  });
});
