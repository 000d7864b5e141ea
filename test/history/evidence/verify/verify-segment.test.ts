import { expect } from 'chai';
import type { RuleSet } from '#decision/rules/rule-set.ts';
import { Archive } from '#history/archive/archive.ts';
import { QueryEngine } from '#history/archive/query-engine.ts';
import {
  addVerifications,
  NOTHING_VERIFIED,
  type VerificationTotals,
  verifySegment,
} from '#workbench/verify/verify-segment.ts';
import { TEST_KEYS } from '../../../decision/payer/client-keys.ts';
import { edited, swap } from '../../../rule-fixtures/sound-rules.ts';
import { temporaryDirectory } from '../../../servers/temporary-directory.ts';
import type { Tenant } from '../../../service/tenant.ts';
import { servedEvidence } from '../source/recorded-evidence.ts';

const CLIENTS = 20;
const ON_LIST = '{ fact: listed, params: { list: blocked }, operator: equal, value: true }';
const RULE = `  - { name: on-a-list, priority: 99, conditions: { all: [${ON_LIST}] }, event: { type: verdict, params: { verdict: BLOCK, reason: "Listed." } } }`;

describe('verifying archived decisions', () => {
  let rules: RuleSet;
  let folder = '';
  /** Answered verdicts. */
  const answered: Record<string, number> = {};

  before(async () => {
    rules = edited({
      'groups.yaml': swap('    priority: 80\n', '    priority: 80\n    holdout: 50%\n'),
      'verdicts.yaml': swap('\notherwise:', `\n${RULE}\notherwise:`),
    });
    const { archive } = await servedEvidence(rules, async (shop) => {
      for (let n = 0; n < CLIENTS; n++) await askAfterChain(shop, `payer-${n}`);
      await askWhileListed(shop, 'ann');
    });
    folder = archive.folder;
  });

  async function ask(shop: Tenant, clientIdKey: string, orderRef: string): Promise<void> {
    const { body } = await shop.verdict({ clientIdKey, orderRef });
    const verdict = String(body['verdict']);
    answered[verdict] = (answered[verdict] ?? 0) + 1;
  }

  /** After four unpaid orders only held-out clients are not blocked. */
  async function askAfterChain(shop: Tenant, clientIdKey: string): Promise<void> {
    for (const order of ['a', 'b', 'c', 'd'])
      await shop.outcome(clientIdKey, `${order}-${clientIdKey}`, 'UNPAID');
    await ask(shop, clientIdKey, `e-${clientIdKey}`);
  }

  /** The list has changed since. */
  async function askWhileListed(shop: Tenant, clientIdKey: string): Promise<void> {
    const path = `lists/blocked/entries?value=${clientIdKey}`;
    await shop.ask('PUT', 'lists/blocked', { kind: 'client' });
    await shop.ask('PUT', path, { reason: 'a ring' });
    await ask(shop, clientIdKey, 'while-listed');
    await shop.ask('DELETE', path);
    await ask(shop, clientIdKey, 'afterwards');
  }

  async function verify(by: RuleSet | null): Promise<VerificationTotals> {
    const archive = new Archive(folder);
    const duck = await QueryEngine.open({
      threads: 1,
      memoryMiB: 512,
      temporaryFolder: temporaryDirectory(),
    });
    try {
      let sum = NOTHING_VERIFIED;
      for (const segment of archive.listSegments(archive.read(), { table: 'decisions' }))
        sum = addVerifications(sum, await verifySegment(duck, archive, segment, 'true', () => by, TEST_KEYS));
      return sum;
    } finally {
      duck.close();
    }
  }

  it('reproduces each, also for clients who were held out or on a shared list', async () => {
    // One of a list, and of the chains those that are not held out.
    expect(answered['BLOCK']).to.be.within(2, CLIENTS);
    const checked = CLIENTS + 2;
    expect(await verify(rules)).to.deep.equal({ ...NOTHING_VERIFIED, checked, reproduced: checked });
  });

  it('names those with another answer by other rules under the same digest', async () => {
    const other = edited({
      'groups.yaml': swap('    priority: 80\n', '    priority: 80\n    holdout: 50%\n'),
    });
    const { checked, mismatches } = await verify(other);
    expect(checked).to.equal(CLIENTS + 2);
    expect(mismatches.map(({ orderRef, members }) => [orderRef, members[0]])).to.deep.equal([
      ['while-listed', 'verdict'],
    ]);
  });

  it('counts by version and digest those whose rule set is gone', async () => {
    const { reproduced, withoutRules } = await verify(null);
    expect([reproduced, ...Object.values(withoutRules)]).to.deep.equal([0, CLIENTS + 2]);
  });
});
