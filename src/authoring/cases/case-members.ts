import type { Members, YamlFile } from '../../rules/parse/yaml-file.ts';

/** Reads the members that cases and their steps share the form of. */
export class CaseMembers {
  readonly #file: YamlFile;

  constructor(file: YamlFile) {
    this.#file = file;
  }

  /** A text that the request cannot do without; `fallback` when the case does not name it. */
  text(members: Members, name: string, fallback: string): string {
    const member = members.get(name);
    return member === undefined ? fallback : (this.#file.text(member.value, name) ?? fallback);
  }

  /** `null` in the file means that the member is left out. */
  optionalText(members: Members | null, name: string, fallback: string | null): string | null {
    const member = members?.get(name);
    if (member === undefined) return fallback;
    return this.#file.isNull(member.value) ? null : this.#file.text(member.value, name);
  }

  duration<T extends number | null>(members: Members, name: string, fallback: T): number | T {
    const member = members.get(name);
    return member === undefined ? fallback : (this.#file.duration(member.value, name) ?? fallback);
  }
}
