import { expect } from 'chai';
import { askUnlessStandstill } from '../servers/standstill.ts';
import { spawnService } from '../service/service-process.ts';
import { Tenant } from '../service/tenant.ts';
import { describeOnSharedStates } from '../stores/shared-state.ts';

describeOnSharedStates('two processes', (share) => {
  it('take one step for each of 50 parallel verdicts of one client', async () => {
    const { dataDir, env, key } = await share();
    const processes = await Promise.all([spawnService(dataDir, env), spawnService(dataDir, env)]);
    const tenants = processes.map((service) => new Tenant(service, key));
    const clientIdKey = 'shared';
    const answers = await Promise.all(
      Array.from({ length: 25 }, (_, index) =>
        tenants.map((tenant, at) =>
          askUnlessStandstill(() => tenant.verdict({ clientIdKey, orderRef: `order-${index}-${at}` })),
        ),
      ).flat(),
    );
    expect(answers.map(({ status }) => status)).to.deep.equal(Array.from({ length: 50 }, () => 200));
    const [tenant] = tenants;
    const decisions = (await tenant?.decisions({ clientIdKey }))?.toReversed() ?? [];
    expect(decisions.map(({ seq }) => seq)).to.deep.equal(Array.from({ length: 50 }, (_, n) => n + 1));
    expect(new Set(decisions.map(({ orderRef }) => orderRef)).size).to.equal(50);
    for (const [index, { ladderBefore }] of decisions.entries()) {
      if (index > 0) expect(ladderBefore).to.deep.equal(decisions[index - 1]?.ladderAfter);
    }
    await Promise.all(processes.map((service) => service.stop()));
  });
});
