import type { PlatformName } from '../../client/client-key.ts';
import { Type } from '../../json-schema.ts';
import type { Metrics } from '../../metrics/metrics.ts';
import { type Reporting, ReportingSchema } from '../../metrics/reporting.ts';
import { choice, named, shape, word } from '../../shapes.ts';
import { jsonAnswer, openOperation, operation } from '../operation/operation.ts';

/**
 * Whether the process should get traffic. `why` says why not; of a ready process it says which clients cannot
 * be served and what needs attention, if anything.
 */
export type Readiness = () => Promise<{ readonly ready: boolean; readonly why?: string }>;

interface HealthParts {
  readonly readiness: Readiness;
  readonly metrics: Metrics;
}

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

const SHARED = { method: 'get', description: 'No key is needed.', tag: 'Health', refusals: [] } as const;

/** Asked by those who decide whether the node gets traffic, and is healthy. */
export const HEALTH_PATHS = ['/livez', '/readyz', '/metrics'] as const;

export const readLiveness = openOperation({
  ...SHARED,
  path: HEALTH_PATHS[0],
  operationId: 'readLiveness',
  label: 'livez',
  summary: 'Whether the process runs',
  answers: jsonAnswer('It does', LivenessSchema),
  answer: async () => ({ status: 'live' }),
});

export const readReadiness = openOperation({
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
  answer: async (ctx, { readiness }: HealthParts) => {
    const { ready, why = '' } = await readiness();
    ctx.status = ready ? 200 : 503;
    return { status: ready ? 'ready' : 'not ready', ...(why === '' ? {} : { why }) };
  },
});

export const readMetrics = openOperation({
  ...SHARED,
  path: HEALTH_PATHS[2],
  operationId: 'readMetrics',
  label: 'metrics',
  summary: 'Prometheus metrics',
  answers: { 200: { description: 'The exposition format of Prometheus', text: true } },
  answer: async (ctx, { metrics }: HealthParts) => {
    ctx.set('Content-Type', metrics.registry.contentType);
    return metrics.exposition();
  },
});

export interface ReportingParts {
  readonly reporting: (platform: PlatformName) => Promise<Reporting>;
}

export const readReporting = operation({
  method: 'get',
  path: '/v1/platform/reporting',
  operationId: 'readReporting',
  summary: 'Whether the platform reports outcomes',
  description: 'As all nodes see it.',
  tag: 'Console',
  grant: 'figures',
  answers: jsonAnswer('What is known of its reports', ReportingSchema),
  refusals: [],
  answer: ({ caller: { platform } }, { reporting }: ReportingParts) => reporting(platform),
});
