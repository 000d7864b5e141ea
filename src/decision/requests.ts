import ipaddr from 'ipaddr.js';
import { isbot } from 'isbot';
import { DECIMAL_CHARACTERS_MAX, DECIMAL_PATTERN, REQUESTED_CURRENCY_PATTERN } from '../client/amount.ts';
import { ScoreHintsSchema } from '../client/hints.ts';
import { Type } from '../json-schema.ts';
import { key, nullable, type Shape, shape, text, word } from '../shapes.ts';
import type { Arm, Draw } from './decision.ts';

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

export type ScoreBody = Shape<typeof ScoreBodySchema>;

export type VerdictBody = Shape<typeof VerdictBodySchema>;

const PAYMENT = {
  sellPointKey: word('Point of sale', 'shop-1'),
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

/** The same with the request's origin, for the decision record. */
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
 * What the rules may see of a score body: the device only by pseudonyms and hints. `former` gives the previous
 * pseudonyms while their secret is being changed.
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

/** Four plain decimals: programs disagree about which host `192.0.2` or the octal `010` means. */
const PLAIN_IPV4 = /^(0|[1-9]\d{0,2})(\.(0|[1-9]\d{0,2})){3}$/;

/** Whether the text is an address in a form that all programs read in the same way. */
export function isAddress(text: string): boolean {
  return (text.includes(':') || PLAIN_IPV4.test(text)) && ipaddr.isValid(text);
}

/**
 * What an address counts as: an IPv4 address as itself, also when written as IPv6; an IPv6 address as its /64, since
 * one household or host owns all of that. Other texts stay as they are.
 */
export function networkOf(address: string): string {
  if (!isAddress(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return networkText(parsed, 64);
}

/**
 * The prefixes of the networks whose HMACs are kept with an address, so that ranges on shared lists can match it. The
 * last one is what the address itself counts as.
 */
export const KEPT_PREFIXES = { ipv4: [16, 24, 32], ipv6: [32, 40, 48, 56, 64] } as const;

/** 60 bits: with a million networks on a list an address matches wrongly once in 10^12. */
const NETWORK_KEY_CHARACTERS = 10;

/** Shortened HMACs of the networks around an address, except for what it counts as itself; none for other texts. */
export function networkKeys(address: string, pseudonym: Pseudonym): readonly string[] {
  if (!isAddress(address)) return [];
  const parsed = ipaddr.process(address);
  return KEPT_PREFIXES[parsed.kind()].slice(0, -1).map((prefix) => networkKey(pseudonym, parsed, prefix));
}

/** The lookup key of a network with one of the kept prefixes; for the longest it is that of an address. */
export function networkKey(pseudonym: Pseudonym, address: ipaddr.IPv4 | ipaddr.IPv6, prefix: number): string {
  const isWhole = prefix === KEPT_PREFIXES[address.kind()].at(-1);
  if (isWhole) return pseudonym('ip', networkOf(address.toString()));
  return pseudonym('ip', networkText(address, prefix)).slice(0, NETWORK_KEY_CHARACTERS);
}

function networkText(address: ipaddr.IPv4 | ipaddr.IPv6, prefix: number): string {
  if (address.kind() === 'ipv4') {
    return `${ipaddr.IPv4.networkAddressFromCIDR(`${address.toString()}/${prefix}`).toString()}/${prefix}`;
  }
  const withoutZone = address.toString().replace(/%.*/, '');
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${withoutZone}/${prefix}`).toString()}/${prefix}`;
}
