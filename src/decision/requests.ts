import { isbot } from 'isbot';
import { Type } from 'typebox';
import { DECIMAL_CHARACTERS_MAX, DECIMAL_PATTERN, REQUESTED_CURRENCY_PATTERN } from '../client/amount.ts';
import type { ScoreHints } from '../client/hints.ts';
import { key, type Shape, text } from '../shapes.ts';
import type { Arm } from './decision.ts';
import { networkKeys, networkOf } from './network.ts';

/** What both operations say of a payment. */
export interface PaymentRequest {
  readonly sellPointKey: string;
  readonly method: string;
  /** A decimal-string. */
  readonly amount: string;
  /** Null means the platform's currency. */
  readonly currency: string | null;
}

/** A score request (contract, section 2.1) after the edge has replaced fingerprint and IP by HMACs. */
export interface ScoreRequest extends PaymentRequest, ScoreHints {}

/** A verdict request (contract, section 2.3). */
export interface AskedVerdict extends PaymentRequest {
  readonly orderRef: string;
}

/** The same with what the decision record says about its origin. */
export interface VerdictRequest extends AskedVerdict {
  readonly requestId: string;
  readonly arm: Arm;
}

const sellPointKey = key('Stable identifier of the point of sale');
const clientIdKey = key('Stable identifier of the client');
const amountRequested = Type.String({
  pattern: DECIMAL_PATTERN,
  lengths: { maxLength: DECIMAL_CHARACTERS_MAX },
  description: 'Amount as a JSON string with a decimal number, like "250.00"',
});
const toPayCurrency = Type.String({
  pattern: REQUESTED_CURRENCY_PATTERN,
  lengths: { minLength: 3, maxLength: 4 },
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

/**
 * Replaces a fingerprint or IP by a keyed hash (HMAC), so that it can be compared but not read back.
 * `kind` keeps an IP and a fingerprint of the same text apart.
 */
export type Pseudonym = (kind: 'fingerprint' | 'ip', text: string) => string;

/**
 * What the rules may see of a score body: the device only by pseudonyms and by what it shows. `former` gives the
 * pseudonyms of before, while the secret behind them is being changed.
 */
export function scoreRequest(
  body: ScoreBody,
  pseudonym: Pseudonym,
  former: Pseudonym | null = null,
): ScoreRequest {
  const { userAgent, clientHints } = body;
  return {
    sellPointKey: body.sellPointKey,
    method: body.selectedMethodKey,
    amount: body.amountRequested,
    currency: body.toPayCurrency?.toUpperCase() ?? null,
    ...deviceOf(body, pseudonym),
    ...aroundIp(body.ip, pseudonym),
    ...(former === null ? {} : { former: deviceOf(body, former) }),
    jsOk: clientHints?.jsOk ?? null,
    honeypotTriggered: clientHints?.honeypotTriggered === true,
    userAgentPresent: userAgent !== undefined,
    userAgentIsAutomated: userAgent !== undefined && isbot(userAgent),
  };
}

function aroundIp(ip: string | undefined, pseudonym: Pseudonym): Pick<ScoreRequest, 'networks'> {
  const networks = ip === undefined ? [] : networkKeys(ip, pseudonym);
  return networks.length === 0 ? {} : { networks };
}

function deviceOf({ fingerprint, ip }: ScoreBody, pseudonym: Pseudonym) {
  return {
    fingerprint: fingerprint === undefined ? null : pseudonym('fingerprint', fingerprint),
    ip: ip === undefined ? null : pseudonym('ip', networkOf(ip)),
  };
}

/** A verdict body with what the decision record says about its origin. */
export function verdictRequest(body: VerdictBody, requestId: string, arm: Arm): VerdictRequest {
  return {
    sellPointKey: body.sellPointKey,
    method: body.method,
    amount: body.amountRequested,
    currency: body.toPayCurrency?.toUpperCase() ?? null,
    orderRef: body.orderRef,
    requestId,
    arm,
  };
}
