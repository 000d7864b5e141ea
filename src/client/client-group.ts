import { meaning } from '../shapes.ts';

/** The payer's segment (interface, section 2.2). */
export const CLIENT_GROUPS = ['NEW', 'STICKY', 'PAYING', 'TRUSTED', 'BLOCKED'] as const;

export type ClientGroup = (typeof CLIENT_GROUPS)[number];

export const clientGroup = meaning<ClientGroup>(
  {
    NEW: 'first contact',
    STICKY: 'bound to a requisite',
    PAYING: 'has paid without a binding',
    TRUSTED: 'stable history of payments',
    BLOCKED: 'blocked by decision or by a chain of unpaid attempts',
  },
  "The payer's segment",
);
