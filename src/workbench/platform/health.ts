import { Type } from '#base/json-schema.ts';
import { choice, named, plainText, shape } from '#base/shapes.ts';
import {
  createTaggedOperations,
  declareJsonAnswer,
  declareOperation,
} from '#checkout/http/operation/operation.ts';
import { ReportingSchema } from '#workbench/monitoring/reporting.ts';
import { declareKeylessOperation } from './open-operation.ts';
import type { PlatformOperationParts } from './parts.ts';

const LivenessSchema = named(
  'Liveness',
  shape('The process runs', { status: choice(['live'], 'Always so') }),
);

const ReadinessSchema = named(
  'Readiness',
  shape('Whether the process should get traffic', {
    status: choice(['ready', 'not ready'], 'In a word'),
    why: Type.Optional(
      plainText(
        'Why not; of a ready process, what needs attention',
        'The clients on Redis at 10.0.0.5:6379 get 503: NOREPLICAS Not enough good replicas to write.',
      ),
    ),
  }),
);

const NO_KEY = 'No key is needed.';

/** The paths by which load balancers and monitoring ask whether the node may get traffic and is healthy. */
export const HEALTH_PATHS = ['/livez', '/readyz', '/metrics'] as const;

const readLiveness = declareKeylessOperation({
  route: `get ${HEALTH_PATHS[0]}`,
  description: NO_KEY,
  label: 'livez',
  ignoresQuery: true,
  summary: 'Whether the process runs',
  answers: declareJsonAnswer('It does', LivenessSchema),
  answer: async () => ({ status: 'live' }),
});

const readReadiness = declareKeylessOperation({
  route: `get ${HEALTH_PATHS[1]}`,
  description: NO_KEY,
  label: 'readyz',
  ignoresQuery: true,
  summary: 'Whether the process should get traffic',
  answers: {
    ...declareJsonAnswer('It should', ReadinessSchema),
    503: {
      description: 'It should not: it is shutting down, or its store takes no writes',
      content: { 'application/json': ReadinessSchema },
    },
  },
  answer: async (ctx, { readiness }: PlatformOperationParts) => {
    const { ready, why = '' } = await readiness();
    ctx.status = ready ? 200 : 503;
    return { status: ready ? 'ready' : 'not ready', ...(why === '' ? {} : { why }) };
  },
});

const readMetrics = declareKeylessOperation({
  route: `get ${HEALTH_PATHS[2]}`,
  description: NO_KEY,
  label: 'metrics',
  ignoresQuery: true,
  summary: 'Prometheus metrics',
  answers: { 200: { description: 'The exposition format of Prometheus', text: true } },
  answer: async (ctx, { metrics }: PlatformOperationParts) => {
    ctx.set('Content-Type', metrics.registry.contentType);
    return metrics.formatExposition();
  },
});

const readReporting = declareOperation({
  route: 'get /v1/platform/reporting',
  summary: 'Whether the platform reports outcomes',
  description: 'As all nodes see it.',
  grant: 'figures',
  answers: declareJsonAnswer('What is known of its reports', ReportingSchema),
  answer: ({ caller: { platform } }, { reporting }: PlatformOperationParts) => reporting(platform),
});

export const OUTCOME_REPORTING_OPERATIONS = createTaggedOperations('Console', { readReporting });
export const HEALTH_OPERATIONS = createTaggedOperations('Health', {
  readLiveness,
  readReadiness,
  readMetrics,
});
