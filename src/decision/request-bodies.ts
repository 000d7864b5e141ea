import { DECIMAL_CHARACTERS_MAX, DECIMAL_PATTERN, REQUESTED_CURRENCY_PATTERN } from '../client/amount.ts';
import { Type } from '../json-schema.ts';
import { key, type Shape, text } from '../shapes.ts';

const sellPointKey = key('Stable identifier of the point of sale');
const clientIdKey = key('Stable identifier of the client');
const amountRequested = Type.String({
  pattern: DECIMAL_PATTERN,
  told: { maxLength: DECIMAL_CHARACTERS_MAX },
  description: 'Amount as a JSON string with a decimal number, like "250.00"',
});
const toPayCurrency = Type.String({
  pattern: REQUESTED_CURRENCY_PATTERN,
  told: { minLength: 3, maxLength: 4 },
  description: "ISO 4217 code; the platform's currency when absent",
});

/** The score request of the interface, section 2.1. */
export const ScoreBodySchema = Type.Object({
  sellPointKey,
  clientIdKey,
  amountRequested,
  selectedMethodKey: key('Selected or preferred payment method'),
  toPayCurrency: Type.Optional(toPayCurrency),
  fingerprint: Type.Optional(key("Caller's stable browser or device fingerprint")),
  ip: Type.Optional(text(64, 'Client IP as the caller sees it')),
  userAgent: Type.Optional(text(512, 'Client User-Agent')),
  clientHints: Type.Optional(
    Type.Object({
      jsOk: Type.Optional(Type.Boolean({ description: 'The page executed JavaScript' })),
      honeypotTriggered: Type.Optional(Type.Boolean({ description: 'A trap field was filled in' })),
    }),
  ),
});

/** The verdict request of the interface, section 2.3. */
export const VerdictBodySchema = Type.Object({
  sellPointKey,
  clientIdKey,
  method: key('Method for which the requisite is requested'),
  amountRequested,
  orderRef: key("Caller's order identifier, opaque to the service"),
  toPayCurrency: Type.Optional(toPayCurrency),
});

/** A score request, already validated. */
export type ScoreBody = Shape<typeof ScoreBodySchema>;

/** A verdict request, already validated. */
export type VerdictBody = Shape<typeof VerdictBodySchema>;
