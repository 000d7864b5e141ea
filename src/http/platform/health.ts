import { Type } from '../../json-schema.ts';
import { ReportingSchema } from '../../metrics/reporting.ts';
import { choice, named, shape, word } from '../../shapes.ts';
import { jsonAnswer, openOperation, operation } from '../operation/operation.ts';
import type { PlatformParts } from './parts.ts';

const LivenessSchema = named(
  'Liveness',
  shape('The process runs', { status: choice(['live'], 'Always so') }),
);

const ReadinessSchema = named(
  'Readiness',
  shape('Whether the process should get traffic', {
    status: choice(['ready', 'not ready'], 'In a word'),
    why: Type.Optional(
      word(
        'Why not; of a ready process, what needs attention',
        'The clients on Redis at 10.0.0.5:6379 get 503: NOREPLICAS Not enough good replicas to write.',
      ),
    ),
  }),
);

const SHARED = { method: 'get', description: 'No key is needed.', tag: 'Health' } as const;

/** Asked by those who decide whether the node gets traffic, and is healthy. */
export const HEALTH_PATHS = ['/livez', '/readyz', '/metrics'] as const;

const readLiveness = openOperation({
  ...SHARED,
  path: HEALTH_PATHS[0],
  operationId: 'readLiveness',
  label: 'livez',
  summary: 'Whether the process runs',
  answers: jsonAnswer('It does', LivenessSchema),
  answer: async () => ({ status: 'live' }),
});

const readReadiness = openOperation({
  ...SHARED,
  path: HEALTH_PATHS[1],
  operationId: 'readReadiness',
  label: 'readyz',
  summary: 'Whether the process should get traffic',
  answers: {
    ...jsonAnswer('It should', ReadinessSchema),
    503: {
      description: 'It should not: it is shutting down, or its store takes no writes',
      content: {
        'application/json': {
          shape: ReadinessSchema,
        },
      },
    },
  },
  answer: async (ctx, { readiness }: PlatformParts) => {
    const { ready, why = '' } = await readiness();
    ctx.status = ready ? 200 : 503;
    return { status: ready ? 'ready' : 'not ready', ...(why === '' ? {} : { why }) };
  },
});

const readMetrics = openOperation({
  ...SHARED,
  path: HEALTH_PATHS[2],
  operationId: 'readMetrics',
  label: 'metrics',
  summary: 'Prometheus metrics',
  answers: { 200: { description: 'The exposition format of Prometheus', text: true } },
  answer: async (ctx, { metrics }: PlatformParts) => {
    ctx.set('Content-Type', metrics.registry.contentType);
    return metrics.exposition();
  },
});

const readReporting = operation({
  method: 'get',
  path: '/v1/platform/reporting',
  operationId: 'readReporting',
  summary: 'Whether the platform reports outcomes',
  description: 'As all nodes see it.',
  tag: 'Console',
  grant: 'figures',
  answers: jsonAnswer('What is known of its reports', ReportingSchema),
  answer: ({ caller: { platform } }, { reporting }: PlatformParts) => reporting(platform),
});

export const HEALTH_OPERATIONS = [readReporting, readLiveness, readReadiness, readMetrics];
