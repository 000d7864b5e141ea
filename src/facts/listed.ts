import { type Fact, YES_NO } from './fact.ts';

/** Who is on lists that people change without a release. */
export const LISTED_FACTS = {
  listed: {
    kind: 'listed',
    domain: YES_NO,
    unit: null,
    description:
      "The request has an entry on the shared list: by its client, its method or its point of sale, or by a fingerprint or IP address that a score of the last 24 hours showed, as the list's kind says. False for a list that does not exist.",
    read: ({ isListed }, list) => isListed(list),
  },
} as const satisfies Record<string, Fact>;
