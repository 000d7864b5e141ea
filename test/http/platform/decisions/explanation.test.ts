import { expect } from 'chai';
import type { Explanation } from '../../../../src/authoring/explain/explain.ts';
import type { RuleSet } from '../../../../src/rules/rule-set.ts';
import { currentRules } from '../../../service/current-rules.ts';
import type { Problem } from '../../../service/http-call.ts';
import { serviceOfSuite, startService } from '../../../service/running-service.ts';
import type { Tenant } from '../../../service/tenant.ts';

describe('GET /v1/platform/decisions/{decisionId}/explanation', () => {
  const { service, shop: tenant } = serviceOfSuite();

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
    expect(body.rules?.verdicts).to.include({ verdict: 'GET_NEW', rule: 'otherwise' });
    expect(body.rules?.verdicts.rules[0]?.condition.at.file).to.equal('verdicts.yaml');
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
      expect([status, body.title]).to.deep.equal([404, 'not found']);
      expect(body.detail).to.equal('There is no such decision, or it is past its retention.');
    }
  });
});
