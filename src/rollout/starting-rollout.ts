import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeOwnFolder } from '../files/own-folder.ts';
import type { RuleSet } from '../rules/rule-set.ts';
import type { LoadedRules } from './loaded-rules.ts';
import { firstRollout, parseRollout, type Rollout } from './rollout.ts';
import type { NodeParts } from './rollout-node.ts';

type StartParts = Pick<NodeParts, 'fleet' | 'dataDir' | 'firstVersion' | 'clock' | 'onTrouble'>;

/** The shared rollout; on the very first start, or when the store lost it, this node writes it. */
export async function startingRollout(parts: StartParts, rules: LoadedRules): Promise<Rollout> {
  const stored = await parts.fleet.read();
  if (stored !== null) return stored.rollout ?? withoutPointer(parts, rules);
  const recalled = parts.firstVersion === null ? recall(parts.dataDir) : null;
  const rollout = recalled ?? firstRollout(first(parts, rules), parts.clock());
  if (await parts.fleet.write(null, rollout)) return rollout;
  const theirs = await parts.fleet.read();
  return theirs?.rollout ?? rollout;
}

/** What a node begins with when the stored rollout cannot be read: what other nodes or its disk remember. */
async function withoutPointer(parts: StartParts, rules: LoadedRules): Promise<Rollout> {
  const recalled = recall(parts.dataDir);
  if (recalled !== null) return recalled;
  const [newest] = (await parts.fleet.nodes()).toSorted((a, b) => b.revision - a.revision);
  const active = newest?.active ?? rules.deciding(parts.firstVersion);
  return { ...firstRollout(active, parts.clock()), revision: newest?.revision ?? 0 };
}

/** Says aloud which version was chosen where nobody chose one. */
function first({ firstVersion, onTrouble }: StartParts, rules: LoadedRules): RuleSet {
  const chosen = rules.deciding(firstVersion);
  const released = rules.all().filter((one) => one.released);
  if (firstVersion === null && released.length > 1) {
    const names = released.map(({ version }) => version).join(', ');
    onTrouble(
      `first start: ${chosen.version} decides, the newest released version that was not rolled back (released: ${names}); RULE_VERSION chooses another`,
    );
  }
  return chosen;
}

const MEMORY = 'rollout.json';

/** Kept beside the data, for a start with a store that lost the rollout. Gives why it could not be, or null. */
export function remember(dataDir: string, rollout: Rollout): string | null {
  try {
    makeOwnFolder(dataDir);
    const path = join(dataDir, MEMORY);
    writeFileSync(`${path}.${process.pid}`, JSON.stringify(rollout), { mode: 0o600 });
    renameSync(`${path}.${process.pid}`, path);
    return null;
  } catch (error) {
    // A read-only disk must not stop a node whose store works.
    const why = error instanceof Error ? error.message : String(error);
    return `the rollout cannot be kept in DATA_DIR, for a start with a store that lost it: ${why}`;
  }
}

function recall(dataDir: string): Rollout | null {
  const path = join(dataDir, MEMORY);
  if (!existsSync(path)) return null;
  try {
    return parseRollout(readFileSync(path, 'utf8'));
  } catch {
    return null;
  }
}
