import { isbot } from 'isbot';
import { networkOf } from '../client/network.ts';
import type { ScoreRequest, VerdictRequest } from './decide.ts';
import type { Arm } from './decision.ts';

/** The members of a score request (contract, section 2.1), already validated. */
export interface ScoreBody {
  readonly sellPointKey: string;
  readonly clientIdKey: string;
  readonly amountRequested: string;
  readonly selectedMethodKey: string;
  readonly toPayCurrency?: string;
  readonly fingerprint?: string;
  readonly ip?: string;
  readonly userAgent?: string;
  readonly clientHints?: { readonly jsOk?: boolean; readonly honeypotTriggered?: boolean };
}

/** The members of a verdict request (contract, section 2.3), already validated. */
export interface VerdictBody {
  readonly sellPointKey: string;
  readonly clientIdKey: string;
  readonly method: string;
  readonly amountRequested: string;
  readonly orderRef: string;
  readonly toPayCurrency?: string;
}

/**
 * Replaces a fingerprint or IP by a keyed hash (HMAC), so that it can be compared but not read back.
 * `kind` keeps an IP and a fingerprint of the same text apart.
 */
export type Pseudonym = (kind: 'fingerprint' | 'ip', text: string) => string;

/** What the rules may see of a score body: the device only by pseudonyms and by what it shows. */
export function scoreRequest(body: ScoreBody, pseudonym: Pseudonym): ScoreRequest {
  const { fingerprint, ip, userAgent, clientHints } = body;
  return {
    sellPointKey: body.sellPointKey,
    method: body.selectedMethodKey,
    amount: body.amountRequested,
    currency: body.toPayCurrency?.toUpperCase() ?? null,
    fingerprint: fingerprint === undefined ? null : pseudonym('fingerprint', fingerprint),
    ip: ip === undefined ? null : pseudonym('ip', networkOf(ip)),
    jsOk: clientHints?.jsOk ?? null,
    honeypotTriggered: clientHints?.honeypotTriggered === true,
    userAgentPresent: userAgent !== undefined,
    userAgentIsAutomated: userAgent !== undefined && isbot(userAgent),
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
