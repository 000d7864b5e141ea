import type { VerdictRequest } from '#decision/requests.ts';

/** A verdict request as the core gets it. */
export const REQUEST: VerdictRequest = {
  sellPointKey: 'shop-1',
  method: 'card',
  amount: '25.00',
  currency: null,
  orderRef: 'order-1',
  requestId: 'request-1',
  arm: 'active',
};
