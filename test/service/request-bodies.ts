/** A valid score request (interface, section 2.1) with the members a test cares about. */
export function scoreBody(members: object = {}) {
  return {
    sellPointKey: 'shop-1',
    clientIdKey: 'payer-1',
    amountRequested: '25.00',
    selectedMethodKey: 'card',
    ...members,
  };
}

/** A valid verdict request (interface, section 2.3) with the members a test cares about. */
export function verdictBody(members: object = {}) {
  return {
    sellPointKey: 'shop-1',
    clientIdKey: 'payer-1',
    method: 'card',
    amountRequested: '25.00',
    orderRef: 'order-1',
    ...members,
  };
}

/** What a bulk call answers of a line that it cannot read. */
export function malformedLine(line: number, detail: string) {
  return { line, error: 'malformed JSON body', code: 'malformed-body', detail, retryable: false };
}
