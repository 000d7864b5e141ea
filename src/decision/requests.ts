import { isbot } from 'isbot';
import { ScoreHintsSchema } from '../client/hints.ts';
import { nullable, type Shape, shape, word } from '../shapes.ts';
import type { Arm, Draw } from './decision.ts';
import { networkKeys, networkOf } from './network.ts';
import type { ScoreBody, VerdictBody } from './request-bodies.ts';

const PAYMENT = {
  sellPointKey: word('Point of sale'),
  method: word('The payment method that was selected'),
  amount: word('A decimal number'),
  currency: nullable(word("Null for the platform's own")),
};

const PaymentSchema = shape('What both operations say of a payment', PAYMENT);

export type PaymentRequest = Shape<typeof PaymentSchema>;

/** A score request (interface, section 2.1) after the edge has replaced fingerprint and IP by HMACs. */
export const ScoreRequestSchema = shape('What a score was asked with', {
  ...PAYMENT,
  ...ScoreHintsSchema.properties,
});

export type ScoreRequest = Shape<typeof ScoreRequestSchema>;

/** A verdict request (interface, section 2.3). */
export interface AskedVerdict extends PaymentRequest {
  readonly orderRef: string;
}

/** The same with what the decision record says about its origin. */
export interface VerdictRequest extends AskedVerdict {
  readonly requestId: string;
  readonly arm: Arm;
  /** Absent while nothing is drawn. */
  readonly draw?: Draw;
}

/**
 * Replaces a fingerprint or IP by a keyed hash (HMAC), so that it can be compared but not read back.
 * `kind` keeps an IP and a fingerprint of the same text apart.
 */
export type Pseudonym = (kind: 'fingerprint' | 'ip', text: string) => string;

/**
 * What the rules may see of a score body: the device only by pseudonyms and by what it shows. `former` gives the
 * previous pseudonyms, while the secret behind them is being changed.
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
export function verdictRequest(body: VerdictBody, requestId: string, arm: Arm, draw?: Draw): VerdictRequest {
  return {
    sellPointKey: body.sellPointKey,
    method: body.method,
    amount: body.amountRequested,
    currency: body.toPayCurrency?.toUpperCase() ?? null,
    orderRef: body.orderRef,
    requestId,
    arm,
    ...(draw === undefined ? {} : { draw }),
  };
}
