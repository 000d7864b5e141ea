import { AT_EXAMPLE, DIGEST_EXAMPLE } from '../../openapi/decision-shapes.ts';

/** Examples of the rollout and the fleet. */

export const ROLLOUT_EXAMPLE = {
  revision: 2,
  active: { version: 'p2.v10', digest: DIGEST_EXAMPLE },
  candidate: {
    version: 'p2.v11',
    digest: DIGEST_EXAMPLE.replace('4', '5'),
    mode: 'canary',
    percent: 5,
    trial: `p2.v11@${AT_EXAMPLE}`,
    since: AT_EXAMPLE,
    stageSince: AT_EXAMPLE,
    guardPoints: 2,
  },
  history: [
    {
      at: AT_EXAMPLE,
      who: 'ann',
      action: 'canary',
      from: 'p2.v10',
      to: 'p2.v11',
      digest: DIGEST_EXAMPLE.replace('4', '5'),
      percent: 5,
      reason: 'longer first wait',
    },
  ],
} as const;
