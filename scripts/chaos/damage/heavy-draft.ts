import { setTimeout as delay } from 'node:timers/promises';
import { addVersion, rulesDirectory } from '../../../test/rollout/rule-folders.ts';
import { atLeast, atMost, never, reported } from '../figure.ts';
import { startServiceNode } from '../processes/service-node.ts';
import type { Scenario } from '../scenario.ts';
import { heavyRules } from '../traffic/heavy-rules.ts';
import { failed, latencyPercentile, loadDuring } from '../traffic/load.ts';

const RULES = 500;
const WARM_UP_MS = 4_000;
const WINDOW_MS = 20_000;
const QUICK_WINDOW_MS = 8_000;
const DRAFT = 'p2.v99';

/** An analyst saves a draft that is hard to check, beside live traffic. */
export const heavyDraft: Scenario = {
  name: 'heavy-draft',
  does: 'a draft with 500 rules of equal priority appears in the rules folder: the slowest verdict beside it is within 3 times the usual p99',
  limitSeconds: 120,
  run: async ({ quick, report }) => {
    const windowMs = quick ? QUICK_WINDOW_MS : WINDOW_MS;
    const rulesDir = rulesDirectory();
    const service = await startServiceNode({ env: { RULES_DIR: rulesDir } });
    await loadDuring(service, () => delay(WARM_UP_MS));
    const usual = await loadDuring(service, () => delay(windowMs));
    const beside = await loadDuring(service, async () => {
      addVersion(rulesDir, DRAFT, [{ file: 'verdicts.yaml', from: 'rules:\n', to: heavyRules(RULES) }], {
        draft: true,
      });
      report(`${DRAFT} with ${RULES} rules of equal priority lies in the rules folder`);
      await delay(windowMs);
    });
    const usualMs = latencyPercentile(usual.samples, 99);
    return [
      atLeast('verdicts asked for beside the draft', beside.samples.length, 1),
      never('verdicts not answered 200', failed(beside.samples).length),
      reported('usual p99', `${usualMs.toFixed(1)} ms`),
      atMost('slowest verdict against that', latencyPercentile(beside.samples, 100) / usualMs, 3, 'x'),
      reported('p99 beside the draft', `${latencyPercentile(beside.samples, 99).toFixed(1)} ms`),
    ];
  },
};
