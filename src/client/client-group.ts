/** The payer's segment (contract, section 2.2). */
export type ClientGroup = 'NEW' | 'STICKY' | 'PAYING' | 'TRUSTED' | 'BLOCKED';

export const CLIENT_GROUPS = [
  'NEW',
  'STICKY',
  'PAYING',
  'TRUSTED',
  'BLOCKED',
] as const satisfies readonly ClientGroup[];
