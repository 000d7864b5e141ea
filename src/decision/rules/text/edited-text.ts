import { isScalar, parseDocument, stringify } from 'yaml';
import type { RuleFiles } from '#decision/rules/parse/parse.ts';
import { YAML_PARSE_OPTIONS } from '#decision/rules/parse/yaml-file.ts';
import type { RuleVersion } from '#decision/rules/rule-set.ts';

const WRITTEN_VERSION = /^(\s*\{?\s*["']?ruleVersion["']?\s*:\s*["']?)p\d+\.v\d+(?:-[a-z][a-z0-9]*)?/m;

/**
 * Replaces the version in the text of ruleset.yaml. Comments and layout stay unchanged. Returns null if the version
 * does not stand on a line of its own.
 */
export function renameVersion(files: RuleFiles, version: RuleVersion): string | null {
  const text = files.get('ruleset.yaml') ?? '';
  if (!WRITTEN_VERSION.test(text)) return null;
  return text.replace(WRITTEN_VERSION, (_, before: string) => before + version);
}

interface YamlEdit {
  readonly path: readonly (string | number)[];
  readonly value: number | string;
}

/**
 * Replaces some values in a text. An existing value is replaced where it stands, and all other characters stay
 * unchanged. If a value is missing, it is added. Then the whole file is formatted anew, and only the comments are
 * kept.
 */
export function editYaml(text: string, edits: readonly YamlEdit[]): string {
  return edits.reduce(applyEdit, text);
}

function applyEdit(text: string, { path, value }: YamlEdit): string {
  const document = parseDocument(text, YAML_PARSE_OPTIONS);
  const node = document.getIn(path, true);
  if (!isScalar(node) || node.range === undefined || node.range === null) {
    document.setIn(path, value);
    return document.toString({ lineWidth: 0 });
  }
  const [from, to] = node.range;
  return text.slice(0, from) + stringify(value).trimEnd() + text.slice(to);
}

/** Finds the index of the item with this name in a list of the text. Returns -1 if there is none. */
export function findNamedItemIndex(text: string, list: string, name: string): number {
  const items: unknown = parseDocument(text, YAML_PARSE_OPTIONS).toJS()[list];
  return Array.isArray(items) ? items.findIndex((item) => item.name === name) : -1;
}
