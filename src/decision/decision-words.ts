/** The words that decisions are made of, apart from the schemas, so that browsers use the same lists as the service. */

/** The verdicts of the interface (section 4.2). */
export const VERDICTS = ['GET_NEW', 'GET_SAME_STICKY', 'WAIT', 'BLOCK'] as const;

/** The payer's segments (interface, section 2.2). */
export const CLIENT_GROUPS = ['NEW', 'STICKY', 'PAYING', 'TRUSTED', 'BLOCKED'] as const;

/** Which rule set of a rollout decided. */
export const ARMS = ['active', 'candidate'] as const;
