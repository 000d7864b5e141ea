import type { Fleet } from '../../src/rollout/fleet.ts';
import { RolloutNode } from '../../src/rollout/rollout-node.ts';
import { directReader } from '../../src/rules/folder/rule-reader.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { currentRules } from '../service/current-rules.ts';

/** A node that starts with p2.v10 and does not log. `clock` gives epoch ms. */
export function startQuietNode(fleet: Fleet, rulesDir: string, clock: () => number): Promise<RolloutNode> {
  return RolloutNode.start({
    fleet,
    rulesDir,
    reader: directReader(rulesDir),
    dataDir: temporaryDirectory(),
    firstVersion: currentRules().version,
    clock,
    onTrouble: () => {},
  });
}
