import { type DeclaredAttribute, findAttributeFault } from '#decision/payer/attributes.ts';
import { explainUndeclaredAttribute } from '#decision/rules/parse/fact-refs.ts';
import type { RuleFiles } from '#decision/rules/parse/parse.ts';
import { type Member, YamlFile } from '#decision/rules/parse/yaml-file.ts';
import { findNearestName, formatNameHint, type RuleProblem } from '#decision/rules/problem.ts';
import { listSharedListNames, type ParsedRules } from '#decision/rules/rule-set.ts';

type Node = Member['value'];

/**
 * Lists a remark on each value in a case that no rule can see. Such a value is probably misspelt. Cases that cannot
 * be read are left out, because the parser of cases reports them.
 */
export function listCaseValuesUnknownToRules(rules: ParsedRules, files: RuleFiles): readonly RuleProblem[] {
  return [...files].flatMap(([path, text]) => {
    if (!path.startsWith('cases/')) return [];
    const reader = new CaseRemarks(rules, new YamlFile(path, text, []));
    return reader.remarks();
  });
}

class CaseRemarks {
  readonly #rules: ParsedRules;
  readonly #file: YamlFile;
  readonly #remarks: RuleProblem[] = [];

  constructor(rules: ParsedRules, file: YamlFile) {
    this.#rules = rules;
    this.#file = file;
  }

  remarks(): readonly RuleProblem[] {
    for (const ruleCase of this.#items(this.#file.root, 'cases')) {
      for (const [name, { key, value }] of this.#members(ruleCase, 'lists')) {
        this.#remark(key, this.#onList(name));
        this.#onEntries(value);
      }
      for (const step of this.#items(ruleCase, 'steps')) {
        for (const kind of ['score', 'verdict']) {
          const request = this.#member(step, kind)?.value ?? null;
          for (const [name, sent] of this.#members(request, 'attributes')) this.#onAttribute(name, sent);
        }
      }
    }
    return this.#remarks;
  }

  #onList(name: string): string | null {
    const asked = listSharedListNames(this.#rules);
    if (asked.includes(name)) return null;
    return `no rule checks the shared list "${name}"${asked.length === 0 ? '' : formatNameHint(name, asked)}`;
  }

  /** If the list has values of an attribute, adds a remark for each entry that is not one of the allowed values. */
  #onEntries(list: Node): void {
    const attribute = this.#member(list, 'attribute')?.value;
    const name = attribute === undefined ? null : this.#file.toPlainValue(attribute);
    const declared = typeof name === 'string' ? this.#rules.attributes.get(name) : undefined;
    const oneOf = declared?.oneOf ?? null;
    if (declared === undefined || oneOf === null) return;
    for (const entry of this.#items(list, 'entries')) {
      const text = String(this.#file.toPlainValue(entry));
      if (!oneOf.includes(text))
        this.#remark(
          entry,
          `"${declared.name}" is never "${text}", so nobody is on the list by it${formatNameHint(text, oneOf)}`,
        );
    }
  }

  #onAttribute(name: string, { key, value }: Member): void {
    const declared = this.#rules.attributes.get(name);
    if (declared === undefined)
      this.#remark(key, explainUndeclaredAttribute(name, this.#rules.attributes, ', so no rule sees it'));
    else this.#remark(value, explainSlip(declared, value, this.#file));
  }

  #remark(node: Node, message: string | null): void {
    if (message !== null) this.#remarks.push({ at: this.#file.locate(node), message });
  }

  #member(node: Node | null, name: string): Member | undefined {
    return this.#file.readAnyMembers(node, name)?.get(name);
  }

  #members(node: Node | null, name: string): ReadonlyMap<string, Member> {
    const member = this.#member(node, name);
    return (member === undefined ? null : this.#file.readAnyMembers(member.value, name)) ?? new Map();
  }

  #items(node: Node | null, name: string): readonly Node[] {
    const member = this.#member(node, name);
    return (member === undefined ? null : this.#file.listItemNodes(member.value, name)) ?? [];
  }
}

/**
 * Says why rules do not know an attribute's value, if the value is close to an allowed one. Returns null for all
 * other values. A case may use a forbidden value on purpose, to show that the value breaks no checkout.
 */
function explainSlip(declared: DeclaredAttribute, node: Node, file: YamlFile): string | null {
  const { name, type, oneOf } = declared;
  const sent = file.toPlainValue(node);
  if (typeof sent === 'string') {
    const near = oneOf === null || oneOf.includes(sent) ? null : findNearestName(sent, oneOf);
    return near === null
      ? null
      : `"${name}" is not known with "${sent}", which "oneOf" lacks; did you mean "${near}"?`;
  }
  if (type !== 'text' || (typeof sent !== 'number' && typeof sent !== 'boolean')) return null;
  const written = file.findWrittenDigits(node) ?? String(sent);
  if (findAttributeFault(declared, written) !== null) return null;
  const kind = typeof sent === 'number' ? 'a number' : 'true or false';
  return `"${name}" is a text, and ${written} without quotes is ${kind}, so it is not known; write "${written}"`;
}
