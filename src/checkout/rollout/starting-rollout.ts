import type { RuleSet, RuleVersion } from '#decision/rules/rule-set.ts';
import type { Store } from '#state/store.ts';
import type { Fleet, StoredRollout } from './fleet.ts';
import type { LoadedRules } from './loaded-rules.ts';
import { createFirstRollout, type Rollout } from './rollout.ts';
import { recallRollout } from './rollout-memory.ts';

interface StartParts {
  readonly fleet: Fleet;
  readonly store: Pick<Store, 'installation'>;
  readonly dataDir: string;
  /** The version for the very first start. Null for the newest released version. */
  readonly firstVersion: RuleVersion | null;
  readonly clock: () => number;
  readonly onTrouble: (message: string) => void;
}

/**
 * Chooses the rollout with which a node starts: the stored one, or a newer one of the same store that this node
 * remembers. The chosen rollout is written to the store only at the store's very first start. A rollout that the
 * store lost later is written back by a person.
 */
export async function chooseStartingRollout(parts: StartParts, rules: LoadedRules): Promise<Rollout> {
  const stored = (await parts.fleet.read()) ?? (await readAgain(parts));
  if (stored === 'lost') return recallAnyRollout(parts, rules);
  if (stored === null) return startFirstRollout(parts, rules);
  const rollout = stored.rollout ?? (await recallAnyRollout(parts, rules));
  warnAboutFirstVersion(parts, rollout);
  return findNewer(parts, rules, rollout) ?? rollout;
}

/**
 * Reads the rollout again, because another node may start at the same time. Returns null before the very first start,
 * and `lost` if the store once had a rollout and has none now.
 */
async function readAgain({ fleet }: StartParts): Promise<StoredRollout | 'lost' | null> {
  const hasBegun = (await fleet.wasEverWritten()) || (await fleet.listNodes()).length > 0;
  return hasBegun ? ((await fleet.read()) ?? 'lost') : null;
}

async function startFirstRollout(parts: StartParts, rules: LoadedRules): Promise<Rollout> {
  const recalled = parts.firstVersion === null ? recallRollout(parts.dataDir) : null;
  const rollout = recalled?.rollout ?? createFirstRollout(chooseFirstVersion(parts, rules), parts.clock());
  if (await parts.fleet.write(null, rollout)) return rollout;
  const theirs = await parts.fleet.read();
  return theirs?.rollout ?? rollout;
}

/**
 * Finds the rollout of the same store that this node remembers. Returns null unless that rollout is newer than the
 * stored one and all its versions are loaded.
 */
function findNewer({ dataDir, store }: StartParts, rules: LoadedRules, stored: Rollout): Rollout | null {
  const { installation, rollout } = recallRollout(dataDir) ?? { installation: null, rollout: stored };
  const isNewer = installation === store.installation.id && rollout.revision > stored.revision;
  const needed = [rollout.active, ...rollout.candidates];
  return isNewer && needed.every(({ digest }) => rules.findByDigest(digest) !== null) ? rollout : null;
}

/**
 * Finds the rollout that this node's disk or other nodes remember, for a store whose rollout is gone or cannot be
 * read. If nobody remembers a rollout, returns that of a first start.
 */
async function recallAnyRollout(parts: StartParts, rules: LoadedRules): Promise<Rollout> {
  const recalled = recallRollout(parts.dataDir);
  if (recalled !== null) return recalled.rollout;
  const [newest] = (await parts.fleet.listNodes()).toSorted((a, b) => b.revision - a.revision);
  const active = newest?.active ?? rules.requireReleased(parts.firstVersion);
  return { ...createFirstRollout(active, parts.clock()), revision: newest?.revision ?? 0 };
}

function warnAboutFirstVersion({ firstVersion, onTrouble }: StartParts, { active }: Rollout): void {
  if (firstVersion === null || firstVersion === active.version) return;
  onTrouble(
    `RULE_VERSION is ${firstVersion}, but ${active.version} decides: RULE_VERSION counts only at the first start of a store; change what decides with "rules rollout", and remove RULE_VERSION`,
  );
}

/**
 * Chooses the version of the very first start. Reports the choice if nobody named a version and several are released.
 */
function chooseFirstVersion({ firstVersion, onTrouble }: StartParts, rules: LoadedRules): RuleSet {
  const chosen = rules.requireReleased(firstVersion);
  const released = rules.listAll().filter((one) => one.released);
  if (firstVersion === null && released.length > 1) {
    const names = released.map(({ version }) => version).join(', ');
    onTrouble(
      `first start: ${chosen.version} decides, the newest released version that was not rolled back (released: ${names}); RULE_VERSION chooses another`,
    );
  }
  return chosen;
}
