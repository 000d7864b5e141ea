import type { Node } from 'yaml';
import type { FactValue } from '#decision/facts/fact.ts';
import { suggestName } from '#decision/rules/problem.ts';
import { isName, type RuleList, refuseListName } from '#decision/rules/rule-set.ts';
import { mapping, text, withDefault, withMessageName } from './form.ts';
import { YamlFile } from './yaml-file.ts';

/** As much as people write by hand. Longer lists are shared lists, which change without a release. */
export const LIST_ENTRIES_MAX = 1000;

const LIST_FILE = /^lists\/([^/]+)\.yaml$/;

/** A list as its file has it, before it is known what its entries are compared with. */
interface WrittenList {
  readonly name: string;
  readonly description: string;
  readonly file: YamlFile;
  readonly entries: readonly Node[];
}

/** The lists of one rule set, `lists/NAME.yaml`; remembers which of them rules name. */
export class RuleLists {
  readonly #lists = new Map<string, WrittenList>();
  /** Includes the lists that are not sound: naming one is not a second mistake. */
  readonly #names = new Set<string>();
  readonly #named = new Set<string>();
  readonly #values = new Map<string, RuleList['values'] | null>();
  readonly #used = new Map<string, RuleList>();

  /** The files note their own problems in `problems`. */
  constructor(files: ReadonlyMap<string, string>, problems: YamlFile['problems']) {
    for (const [path, text] of files) {
      const [, name] = LIST_FILE.exec(path) ?? [];
      if (name === undefined) continue;
      this.#names.add(name);
      const list = readList(name, new YamlFile(path, text, problems));
      if (list !== null) this.#lists.set(name, list);
    }
  }

  /** The list that a condition names; null when there is none, which is then among the problems of `file`. */
  named(name: string, file: YamlFile, node: Node): WrittenList | null {
    this.#named.add(name);
    const list = this.#lists.get(name);
    if (list !== undefined) return list;
    if (this.#names.has(name)) return null;
    const names = [...this.#names];
    const hint =
      names.length === 0 ? `; write it as lists/${name}.yaml with "entries:"` : suggestName(name, names);
    return file.report(node, `unknown list "${name}"${hint}`);
  }

  /**
   * The values of a list as a fact may have them; null when `read` finds an entry that it never has. Each list
   * is read once for each fact, so that what is wrong is reported once.
   */
  valuesFor(
    list: WrittenList,
    fact: string,
    read: (entry: Node) => FactValue | null,
  ): RuleList['values'] | null {
    const { name, description, file, entries } = list;
    const key = `${name} ${fact}`;
    const known = this.#values.get(key);
    if (known !== undefined) return known;
    const values = file.readItems(entries, read);
    this.#values.set(key, values);
    if (values !== null) this.#used.set(name, { name, description, values });
    return values;
  }

  /** The lists that rules use, by name. */
  used(): ReadonlyMap<string, RuleList> {
    return new Map([...this.#used].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** Refuses lists that no rule names; asked when all rules are read. */
  refuseUnused(): void {
    for (const { name, file } of this.#lists.values()) {
      if (this.#named.has(name)) continue;
      file.report(
        file.root,
        `no rule uses the list "${name}"; name it with { operator: in, value: { list: ${name} } }, or remove the file`,
      );
    }
  }
}

function readList(name: string, file: YamlFile): WrittenList | null {
  if (!isName(name)) {
    return file.report(null, refuseListName(name));
  }
  const list = file.root === null ? null : LIST_FORM.read(file, file.root, 'the list');
  return list === null ? null : { name, file, ...list };
}

/** How a list is written; what its entries may be depends on the facts that are compared with them. */
export const LIST_FORM = mapping(
  'A list that rules name with { operator: in, value: { list: NAME } }; NAME is the name of the file.',
  {
    description: withDefault(text('What the entries have in common, in words for people.'), ''),
    entries: withMessageName('"entries"', {
      schema: {
        type: 'array',
        items: { type: ['string', 'number'], pattern: '\\S' },
        minItems: 1,
        description: 'What a fact may be compared with; each once.',
        maxItems: LIST_ENTRIES_MAX,
        uniqueItems: true,
      },
      read: readEntries,
    }),
  },
  (list) => list,
);

function readEntries(file: YamlFile, node: Node, what: string): readonly Node[] | null {
  const items = file.items(node, what);
  if (items === null) return null;
  if (items.length > LIST_ENTRIES_MAX) {
    return file.report(
      items[LIST_ENTRIES_MAX] ?? node,
      `a list of a rule set has at most ${LIST_ENTRIES_MAX} entries, not ${items.length}; a longer one is a shared list: { fact: listed, params: { list: NAME }, operator: equal, value: true }`,
    );
  }
  const lines = new Map<unknown, number>();
  const repeated = items.filter((item) => {
    const value = file.plain(item);
    const line = lines.get(value);
    if (line === undefined) lines.set(value, file.at(item).line);
    else file.report(item, `${JSON.stringify(value)} stands in line ${line} already`);
    return line !== undefined;
  });
  return repeated.length === 0 ? items : null;
}
