import type { Documents } from '../../state/documents.ts';

const COLLECTION = 'shipping-troubles';

/** A trouble is reported with every try; an older one is over, or its node is gone. */
const TOLD_FOR_MS = 60_000;

/** Why a node could not ship when it tried last. */
export interface ShippingTrouble {
  /** `host/pid/..` */
  readonly name: string;
  readonly why: string;
  /** Epoch ms. */
  readonly at: number;
}

/** Lets every node know why this one does not ship and leaves the lease to others. */
export function tellShippingTrouble(documents: Documents, trouble: ShippingTrouble): Promise<void> {
  return documents.set(COLLECTION, trouble.name, trouble, TOLD_FOR_MS);
}

export async function shippingTroubles(documents: Documents): Promise<readonly ShippingTrouble[]> {
  const troubles = await documents.list<ShippingTrouble>(COLLECTION);
  return troubles.toSorted((a, b) => a.name.localeCompare(b.name));
}
