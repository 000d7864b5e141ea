import { isNode, type Node, visit } from 'yaml';
import type { Location } from '#decision/rules/problem.ts';
import type { RuleFiles } from './parse.ts';
import { YamlFile } from './yaml-file.ts';

/**
 * Locates the member at `path` in a file. `path` begins at the top level. If the member is missing, the function
 * locates the last member of `path` that exists.
 */
export function locateMember(files: RuleFiles, name: string, ...path: readonly string[]): Location {
  const file = new YamlFile(name, files.get(name) ?? '', []);
  let within = file.root;
  let key: Node | null = null;
  for (const member of path) {
    const found = file.readAnyMembers(within, name)?.get(member);
    if (found === undefined) break;
    key = found.key;
    within = found.value;
  }
  return file.locate(key);
}

/**
 * Locates the value of a member in the mapping that begins at `place`. Returns `place` itself if there is no such
 * member.
 */
export function locateValue(files: RuleFiles, place: Location, member: string): Location {
  const file = new YamlFile(place.file, files.get(place.file) ?? '', []);
  const found: Node[] = [];
  visit(file.root, {
    Map: (_key, map) => {
      const { line, column } = file.locate(map);
      if (line !== place.line || column !== place.column) return;
      const value = map.get(member, true);
      if (isNode(value)) found.push(value);
    },
  });
  const [first] = found;
  return first === undefined ? place : file.locate(first);
}
