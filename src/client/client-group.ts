/** The payer's segment (contract, section 2.2). */
export const CLIENT_GROUPS = ['NEW', 'STICKY', 'PAYING', 'TRUSTED', 'BLOCKED'] as const;

export type ClientGroup = (typeof CLIENT_GROUPS)[number];
