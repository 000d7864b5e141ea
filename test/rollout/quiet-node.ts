import { RolloutNode } from '../../src/rollout/rollout-node.ts';
import { directReader } from '../../src/rules/folder/rule-reader.ts';
import type { Store } from '../../src/state/store.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { currentRules } from '../service/current-rules.ts';

/** A node that starts with p2.v10 and does not log. `clock` gives epoch ms. */
export function startQuietNode(store: Store, rulesDir: string, clock: () => number): Promise<RolloutNode> {
  return RolloutNode.start({
    store,
    rulesDir,
    reader: directReader(rulesDir),
    dataDir: temporaryDirectory(),
    firstVersion: currentRules().version,
    clock,
    onTrouble: () => {},
  });
}
