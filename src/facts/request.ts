import { live } from '../client/client-state.ts';
import { type Fact, MONEY, YES_NO } from './fact.ts';

/** What this request asks for. */
export const REQUEST_FACTS = {
  amount: {
    kind: 'plain',
    domain: MONEY,
    unit: 'currency units',
    description: 'The requested amount.',
    read: ({ request }) => request.amount,
  },
  currency: {
    kind: 'plain',
    domain: { type: 'text' },
    unit: null,
    description: "The requested currency, upper case; the platform's currency when the request names none.",
    read: ({ request }) => request.currency,
  },
  method: {
    kind: 'plain',
    domain: { type: 'text' },
    unit: null,
    description: 'The requested payment method.',
    read: ({ request }) => request.method,
  },
  platform: {
    kind: 'circumstantial',
    domain: { type: 'text' },
    unit: null,
    description:
      'The platform that asks. What one platform alone has different may also stand in ruleset.yaml.',
    read: ({ platform }) => platform,
  },
  sellPointKey: {
    kind: 'plain',
    domain: { type: 'text' },
    unit: null,
    description: 'The point of sale.',
    read: ({ request }) => request.sellPointKey,
  },
  bindingFitsMethod: {
    kind: 'plain',
    domain: YES_NO,
    unit: null,
    description:
      'The client has a live binding that fits the requested method; one without a method fits all.',
    read: ({ state, request, now }) => {
      const binding = live(state.binding, now);
      return binding !== null && (binding.method === null || binding.method === request.method);
    },
  },
} as const satisfies Record<string, Fact>;
