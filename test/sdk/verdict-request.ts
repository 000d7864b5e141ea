/** A verdict request as a caller of the client library writes it. */
export const REQUEST = {
  sellPointKey: 'shop-1',
  clientIdKey: 'ann',
  method: 'card',
  amountRequested: '25.00',
  orderRef: 'order-1',
};
