import { chmodSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { addVersion, LONGER_FIRST_WAIT, rulesDirectory } from '../../../test/rollout/rule-folders.ts';
import { temporaryDirectory } from '../../../test/servers/temporary-directory.ts';
import { issueKey } from '../../../test/service/issued-key.ts';
import { Tenant } from '../../../test/service/tenant.ts';
import { atLeast, type Figure, never, of } from '../figure.ts';
import { notRun } from '../processes/each-store.ts';
import { startServiceNode } from '../processes/service-node.ts';
import type { Scenario, ScenarioRun } from '../scenario.ts';
import { failed, loadDuring } from '../traffic/load.ts';

const BROKEN = 'p2.v99';
/** Long enough for a node to look at its rules several times. */
const NOTICE_MS = 4_000;

/** A way to make a folder of rules unreadable. */
const DAMAGES = [
  { what: 'a symlink loop', damage: (folder: string) => symlinkSync('cases', join(folder, 'cases')) },
  { what: 'no permission', damage: (folder: string) => chmodSync(folder, 0o000) },
] as const;

/** A folder beside the active version becomes one that nobody can read. */
export const unreadableRules: Scenario = {
  name: 'unreadable-rules',
  does: 'a rule folder with a symlink loop, and one without permission: it alone is refused by name, while verdicts, rollout, rollback and a restart go on',
  limitSeconds: 120,
  run: async (run) => {
    const figures: Figure[] = [];
    for (const { what, damage } of DAMAGES) figures.push(...of(what, await besideFolder(what, damage, run)));
    return figures;
  },
};

async function besideFolder(
  what: string,
  damage: (folder: string) => void,
  { report }: ScenarioRun,
): Promise<readonly Figure[]> {
  if (what === 'no permission' && process.getuid?.() === 0)
    return [notRun('run as another user than root, whom no permission stops', report)];
  const rulesDir = rulesDirectory();
  addVersion(rulesDir, 'p2.v11', [LONGER_FIRST_WAIT]);
  const dataDir = temporaryDirectory();
  const service = await startServiceNode({ dataDir, env: { RULES_DIR: rulesDir, RULE_VERSION: 'p2.v10' } });
  const operator = new Tenant(service, await issueKey({ dataDir }, '*'));
  const change = async (action: string, body: object) =>
    (await operator.ask('POST', `rules/${action}`, { reason: 'chaos', ...body })).status;
  const { samples, result } = await loadDuring(service, async () => {
    mkdirSync(join(rulesDir, BROKEN));
    damage(join(rulesDir, BROKEN));
    await delay(NOTICE_MS);
    const status = await operator.ask('GET', 'rules');
    const named = JSON.stringify(status.body).includes(BROKEN);
    const changes = [
      await change('rollout', { version: 'p2.v11', mode: 'active' }),
      await change('rollback', {}),
    ];
    report(`${what}: rollout and rollback answered ${changes.join(' and ')}`);
    return { named, changes };
  });
  await service.kill('SIGTERM');
  const restarted = await service.restart().then(
    () => true,
    () => false,
  );
  // Otherwise nobody but root could remove the folder afterwards.
  chmodSync(join(rulesDir, BROKEN), 0o700);
  return [
    atLeast(`verdicts asked for`, samples.length, 1),
    never(`verdicts not answered 200`, failed(samples).length),
    never(`status that does not name the folder`, result.named ? 0 : 1),
    never(`rollouts and rollbacks refused`, result.changes.filter((code) => code !== 200).length),
    never(`restarts that failed`, restarted ? 0 : 1),
  ];
}
