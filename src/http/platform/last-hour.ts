import type { PlatformName } from '../../client/client-key.ts';
import { Type } from '../../json-schema.ts';
import type { LastHourView } from '../../metrics/last-hour.ts';
import { count, epochMs, list, named, nullable, shape } from '../../shapes.ts';
import { AT_EXAMPLE } from '../openapi/decision-shapes.ts';
import { jsonAnswer, operation } from '../operation/operation.ts';

export interface LastHourParts {
  /** Of this node, with all of its processes. */
  readonly lastHour: (platform: PlatformName) => Promise<LastHourView>;
}

export const VerdictMinuteSchema = shape('What the platform was answered within a minute', {
  at: epochMs('Its beginning'),
  verdicts: shape('By verdict', {
    GET_NEW: count('New requisites'),
    GET_SAME_STICKY: count('Bound requisites'),
    WAIT: count('Waits'),
    BLOCK: count('Refusals'),
  }),
  groups: shape('By client group', {
    NEW: count('NEW'),
    STICKY: count('STICKY'),
    PAYING: count('PAYING'),
    TRUSTED: count('TRUSTED'),
    BLOCKED: count('BLOCKED'),
  }),
  bots: count('isBot true'),
  waits: Type.Record(Type.Integer({ minimum: 0 }), {
    description: 'Waits imposed, by level of the ladder; levels without one are left out',
  }),
});

const milliseconds = (description: string) => Type.Number({ minimum: 0, description });

const RequestMinuteSchema = shape('How this node answered all callers within a minute', {
  at: epochMs('Its beginning'),
  requests: count('score and verdict'),
  refused: count('Of these with 4xx'),
  failed: count('Of these with 5xx'),
  latencyMs: nullable(
    shape('Milliseconds, to within a quarter; null in a minute without any', {
      p50: milliseconds('Half were at most this'),
      p95: milliseconds('95 % were at most this'),
      p99: milliseconds('99 % were at most this'),
    }),
  ),
});

export const LastHourSchema = named(
  'LastHour',
  shape('The last hour of this node; a restart empties it', {
    verdicts: list(VerdictMinuteSchema, 'Sixty minutes, oldest first, the running one last'),
    requests: list(RequestMinuteSchema, 'Sixty minutes, oldest first, the running one last'),
  }),
);

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
  grant: 'decisions',
  answers: jsonAnswer(
    'Sixty minutes of each; the example shows the last one',
    LastHourSchema,
    MINUTE_EXAMPLE,
  ),
  refusals: [],
  answer: async ({ key }, { lastHour }: LastHourParts) => lastHour(key.platform),
});
