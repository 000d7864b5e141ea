import { isScalar, parseDocument, stringify } from 'yaml';

/** A value for the place to which a path of keys and indexes leads. */
export interface YamlEdit {
  readonly path: readonly (string | number)[];
  readonly value: number | string;
}

/**
 * The text with some values replaced. A value that is there is replaced in its place, and all other characters stay
 * as they are; one that is missing is added, for which the file is rewritten, comments included.
 */
export function editedYaml(text: string, edits: readonly YamlEdit[]): string {
  return edits.reduce(edited, text);
}

function edited(text: string, { path, value }: YamlEdit): string {
  const document = parseDocument(text);
  const node = document.getIn(path, true);
  if (!isScalar(node) || node.range === undefined || node.range === null) {
    document.setIn(path, value);
    return document.toString({ lineWidth: 0 });
  }
  const [from, to] = node.range;
  return text.slice(0, from) + stringify(value).trimEnd() + text.slice(to);
}

/** The index of the item of this name in a list of the text; -1 where there is none. */
export function placeOfNamed(text: string, list: string, name: string): number {
  const items: unknown = parseDocument(text).toJS()[list];
  return Array.isArray(items) ? items.findIndex((item) => item.name === name) : -1;
}
