import { dirname } from 'node:path';
import { expect } from 'chai';
import { INSTALLATION } from '../../../src/access/access-keys.ts';
import { RuleDesk } from '../../../src/authoring/desk/rule-desk.ts';
import { type PlatformName, platformName } from '../../../src/client/client-key.ts';
import { TooManyTurns } from '../../../src/work/turns.ts';
import { currentRules, RULES_FOLDER } from '../../service/current-rules.ts';

const [SHOP, OTHER, THIRD] = ['shop', 'other', 'third'].map(platformName);

/** One more than a platform may have at once, under way and waiting. */
const TOO_MANY = 66;

describe('the rule desk', () => {
  let desk: RuleDesk;
  beforeEach(() => {
    desk = new RuleDesk(dirname(RULES_FOLDER));
  });
  afterEach(() => desk.close());

  const { version } = currentRules();

  it('has a thread for each of two platforms and one for the owner, however much one of them asks for', async () => {
    const ended: string[] = [];
    const ask = async (owner: PlatformName = INSTALLATION) => {
      expect((await desk.open(owner, version))?.coverage?.failed).to.equal(0);
      ended.push(owner);
    };
    const asked = Array.from({ length: 10 }, () => [SHOP, OTHER].map(ask)).flat();
    await Promise.all([...asked, ask(THIRD), ask(INSTALLATION)]);
    // Both were asked for behind twenty others.
    const places = [ended.indexOf(INSTALLATION), ended.indexOf(THIRD ?? '')];
    for (const place of places) expect(place).to.be.below(12);
  });

  it('refuses of a platform what is too much, and of no other', async () => {
    const ask = (owner: PlatformName = INSTALLATION) =>
      desk.open(owner, version).then(
        () => 'opened',
        (error: unknown) => error,
      );
    const all = Array.from({ length: TOO_MANY }, () => ask(SHOP));
    const other = ask(OTHER);
    expect(await all.at(-1)).to.be.instanceOf(TooManyTurns);
    expect([await all.at(-2), await other]).to.deep.equal(['opened', 'opened']);
  });
});
