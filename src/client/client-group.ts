/** The payer's segment (interface, section 2.2). */
export const CLIENT_GROUPS = ['NEW', 'STICKY', 'PAYING', 'TRUSTED', 'BLOCKED'] as const;

export type ClientGroup = (typeof CLIENT_GROUPS)[number];
