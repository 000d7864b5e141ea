import { replaceAttributePseudonyms } from './attribute-values.ts';
import {
  type Attributes,
  type AttributesUnderBothSecrets,
  isPseudonym,
  NO_ATTRIBUTES,
  type NullableAttributeValue,
} from './attributes.ts';
import type { ClientState } from './client-state.ts';
import type { Hint } from './hints.ts';

/** The ids of the secrets that a node has. The pseudonym of an attribute ends with the id of its secret. */
export interface NodeSecretIds {
  readonly own: string;
  /** The id of the previous secret while the secret is being changed, otherwise null. */
  readonly former: string | null;
}

/** The length of the secret's id, which is the end of an attribute's pseudonym. */
export const SECRET_ID_CHARACTERS = 3;

export function readSecretId(pseudonym: string): string {
  return pseudonym.slice(-SECRET_ID_CHARACTERS);
}

/**
 * Joins the attributes of a request with the attributes of earlier scores. A value of the request replaces one of a
 * score. Equal texts get equal pseudonyms, also if a score's pseudonym was made under the node's other secret. A
 * pseudonym under a secret that the node lacks cannot be compared, so the value is not known. If `secrets` is
 * missing, all pseudonyms are used unchanged.
 */
export function joinAttributes(
  held: AttributesUnderBothSecrets,
  stated: AttributesUnderBothSecrets,
  secrets?: NodeSecretIds,
): AttributesUnderBothSecrets {
  if (held.attributes === undefined) return stated;
  const known = secrets === undefined ? held : convertToNodeSecrets(held, held.attributes, secrets);
  const attributes = { ...known.attributes, ...stated.attributes };
  const former = { ...keepFormerOfUnstated(known, stated), ...stated.former?.attributes };
  const current = mapFormerToCurrent({ attributes, former: { attributes: former } });
  if (current.size === 0) return { attributes };
  for (const [name, value] of Object.entries(attributes)) {
    const found = former[name] === undefined ? current.get(value) : undefined;
    if (found === undefined) continue;
    attributes[name] = found;
    former[name] = value;
  }
  return { attributes, former: { attributes: former } };
}

function keepFormerOfUnstated(
  held: AttributesUnderBothSecrets,
  { attributes: stated = NO_ATTRIBUTES }: AttributesUnderBothSecrets,
): Attributes {
  const former = held.former?.attributes;
  if (former === undefined) return NO_ATTRIBUTES;
  return Object.fromEntries(Object.entries(former).filter(([name]) => !Object.hasOwn(stated, name)));
}

/** Maps the former pseudonym of a text to the current one, if both are known. */
function mapFormerToCurrent({
  attributes,
  former,
}: AttributesUnderBothSecrets): ReadonlyMap<NullableAttributeValue, string> {
  const pairs = Object.entries(former?.attributes ?? NO_ATTRIBUTES).flatMap(([name, before]) => {
    const now = attributes?.[name];
    return typeof now === 'string' ? [[before, now] as const] : [];
  });
  return new Map(pairs);
}

/** Converts values of earlier scores to the pseudonyms that a node with these secrets uses. */
function convertToNodeSecrets(
  held: AttributesUnderBothSecrets,
  attributes: Attributes,
  secrets: NodeSecretIds,
): AttributesUnderBothSecrets {
  const isOwn = (value: NullableAttributeValue) => !isPseudonym(value) || readSecretId(value) === secrets.own;
  if (Object.values(attributes).every(isOwn)) return held;
  const forms = Object.entries(attributes).map(([name, value]) => {
    return [
      name,
      isPseudonym(value) ? listPseudonymsOwnFirst(value, held.former?.attributes?.[name], secrets) : [value],
    ] as const;
  });
  const former = forms.flatMap(([name, [, other]]) => (other === undefined ? [] : [[name, other] as const]));
  return {
    attributes: Object.fromEntries(forms.map(([name, [value = null]]) => [name, value])),
    former: { attributes: Object.fromEntries(former) },
  };
}

/**
 * Returns the pseudonyms of a value under both secrets, the one under the node's newest secret first. Returns an
 * empty list if the node has neither secret.
 */
function listPseudonymsOwnFirst(
  value: string,
  other: NullableAttributeValue | undefined,
  { own, former }: NodeSecretIds,
): readonly NullableAttributeValue[] {
  const forms = [value, ...(isPseudonym(other) ? [other] : [])];
  const newest =
    forms.find((form) => readSecretId(form) === own) ?? forms.find((form) => readSecretId(form) === former);
  return newest === undefined ? [] : [newest, ...forms.filter((form) => form !== newest)];
}

/**
 * Renames pseudonyms in the state that were made under the other secret, so that each text is counted once. Returns
 * the same object when no secret is being changed.
 */
export function renameFormerPseudonyms(state: ClientState, stated: AttributesUnderBothSecrets): ClientState {
  if (stated.former === undefined) return state;
  const current = mapFormerToCurrent(stated);
  const { hints, attributeValues } = state;
  const renamed = new Map<Hint, Hint>();
  const rename = (hint: Hint) => renamed.getOrInsertComputed(hint, () => renameHint(hint, current));
  return {
    ...state,
    attributeValues: replaceAttributePseudonyms(attributeValues, current),
    hints:
      hints === null
        ? null
        : {
            ...hints,
            shown: hints.shown.map((shown) => ({ ...shown, hint: rename(shown.hint) })),
            asked: hints.asked.map((asked) => ({ ...asked, knownHints: asked.knownHints.map(rename) })),
          },
  };
}

function renameHint(hint: Hint, current: ReadonlyMap<NullableAttributeValue, string>): Hint {
  const { attribute } = hint;
  const value = attribute === undefined ? undefined : current.get(attribute.value);
  if (attribute === undefined || value === undefined || attribute.formerValue !== undefined) return hint;
  return { ...hint, attribute: { name: attribute.name, value, formerValue: String(attribute.value) } };
}
