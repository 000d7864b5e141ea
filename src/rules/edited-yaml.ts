import { parseDocument } from 'yaml';

/** A value to be put where a path of keys and places leads. */
export interface YamlEdit {
  readonly path: readonly (string | number)[];
  readonly value: number | string | Readonly<Record<string, number>>;
}

/** The text with some values replaced; comments and all that is not edited stay as they are. */
export function editedYaml(text: string, edits: readonly YamlEdit[]): string {
  const document = parseDocument(text);
  for (const { path, value } of edits) document.setIn(path, value);
  return document.toString({ lineWidth: 0, flowCollectionPadding: true });
}
