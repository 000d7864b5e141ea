import type { Node } from 'yaml';
import type { FactValue } from '#decision/facts/fact.ts';
import { formatNameHint } from '#decision/rules/problem.ts';
import { describeBadListName, isName, type RuleSetValueList } from '#decision/rules/rule-set.ts';
import { mappingForm, textForm, withDefault, withMessageName } from './form.ts';
import { YamlFile } from './yaml-file.ts';

/**
 * The most entries of a list. People write no more by hand. Longer lists are shared lists, which change without a
 * release.
 */
export const RULE_LIST_ENTRIES_MAX = 1000;

const LIST_FILE = /^lists\/([^/]+)\.yaml$/;

/** A list as its file has it. The facts that rules compare with its entries are not known yet. */
interface WrittenList {
  readonly name: string;
  readonly description: string;
  readonly file: YamlFile;
  readonly entries: readonly Node[];
}

/** The lists of one rule set, `lists/NAME.yaml`. The class remembers which lists rules name. */
export class RuleLists {
  readonly #lists = new Map<string, WrittenList>();
  /**
   * The names of all lists, including lists that are not sound. A rule that names a list which is not sound gets no
   * problem of its own.
   */
  readonly #names = new Set<string>();
  readonly #usedNames = new Set<string>();
  readonly #values = new Map<string, RuleSetValueList['values'] | null>();
  readonly #usedLists = new Map<string, RuleSetValueList>();

  /** The problems of the list files are added to `problems`. */
  constructor(files: ReadonlyMap<string, string>, problems: YamlFile['problems']) {
    for (const [path, text] of files) {
      const [, name] = LIST_FILE.exec(path) ?? [];
      if (name === undefined) continue;
      this.#names.add(name);
      const list = readList(name, new YamlFile(path, text, problems));
      if (list !== null) this.#lists.set(name, list);
    }
  }

  /** Finds the list that a condition names. If the list does not exist, returns null and reports the name in `file`. */
  findList(name: string, file: YamlFile, node: Node): WrittenList | null {
    this.#usedNames.add(name);
    const list = this.#lists.get(name);
    if (list !== undefined) return list;
    if (this.#names.has(name)) return null;
    const names = [...this.#names];
    const hint =
      names.length === 0 ? `; write it as lists/${name}.yaml with "entries:"` : formatNameHint(name, names);
    return file.report(node, `unknown list "${name}"${hint}`);
  }

  /**
   * Reads the values of a list for one fact. Returns null if `read` refuses an entry that the fact can never have.
   * Each list is read once for each fact, so that a problem is reported once.
   */
  readValuesFor(
    list: WrittenList,
    fact: string,
    read: (entry: Node) => FactValue | null,
  ): RuleSetValueList['values'] | null {
    const { name, description, file, entries } = list;
    const key = `${name} ${fact}`;
    const known = this.#values.get(key);
    if (known !== undefined) return known;
    const values = file.readItems(entries, read);
    this.#values.set(key, values);
    if (values !== null) this.#usedLists.set(name, { name, description, values });
    return values;
  }

  /** Returns the lists that rules use, by name. */
  getUsedLists(): ReadonlyMap<string, RuleSetValueList> {
    return new Map([...this.#usedLists].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** Reports the lists that no rule names. It is called after all rules are read. */
  checkUnused(): void {
    for (const { name, file } of this.#lists.values()) {
      if (this.#usedNames.has(name)) continue;
      file.report(
        file.root,
        `no rule uses the list "${name}"; name it with { operator: in, value: { list: ${name} } }, or remove the file`,
      );
    }
  }
}

function readList(name: string, file: YamlFile): WrittenList | null {
  if (!isName(name)) {
    return file.report(null, describeBadListName(name));
  }
  const list = file.root === null ? null : RULE_LIST_FILE_FORM.read(file, file.root, 'the list');
  return list === null ? null : { name, file, ...list };
}

/** The form of a list. The facts that are compared with its entries decide which entries are allowed. */
export const RULE_LIST_FILE_FORM = mappingForm(
  'A list that rules name with { operator: in, value: { list: NAME } }; NAME is the name of the file.',
  {
    description: withDefault(textForm('What the entries have in common, in words for people.'), ''),
    entries: withMessageName('"entries"', {
      schema: {
        type: 'array',
        items: { type: ['string', 'number'], pattern: '\\S' },
        minItems: 1,
        description: 'What a fact may be compared with; each once.',
        maxItems: RULE_LIST_ENTRIES_MAX,
        uniqueItems: true,
      },
      read: readEntries,
    }),
  },
  (list) => list,
);

function readEntries(file: YamlFile, node: Node, what: string): readonly Node[] | null {
  const items = file.listItemNodes(node, what);
  if (items === null) return null;
  if (items.length > RULE_LIST_ENTRIES_MAX) {
    return file.report(
      items[RULE_LIST_ENTRIES_MAX] ?? node,
      `a list of a rule set has at most ${RULE_LIST_ENTRIES_MAX} entries, not ${items.length}; a longer one is a shared list: { fact: listed, params: { list: NAME }, operator: equal, value: true }`,
    );
  }
  const lines = new Map<unknown, number>();
  const repeated = items.filter((item) => {
    const value = file.toPlainValue(item);
    const line = lines.get(value);
    if (line === undefined) lines.set(value, file.locate(item).line);
    else file.report(item, `${JSON.stringify(value)} stands in line ${line} already`);
    return line !== undefined;
  });
  return repeated.length === 0 ? items : null;
}
