import { FACTS } from '#decision/facts/catalogue.ts';
import { FACT_SYNONYMS, splitIntoWords } from '#decision/facts/fact-synonyms.ts';
import { findNearestName } from '#decision/rules/problem.ts';
import { formatFactAsYaml } from './correction-hints.ts';

/**
 * Explains that a fact does not exist. The text has the name that was probably meant, or says where all facts are
 * listed.
 */
export function explainUnknownFact(name: string): string {
  const [called = ''] = /^\w+(?=\()/.exec(name) ?? [];
  if (FACTS.has(called)) return `unknown fact "${name}"; write ${formatFactAsYaml(name)}`;
  const nearest = findNearestName(name, [...FACTS.keys()]);
  if (nearest !== null) return `unknown fact "${name}"; did you mean "${nearest}"?`;
  const [words, facts] = findSynonyms(name) ?? [null, []];
  if (words === null)
    return `unknown fact "${name}"; "rules facts" lists all by question, and so does a running service at /docs/facts`;
  if (facts.includes('attribute'))
    return `unknown fact "${name}"; what only the caller knows, like ${words}, is an attribute: declare it in ruleset.yaml, and ask { fact: attribute, params: { name: ${toAttributeName(words)} } }`;
  const named = facts.map((fact) => `"${fact}"`).join(' or ');
  return `unknown fact "${name}"; what others call ${words} is asked here with ${named}`;
}

/** Makes a name like `cardCountry` from words like `card country`. */
function toAttributeName(words: string): string {
  return words.replaceAll(/ (\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** FACT_SYNONYMS lists terms of other products. Finds the longest of these terms whose words all occur in the name. */
function findSynonyms(name: string): (typeof FACT_SYNONYMS)[number] | null {
  const words = splitIntoWords(name);
  const fitting = FACT_SYNONYMS.filter(([entry]) =>
    splitIntoWords(entry).every((word) => words.includes(word)),
  );
  return fitting.toSorted(([a], [b]) => b.length - a.length)[0] ?? null;
}
