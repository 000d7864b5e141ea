import { expect } from 'chai';
import type { Explanation } from '../../../../src/authoring/explain/explain.ts';
import type { RuleSet } from '../../../../src/rules/rule-set.ts';
import { currentRules } from '../../../service/current-rules.ts';
import type { Problem } from '../../../service/http-call.ts';
import { serviceOfSuite, startService } from '../../../service/running-service.ts';
import type { Tenant } from '../../../service/tenant.ts';

describe('GET /v1/platform/decisions/{decisionId}/explanation', () => {
  let tenant: Tenant;
  const { service } = serviceOfSuite();
  before(async () => {
    tenant = await service.tenant();
  });

  async function decided(of: Tenant = tenant): Promise<string> {
    await of.verdict();
    const [newest] = await of.decisions();
    if (newest === undefined) throw new Error('a decision was made');
    return newest.decisionId;
  }

  it('explains a decision by the rules and the values they saw, and reproduces it', async () => {
    const decisionId = await decided();
    const { status, body } = await tenant.ask<Explanation>('GET', `decisions/${decisionId}/explanation`);
    expect(status).to.equal(200);
    expect(body).to.include({ reproduced: true });
    expect(body.decision).to.include({ decisionId, verdict: 'GET_NEW' });
    expect(body.rules?.verdicts).to.include({
      verdict: 'GET_NEW',
      rule: 'otherwise',
      why: 'None of the rules matched, so "otherwise" gave GET_NEW.',
    });
    expect(body.rules?.verdicts.rules[0]?.condition).to.deep.equal({
      kind: 'all',
      passed: false,
      at: { file: 'verdicts.yaml', line: 9, column: 7 },
      conditions: [
        {
          kind: 'comparison',
          passed: false,
          at: { file: 'verdicts.yaml', line: 10, column: 11 },
          fact: 'clientGroup',
          operator: 'equal',
          expected: 'BLOCKED',
          seen: 'NEW',
        },
      ],
    });
  });

  it('names the level of the ladder of a wait, and where it is written', async () => {
    await tenant.verdict({ clientIdKey: 'impatient' });
    await tenant.verdict({ clientIdKey: 'impatient' });
    const [wait] = await tenant.decisions({ clientIdKey: 'impatient' });
    const { body } = await tenant.ask<Explanation>('GET', `decisions/${wait?.decisionId}/explanation`);
    expect(body.rules?.verdicts.why).to.contain(' Its wait is level 1 of the ladder, 30s (ladder.yaml:6).');
  });

  it('says so when this node does not have the rule set that decided', async () => {
    const other: RuleSet = { ...currentRules(), digest: 'another' };
    const elsewhere = await startService({ store: service.store, rules: other });
    try {
      const decisionId = await decided();
      const there = await elsewhere.tenant();
      const { status, body } = await there.ask<Explanation>('GET', `decisions/${decisionId}/explanation`);
      expect(status).to.equal(200);
      expect(body).to.deep.include({ reproduced: false, rules: null, differences: [] });
      expect(body.verification).to.match(
        /^The rule set that decided, p2\.v10 .* is not here: neither has this node loaded it nor does its archive keep it\./,
      );
    } finally {
      await elsewhere.stop();
    }
  });

  it('answers 404 for an unknown decision and for that of another platform', async () => {
    const decisionId = await decided();
    const stranger = await service.tenant('other');
    for (const [asker, id] of [
      [tenant, 'nonsense'],
      [tenant, `${decisionId}9`],
      [stranger, decisionId],
    ] as const) {
      const { status, body } = await asker.ask<Problem>('GET', `decisions/${id}/explanation`);
      expect(status).to.equal(404);
      expect(body).to.include({
        title: 'not found',
        detail: 'There is no such decision, or it is past its retention.',
      });
    }
  });
});
