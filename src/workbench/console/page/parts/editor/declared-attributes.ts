import { yamlLanguage } from '@codemirror/lang-yaml';

/** An attribute as ruleset.yaml declares it, in words for analysts. */
export interface ExplainedAttribute {
  readonly name: string;
  /** Its type, with the unit, the greatest length or the only values. */
  readonly values: string;
  readonly isPseudonym: boolean;
  readonly description: string;
}

type SyntaxNode = ReturnType<typeof yamlLanguage.parser.parse>['topNode'];

/** Lists the attributes that a text of ruleset.yaml declares. What cannot be read yet is left out. */
export function listDeclaredAttributes(text: string): readonly ExplainedAttribute[] {
  const document = yamlLanguage.parser.parse(text).topNode.getChild('Document');
  const members = listMembers(document?.getChild('BlockMapping') ?? document?.getChild('FlowMapping'), text);
  const attributes = members.find(({ name }) => name === 'attributes')?.value;
  return listMembers(attributes, text).map(({ name, value, from }) => {
    const declared = new Map(listMembers(value, text).map((one) => [one.name, readWords(one.value, text)]));
    const line = text.slice(0, from).split('\n').length;
    return {
      name,
      values: describeType(declared),
      isPseudonym: declared.get('pseudonym')?.[0] === 'true',
      description: `Declared by ruleset.yaml, line ${line}. Callers send it; it may be not known.`,
    };
  });
}

/** Lists the members of a mapping. */
function listMembers(mapping: SyntaxNode | null | undefined, text: string) {
  return (mapping?.getChildren('Pair') ?? []).flatMap((pair) => {
    const key = pair.getChild('Key');
    if (key === null) return [];
    const value = pair.lastChild;
    return [{ name: readText(key, text), value: value === key ? null : value, from: pair.from }];
  });
}

/** Reads a value that is one text or a list of texts. */
function readWords(value: SyntaxNode | null, text: string): readonly string[] {
  if (value === null) return [];
  const items = value.getChildren('Item');
  return items.length === 0 ? [readText(value, text)] : items.map((item) => readText(item, text));
}

function readText({ from, to }: SyntaxNode, text: string) {
  return text.slice(from, to).replace(/^(["'])(.*)\1$/s, '$2');
}

function describeType(declared: ReadonlyMap<string, readonly string[]>) {
  const [type = 'no type yet'] = declared.get('type') ?? [];
  const [unit, length, oneOf] = ['unit', 'length', 'oneOf'].map((name) => declared.get(name)?.join(', '));
  if (oneOf !== undefined) return `${type}: ${oneOf}`;
  if (length !== undefined) return `${type} of up to ${length} characters`;
  return unit === undefined ? type : `${type}, in ${unit}`;
}
