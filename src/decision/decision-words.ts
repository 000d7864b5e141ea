/** The words of decisions, without their schemas, so that browsers use the same lists as the service. */

/** The verdicts of the interface (section 4.2). */
export const VERDICTS = ['GET_NEW', 'GET_SAME_STICKY', 'WAIT', 'BLOCK'] as const;

/** The groups of payers (interface, section 2.2). */
export const CLIENT_GROUPS = ['NEW', 'STICKY', 'PAYING', 'TRUSTED', 'BLOCKED'] as const;

/** Which rule set of a rollout decides: the active one, or a candidate. */
export const ARMS = ['active', 'candidate'] as const;
