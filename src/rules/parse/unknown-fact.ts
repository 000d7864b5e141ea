import { FACTS } from '../../facts/catalogue.ts';
import { OTHER_WORDS } from '../../facts/other-words.ts';
import { nearestName } from '../problem.ts';
import { factWithParams } from './slip-hints.ts';

/** What is said of a fact that there is not: the name that was probably meant, or where all are listed. */
export function unknownFactMessage(name: string): string {
  const [called = ''] = /^\w+(?=\()/.exec(name) ?? [];
  if (FACTS.has(called)) return `unknown fact "${name}"; write ${factWithParams(name)}`;
  const nearest = nearestName(name, [...FACTS.keys()]);
  if (nearest !== null) return `unknown fact "${name}"; did you mean "${nearest}"?`;
  const [words, facts] = factsByOtherWords(name) ?? [null, []];
  if (words === null)
    return `unknown fact "${name}"; a running service lists all facts by question at /docs/facts`;
  if (facts.includes('attribute'))
    return `unknown fact "${name}"; what only the caller knows, like ${words}, is an attribute: declare it in ruleset.yaml, and ask { fact: attribute, params: { name: ${attributeNameOf(words)} } }`;
  const named = facts.map((fact) => `"${fact}"`).join(' or ');
  return `unknown fact "${name}"; what others call ${words} is asked here with ${named}`;
}

/** `card country` makes `cardCountry`. */
function attributeNameOf(words: string): string {
  return words.replaceAll(/ (\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** The longest entry of the table whose words all stand in the name, as other products write names. */
function factsByOtherWords(name: string): (typeof OTHER_WORDS)[number] | null {
  const words = wordsOf(name);
  const fitting = OTHER_WORDS.filter(([entry]) => wordsOf(entry).every((word) => words.includes(word)));
  return fitting.toSorted(([a], [b]) => b.length - a.length)[0] ?? null;
}

/** `deviceAge_days` has device, age, days; the plural of a word is that word. */
function wordsOf(name: string): readonly string[] {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .flatMap((word) => (word.length > 3 && word.endsWith('s') ? [word, word.slice(0, -1)] : [word]));
}
