import type { Fleet, NodeView } from '#checkout/rollout/fleet.ts';
import type { Rollout, RolloutChangeOrigin } from '#checkout/rollout/rollout.ts';
import { createRolloutReplacingUnreadable, createRolloutWithHigherRevision } from './advance.ts';
import { type FollowReport, RolloutRefused, writeRollout } from './change-rollout.ts';

/**
 * Writes back the rollout that the nodes follow, if the store has lost it or holds an older one. The rollout that
 * DATA_DIR remembers is written. If the remembered rollout is older, too, a rollout without candidates is written,
 * with the version that decides on the nodes. Throws `RolloutRefused`.
 */
export async function restoreRolloutInStore(
  fleet: Fleet,
  remembered: Rollout | null,
  change: RolloutChangeOrigin,
): Promise<FollowReport> {
  const newest = findNewest(await fleet.listNodes());
  const stored = await fleet.read();
  const held = stored?.rollout ?? null;
  const followed = newest?.revision ?? 0;
  const known = remembered !== null && remembered.revision >= followed ? remembered : null;
  if (held !== null && !isBehind(held, known, followed))
    throw new RolloutRefused(
      `the store holds revision ${held.revision} of the rollout, and no node or DATA_DIR has a newer one: there is nothing to write back`,
    );
  const above = Math.max(held?.revision ?? 0, followed);
  if (known !== null)
    return writeRollout(fleet, stored, createRolloutWithHigherRevision(known, above, change));
  if (newest !== null)
    return writeRollout(fleet, stored, createRolloutReplacingUnreadable(above, newest.active, change));
  throw new RolloutRefused(
    'DATA_DIR holds no rollout, and no node is running on this store; start a node, or run this with the DATA_DIR of one',
  );
}

function isBehind(held: Rollout, known: Rollout | null, followed: number): boolean {
  if (known === null) return held.revision < followed;
  if (held.revision < known.revision) return true;
  return held.revision === known.revision && JSON.stringify(held) !== JSON.stringify(known);
}

/**
 * Makes the nodes follow the rollout in the store, although they know a newer one, because a person accepted the
 * store's contents. An empty store gets the remembered rollout. Returns the rollout that is valid from now on.
 * Returns null if there is none, so that the next node that starts begins one.
 */
export async function makeNodesFollowStoreRollout(
  fleet: Fleet,
  remembered: Rollout | null,
  change: RolloutChangeOrigin,
): Promise<Rollout | null> {
  const newest = findNewest(await fleet.listNodes());
  const stored = await fleet.read();
  const rollout = stored === null ? remembered : stored.rollout;
  if (rollout === null) return null;
  const above = Math.max(remembered?.revision ?? 0, newest?.revision ?? 0);
  const isFollowed = stored !== null && rollout.revision >= above;
  if (isFollowed) return rollout;
  const next = createRolloutWithHigherRevision(rollout, above, change);
  if (await fleet.write(stored, next)) return next;
  throw new RolloutRefused('somebody else changed the rollout at the same time; accept the store again');
}

function findNewest(nodes: readonly NodeView[]): NodeView | null {
  return nodes.toSorted((a, b) => b.revision - a.revision)[0] ?? null;
}
