import type { Node } from 'yaml';
import {
  ATTRIBUTE_CHARACTERS_MAX,
  ATTRIBUTE_NAME_FORM_TEXT,
  ATTRIBUTE_NAME_PATTERN,
  ATTRIBUTE_TYPES,
  DECLARED_ATTRIBUTES_MAX,
  type DeclaredAttribute,
  type DeclaredAttributes,
  isAttributeName,
} from '#decision/payer/attributes.ts';
import {
  CONSTANT_DESCRIPTIONS,
  choiceForm,
  type Form,
  type MappingPlace,
  mappingForm,
  namedMembersForm,
  nonEmptyListForm,
  numberForm,
  optionalForm,
  textForm,
  withCheck,
  withDefault,
  withSchemaAdditions,
  yesNoForm,
} from './form.ts';

const ONE_OF_MAX = 100;

const ATTRIBUTE_TEXT = withCheck(
  withSchemaAdditions(textForm('A text that callers send.'), { maxLength: ATTRIBUTE_CHARACTERS_MAX }),
  (value, file, node) => {
    if ([...value].length <= ATTRIBUTE_CHARACTERS_MAX) return value;
    return file.report(
      node,
      `an attribute has at most ${ATTRIBUTE_CHARACTERS_MAX} characters, so it can never have this value`,
    );
  },
);

const ONE_OF: Form<readonly string[]> = withCheck(
  withSchemaAdditions(
    nonEmptyListForm(
      ATTRIBUTE_TEXT,
      'a text of oneOf',
      'The only texts that count; any other counts as not known.',
      [
        ONE_OF_MAX,
        (size) => `oneOf has at most ${ONE_OF_MAX} texts, not ${size}; leave it out and compare with a list`,
      ],
    ),
    { uniqueItems: true },
  ),
  (words, file, node) => {
    const repeated = words.find((word, place) => words.indexOf(word) < place);
    return repeated === undefined ? words : file.report(node, `oneOf has "${repeated}" twice`);
  },
);

interface WrittenAttribute {
  readonly type: DeclaredAttribute['type'];
  readonly length: number | undefined;
  readonly unit: string | undefined;
  readonly oneOf: readonly string[] | undefined;
  readonly pseudonym: boolean;
}

const ATTRIBUTE: Form<Omit<DeclaredAttribute, 'name'>> = mappingForm(
  'An attribute that callers may send.',
  {
    type: choiceForm(ATTRIBUTE_TYPES, 'The type of its values; a value of another type counts as not known.'),
    length: optionalForm(
      numberForm(
        { min: 1, max: ATTRIBUTE_CHARACTERS_MAX, integer: true },
        `The greatest length of a text that counts, in characters; ${ATTRIBUTE_CHARACTERS_MAX} when left out.`,
      ),
    ),
    unit: optionalForm(textForm(CONSTANT_DESCRIPTIONS.unit)),
    oneOf: optionalForm(ONE_OF),
    pseudonym: withDefault(
      yesNoForm('True: a text is stored only as an HMAC, never in clear. For values that identify a payer.'),
      false,
    ),
  },
  ({ type, length = ATTRIBUTE_CHARACTERS_MAX, unit, oneOf, pseudonym }: WrittenAttribute) => {
    return { type, length, unit: unit ?? null, oneOf: oneOf ?? null, pseudonym };
  },
  checkMembers,
);

/** The type of attribute that each member is for. */
const MEMBER_TYPES = { length: 'text', oneOf: 'text', pseudonym: 'text', unit: 'number' } as const;

function checkMembers({ type }: Partial<WrittenAttribute>, { file, members }: MappingPlace): boolean {
  let fits = true;
  const refuse = (node: Node, message: string) => {
    file.report(node, message);
    fits = false;
  };
  for (const [name, wanted] of Object.entries(MEMBER_TYPES)) {
    const member = members.get(name);
    if (member === undefined || type === undefined || type === wanted) continue;
    refuse(member.key, `"${name}" goes only with type: ${wanted}`);
  }
  const length = members.get('length');
  if (type === 'text' && length !== undefined && members.has('oneOf'))
    refuse(
      length.key,
      '"length" has no effect beside "oneOf", which lists the texts that count; remove one of the two',
    );
  const pseudonym = members.get('pseudonym');
  if (type === 'text' && pseudonym !== undefined && members.has('oneOf'))
    refuse(
      pseudonym.key,
      'the texts of "oneOf" do not identify a payer, so "pseudonym" is not needed; remove "pseudonym" or "oneOf"',
    );
  return fits;
}

/** The form of `attributes:` in `ruleset.yaml`. */
export const ATTRIBUTES_FORM: Form<DeclaredAttributes> = withCheck(
  namedMembersForm(
    'What callers may send about a payer beyond the interface, by name; rules use { fact: attribute, params: { name: NAME } }.',
    { pattern: ATTRIBUTE_NAME_PATTERN },
    ATTRIBUTE,
    {
      nameItem: (name) => `attribute "${name}"`,
      refuseName: (name) =>
        isAttributeName(name)
          ? null
          : `the name of an attribute has ${ATTRIBUTE_NAME_FORM_TEXT}, unlike "${name}"`,
      most: [
        DECLARED_ATTRIBUTES_MAX,
        (size) => `a rule set declares at most ${DECLARED_ATTRIBUTES_MAX} attributes, not ${size}`,
      ],
    },
  ),
  (attributes) => new Map([...attributes].map(([name, declared]) => [name, { name, ...declared }])),
);
