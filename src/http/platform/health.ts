import { Type } from 'typebox';
import type { Metrics } from '../../metrics.ts';
import { choice, named, shape } from '../../shapes.ts';
import { word } from '../openapi/words.ts';
import { jsonAnswer, openOperation } from '../operation/operation.ts';

/** Whether the process should get traffic, and if not, why. */
export type Readiness = () => Promise<
  { readonly ready: true } | { readonly ready: false; readonly why: string }
>;

export interface HealthParts {
  readonly readiness: Readiness;
  readonly metrics: Metrics;
}

const LivenessSchema = named(
  'Liveness',
  shape('The process runs', { status: choice(['live'] as const, 'Always so') }),
);

const ReadinessSchema = named(
  'Readiness',
  shape('Whether the process should get traffic', {
    status: choice(['ready', 'not ready'] as const, 'In a word'),
    why: Type.Optional(word('Only when it should not')),
  }),
);

const SHARED = { method: 'get', description: 'No key is needed.', tag: 'Health', refusals: [] } as const;

export const readLiveness = openOperation({
  ...SHARED,
  path: '/livez',
  operationId: 'readLiveness',
  label: 'livez',
  summary: 'Whether the process runs',
  answers: jsonAnswer('It does', LivenessSchema, { status: 'live' }),
  answer: async () => ({ status: 'live' }),
});

export const readReadiness = openOperation({
  ...SHARED,
  path: '/readyz',
  operationId: 'readReadiness',
  label: 'readyz',
  summary: 'Whether the process should get traffic',
  answers: {
    ...jsonAnswer('It should', ReadinessSchema, { status: 'ready' }),
    503: {
      description: 'It should not: it is shutting down, or its store cannot be reached',
      content: {
        'application/json': {
          shape: ReadinessSchema,
          example: { status: 'not ready', why: 'the store cannot be reached' },
        },
      },
    },
  },
  answer: async (ctx, { readiness }: HealthParts) => {
    const state = await readiness();
    ctx.status = state.ready ? 200 : 503;
    return state.ready ? { status: 'ready' } : { status: 'not ready', why: state.why };
  },
});

export const readMetrics = openOperation({
  ...SHARED,
  path: '/metrics',
  operationId: 'readMetrics',
  label: 'metrics',
  summary: 'Prometheus metrics',
  answers: { 200: { description: 'The exposition format of Prometheus', text: true } },
  answer: async (ctx, { metrics }: HealthParts) => {
    ctx.set('Content-Type', metrics.registry.contentType);
    return metrics.registry.metrics();
  },
});
