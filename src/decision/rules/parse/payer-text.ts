import type { Node } from 'yaml';
import { CLIENT_GROUPS, VERDICTS } from '#decision/decision-words.ts';
import { FACTS } from '#decision/facts/catalogue.ts';
import { textForm, withCheck, withSchemaAdditions } from './form.ts';
import type { YamlFile } from './yaml-file.ts';

export const PAYER_TEXT_CHARACTERS_MAX = 300;

/** The only placeholder of a text for the payer. It stands for words like "5 minutes". */
export const PAYER_TEXT_WAIT_PLACEHOLDER = '{waitSeconds}';

/**
 * The internal names that a text for the payer must not contain. Names of facts that are one plain word, like amount,
 * are allowed, because payers know the word.
 */
const INTERNAL_NAMES = new Set([
  ...[...FACTS.keys()].filter((name) => /[A-Z]/.test(name)),
  ...VERDICTS,
  ...CLIENT_GROUPS,
]);

/**
 * Parses the texts of one file that support or the shop may tell the payer. They contain no internal names. The
 * parser remembers where each text stands, so that names of rules in them can be reported once all rules are known.
 */
export class PayerTextParser {
  readonly #read: (readonly [file: YamlFile, node: Node, text: string])[] = [];

  readonly form = withCheck(
    withSchemaAdditions(
      textForm(
        'The text that support or the shop may give the payer; {waitSeconds} becomes the wait in words.',
      ),
      {
        maxLength: PAYER_TEXT_CHARACTERS_MAX,
      },
    ),
    (payerText, file, node) => {
      const problem = findProblem(payerText);
      if (problem !== null) return file.report(node, `payerText ${problem}`);
      this.#read.push([file, node, payerText]);
      return payerText;
    },
  );

  /**
   * Reports each text that contains the name of a rule. It is called when all rules are known. A rule's name that is
   * one word is allowed, because payers may know the word.
   */
  checkRuleNames(names: readonly string[]): void {
    const inside = new Set(names.filter((name) => name.includes('-')));
    for (const [file, node, payerText] of this.#read) {
      const name = splitWords(payerText).find((word) => inside.has(word));
      if (name !== undefined) file.report(node, `payerText ${explainInternalName(name)}`);
    }
  }
}

function findProblem(text: string): string | null {
  if (text.length > PAYER_TEXT_CHARACTERS_MAX) {
    return `has ${text.length} characters; at most ${PAYER_TEXT_CHARACTERS_MAX} are allowed`;
  }
  const [quote] = /\{[^{}]*\}|[{}]/.exec(text.replaceAll(PAYER_TEXT_WAIT_PLACEHOLDER, '')) ?? [];
  if (quote !== undefined)
    return `may quote only ${PAYER_TEXT_WAIT_PLACEHOLDER}, not ${quote}, because payers read it`;
  const name = splitWords(text).find((word) => INTERNAL_NAMES.has(word));
  return name === undefined ? null : explainInternalName(name);
}

function explainInternalName(name: string): string {
  return `names "${name}", which payers must not read; say it in the payer's words`;
}

function splitWords(text: string): readonly string[] {
  return text.replaceAll(PAYER_TEXT_WAIT_PLACEHOLDER, '').match(/[\w-]+/g) ?? [];
}
