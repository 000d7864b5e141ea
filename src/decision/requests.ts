import { Type } from '#base/json-schema.ts';
import { key, nullable, plainText, shape, text, type ValueOf } from '#base/shapes.ts';
import { deriveAddressKey, deriveNetworkKeys, type Pseudonymize } from './addresses.ts';
import { type BodyDevice, readDevice } from './body-hints.ts';
import type { Arm, TrialDraw } from './decision.ts';
import { DECIMAL_CHARACTERS_MAX, DECIMAL_PATTERN, REQUESTED_CURRENCY_PATTERN } from './payer/amount.ts';
import {
  ATTRIBUTE_CHARACTERS_MAX,
  ATTRIBUTES_MAX,
  type Attributes,
  type AttributesUnderBothSecrets,
  type AttributeValue,
  type DeclaredAttributes,
  isPseudonym,
  readDeclaredAttributes,
} from './payer/attributes.ts';
import { ScoreHintsSchema } from './payer/hints.ts';
import { classifyUserAgent } from './user-agent.ts';

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

/**
 * The attributes of a request, an optional addition to the interface. Attributes that the deciding rule set does not
 * declare are ignored.
 */
const attributes = Type.Unsafe<Record<string, AttributeValue>>({
  type: 'object',
  maxProperties: ATTRIBUTES_MAX,
  propertyNames: { type: 'string', minLength: 1, maxLength: ATTRIBUTE_CHARACTERS_MAX, storable: true },
  patternProperties: {
    '^.*$': { type: ['string', 'number', 'boolean'], maxLength: ATTRIBUTE_CHARACTERS_MAX, storable: true },
  },
  description:
    'Optional, and not part of the common interface: other facts that the platform knows about the payer, by name, for rules that ask for them',
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
  attributes: Type.Optional(attributes),
});

/** The verdict request of the interface, section 2.3. */
export const VerdictBodySchema = Type.Object({
  sellPointKey,
  clientIdKey,
  method: key('Method for which the requisite is requested'),
  amountRequested,
  orderRef: key("Caller's order identifier, opaque to the service"),
  toPayCurrency: Type.Optional(toPayCurrency),
  attributes: Type.Optional(attributes),
});

export type ScoreBody = ValueOf<typeof ScoreBodySchema>;

export type VerdictBody = ValueOf<typeof VerdictBodySchema>;

const PAYMENT = {
  sellPointKey: plainText('Point of sale', 'shop-1'),
  method: plainText('The payment method that was selected'),
  amount: plainText('A decimal number'),
  currency: nullable(plainText("Null for the platform's own")),
};

const PaymentSchema = shape('What both operations say of a payment', PAYMENT);

export type RequestedPayment = ValueOf<typeof PaymentSchema>;

/** A score request (interface, section 2.1), in which HMACs have replaced the fingerprint and the IP. */
export const ScoreRequestSchema = shape('What a score was asked with', {
  ...PAYMENT,
  ...ScoreHintsSchema.properties,
});

export type ScoreRequest = ValueOf<typeof ScoreRequestSchema>;

/** A verdict request (interface, section 2.3). */
export interface VerdictRequestWithoutOrigin extends RequestedPayment, AttributesUnderBothSecrets {
  readonly orderRef: string;
}

/** A verdict request with its origin, for the decision record. */
export interface VerdictRequest extends VerdictRequestWithoutOrigin {
  readonly requestId: string;
  readonly arm: Arm;
  /** Missing if the client was drawn for no trial. */
  readonly draw?: TrialDraw;
}

/**
 * Converts a score body to a score request. The rules see the device only by pseudonyms and hints. `former` makes the
 * previous pseudonyms while their secret is being changed. `device` is what `readDevice` finds in the body.
 */
export function toScoreRequest(
  body: ScoreBody,
  pseudonym: Pseudonymize,
  former: Pseudonymize | null = null,
  device: BodyDevice = readDevice(body),
): ScoreRequest {
  const { userAgent, clientHints } = body;
  const { address } = device;
  const sender = userAgent === undefined ? null : classifyUserAgent(userAgent);
  return {
    sellPointKey: body.sellPointKey,
    method: body.selectedMethodKey,
    amount: body.amountRequested,
    currency: body.toPayCurrency?.toUpperCase() ?? null,
    ...hashDevice(device, pseudonym),
    ...(address === null ? {} : { networks: deriveNetworkKeys(address, pseudonym) }),
    ...(former === null ? {} : { former: hashDevice(device, former) }),
    jsOk: clientHints?.jsOk ?? null,
    honeypotTriggered: clientHints?.honeypotTriggered === true,
    userAgentPresent: userAgent !== undefined,
    userAgentIsAutomated: sender === 'program',
    userAgentIsApp: sender === 'app',
  };
}

/** Makes pseudonyms, and while the secret is being changed also those under the previous secret. */
export interface Pseudonymizers {
  readonly pseudonym: Pseudonymize;
  readonly formerPseudonym?: Pseudonymize | null;
}

/** Adds the sent attributes to a request, as far as the deciding rule set declares them. */
export function addDeclaredAttributes<Request extends { readonly former?: object }>(
  request: Request,
  { attributes: declared }: { readonly attributes: DeclaredAttributes },
  sent: ScoreBody['attributes'],
  { pseudonym, formerPseudonym: former = null }: Pseudonymizers,
): Request & { readonly attributes?: Attributes } {
  // Most requests have no attributes, and the function below costs an allocation.
  if (sent === undefined) return request;
  const attributes = readDeclaredAttributes(declared, sent, (text) => pseudonym('attribute', text));
  if (attributes === undefined) return request;
  if (former === null) return { ...request, attributes };
  const hidden = new Map([...declared].filter(([name]) => isPseudonym(attributes[name])));
  const before = readDeclaredAttributes(hidden, sent, (text) => former('attribute', text));
  return before === undefined
    ? { ...request, attributes }
    : { ...request, attributes, former: { ...request.former, attributes: before } };
}

function hashDevice({ fingerprint, address }: BodyDevice, pseudonym: Pseudonymize) {
  return {
    fingerprint: fingerprint === null ? null : pseudonym('fingerprint', fingerprint),
    ip: address === null ? null : deriveAddressKey(address, pseudonym),
  };
}

/**
 * Converts a verdict body to a verdict request with its origin, without the attributes; `addDeclaredAttributes` adds
 * these.
 */
export function toVerdictRequest(
  body: VerdictBody,
  requestId: string,
  arm: Arm,
  draw?: TrialDraw,
): VerdictRequest {
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

/**
 * Sorts the members of a body and of its attributes by name. So two bodies with the same members in another sequence
 * are the same request.
 */
export function sortBodyMembers(body: VerdictBody): unknown {
  const members = Object.entries(body).toSorted(compareByName);
  if (body.attributes === undefined) return members;
  return members.map(([name, value]) =>
    typeof value === 'object' ? [name, Object.entries(value).toSorted(compareByName)] : [name, value],
  );
}

function compareByName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}
