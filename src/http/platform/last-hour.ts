import type { PlatformName } from '../../client/client-key.ts';
import { LastHourSchema, type LastHourView } from '../../metrics/last-hour.ts';
import { AT_EXAMPLE } from '../openapi/decision-shapes.ts';
import { jsonAnswer, operation } from '../operation/operation.ts';

export interface LastHourParts {
  /** Of this node, with all of its processes. */
  readonly lastHour: (platform: PlatformName) => Promise<LastHourView>;
}

const MINUTE_EXAMPLE = {
  verdicts: [
    {
      at: AT_EXAMPLE,
      verdicts: { GET_NEW: 41, GET_SAME_STICKY: 3, WAIT: 12, BLOCK: 2 },
      groups: { NEW: 30, STICKY: 3, PAYING: 20, TRUSTED: 3, BLOCKED: 2 },
      bots: 2,
      waits: { 1: 9, 2: 3 },
    },
  ],
  requests: [
    { at: AT_EXAMPLE, requests: 97, refused: 1, failed: 0, latencyMs: { p50: 0.95, p95: 2.33, p99: 4.55 } },
  ],
} as const;

export const readLastHour = operation({
  method: 'get',
  path: '/v1/platform/last-hour',
  operationId: 'readLastHour',
  summary: 'What this node answered, minute by minute',
  description:
    'Verdicts are those of the platform, requests and latency those of all callers of this node. For a fleet over a longer time there is /metrics.',
  tag: 'Console',
  grant: 'figures',
  answers: jsonAnswer(
    'Sixty minutes of each; the example shows the last one',
    LastHourSchema,
    MINUTE_EXAMPLE,
  ),
  refusals: [],
  answer: async ({ caller }, { lastHour }: LastHourParts) => lastHour(caller.platform),
});
