import { isDeepStrictEqual } from 'node:util';
import { isMap, isNode, isPair, isSeq, type Node, parseDocument, stringify, YAMLMap, YAMLSeq } from 'yaml';
import type { RuleFiles } from '#decision/rules/parse/parse.ts';
import { YAML_PARSE_OPTIONS, YamlFile } from '#decision/rules/parse/yaml-file.ts';
import type { RuleProblem } from '#decision/rules/problem.ts';
import { excludeShorteningNote, findPlatformItemsMember, type PlatformItemsMember } from './own-part.ts';

/**
 * A draft of a platform together with the parts that the platform may not read, or the reasons why these parts cannot
 * be put back.
 */
export type RestoredFilesResult =
  | { readonly ok: true; readonly files: RuleFiles }
  | { readonly ok: false; readonly problems: readonly RuleProblem[] };

/** A draft of a platform, and the files of the version that it began with. */
interface BegunFiles {
  readonly platform: string;
  readonly draft: RuleFiles;
  readonly from: RuleFiles;
}

/**
 * Puts the sections and cases of other platforms back into a draft. They are taken from the version with which the
 * draft began. Refuses a draft that itself has a part of another platform, because a platform may change only its own
 * parts and the common ones.
 */
export function restoreForeignParts({ platform, draft, from }: BegunFiles): RestoredFilesResult {
  const problems: RuleProblem[] = [];
  const files = new Map<string, string>();
  for (const path of new Set([...draft.keys(), ...from.keys()])) {
    const text = restoreText({ platform, path, own: draft.get(path), former: from.get(path) }, problems);
    if (text !== null) files.set(path, text);
  }
  return problems.length === 0 ? { ok: true, files } : { ok: false, problems };
}

interface PartTexts {
  readonly platform: string;
  readonly path: string;
  /** The text of the draft. Undefined if the draft has no such file. */
  readonly own: string | undefined;
  readonly former: string | undefined;
}

/** Returns null if neither the draft nor the version has the file. */
function restoreText({ platform, path, own, former }: PartTexts, problems: RuleProblem[]): string | null {
  const part = findPlatformItemsMember(path, platform);
  if (part === null) return own ?? null;
  const written = own === undefined ? undefined : excludeShorteningNote(own);
  if (own !== undefined) problems.push(...findForeignItems(path, own, part, platform));
  const others = former === undefined ? null : collectOthersItems(path, former, part, problems);
  if (others === null) return written ?? null;
  return written === undefined
    ? stringify({ [part.member]: others }, { lineWidth: 0 })
    : addItems(written, part.member, others);
}

/** Finds the items in a draft that belong to other platforms. Faults of the YAML are reported elsewhere. */
function findForeignItems(
  path: string,
  text: string,
  part: PlatformItemsMember,
  platform: string,
): readonly RuleProblem[] {
  const file = new YamlFile(path, text, []);
  const what = part.what === 'sections' ? 'section' : 'case';
  const found = getCollection(file.root, part.member);
  return (found?.items ?? [])
    .filter((item) => !part.isOwn(item))
    .map((item) => {
      const node = isPair(item) ? item.key : item;
      const message = `this ${what} is of another platform; remove it: a draft of ${platform} has no ${part.what} of others`;
      return { at: file.locate(isNode<Node>(node) ? node : null), message };
    });
}

type Collection = YAMLMap | YAMLSeq;

/** Collects the items of other platforms. Returns null if there are none, or if the file cannot be read. */
function collectOthersItems(
  path: string,
  text: string,
  { member, what, isOwn }: PlatformItemsMember,
  problems: RuleProblem[],
): Collection | null {
  const unsound: RuleProblem[] = [];
  const found = getCollection(new YamlFile(path, text, unsound).root, member);
  if (unsound.length > 0) {
    const message = `the ${what} of other platforms cannot be put back, because this file of the version that the draft was begun with is no sound YAML; ask the owner of the installation to mend it`;
    problems.push({ at: { file: path, line: 1, column: 1 }, message });
    return null;
  }
  // These are new collections, because all readers of a text share the parsed nodes.
  const others = isMap(found) ? new YAMLMap() : new YAMLSeq();
  appendItems(
    others,
    (found?.items ?? []).filter((item) => !isOwn(item)),
  );
  // A comment above the first item stays with the whole collection.
  if (others.items[0] === found?.items[0]) others.commentBefore = found?.commentBefore ?? null;
  return others.items.length === 0 ? null : others;
}

function appendItems(to: Collection, items: readonly unknown[]): void {
  if (isMap(to)) to.items.push(...items.filter((item) => isPair(item)));
  else to.items.push(...items);
}

function getCollection(root: unknown, member: string): Collection | null {
  const found = isMap(root) ? root.get(member, true) : null;
  return isMap(found) || isSeq(found) ? found : null;
}

/** Adds items to a member after the existing ones. Everything else stays unchanged where that is possible. */
function addItems(text: string, member: string, others: Collection): string {
  const document = parseDocument(text, YAML_PARSE_OPTIONS);
  const { contents } = document;
  // A file that cannot be read is reported as a problem of the draft.
  if (document.errors.length > 0 || !isMap(contents)) return text;
  const found = getCollection(contents, member);
  if (found === null && contents.has(member)) return text;
  const inserted = found === null ? null : insertItems(text, found, others);
  if (found === null) document.set(member, others);
  else appendItems(found, others.items);
  const wanted: unknown = document.toJS();
  if (inserted !== null && isDeepStrictEqual(parseContents(inserted), wanted)) return inserted;
  return document.toString({ lineWidth: 0 });
}

/** Inserts items as lines of their own. Returns null if items have no such lines, as in braces. */
function insertItems(text: string, found: Collection, others: Collection): string | null {
  const first = found.items[0];
  const start = isPair(first) ? (isNode(first.key) ? first.key.range?.[0] : undefined) : found.range?.[0];
  const end = findEnd(found);
  if (found.flow === true || first === undefined || start === undefined || end === undefined) return null;
  const indent = text.slice(text.lastIndexOf('\n', start - 1) + 1, start);
  if (indent.trim() !== '') return null;
  const lines = stringify(others, { lineWidth: 0 }).replaceAll(/^(?=.)/gm, indent);
  const newline = text[end - 1] === '\n' ? end - 1 : text.indexOf('\n', end);
  if (newline === -1) return `${text}\n${lines}`;
  return text.slice(0, newline + 1) + lines + text.slice(newline + 1);
}

/** Returns the offset at which the last value of a collection ends, without the comments after it. */
function findEnd(node: Node): number | undefined {
  if ((!isMap(node) && !isSeq(node)) || node.flow === true) return node.range?.[1];
  const last: unknown = node.items.at(-1);
  const value = isPair(last) ? (last.value ?? last.key) : last;
  return isNode(value) ? findEnd(value) : node.range?.[1];
}

function parseContents(text: string): unknown {
  const document = parseDocument(text, YAML_PARSE_OPTIONS);
  return document.errors.length > 0 ? null : document.toJS();
}
