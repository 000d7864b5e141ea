import { formatDuration } from '#base/duration.ts';
import { createAttributeFact, formatAttributeLabel } from '#decision/facts/attribute.ts';
import { FACTS } from '#decision/facts/catalogue.ts';
import type { Fact, FactDomain } from '#decision/facts/fact.ts';
import { FACT_SYNONYMS, splitIntoWords } from '#decision/facts/other-words.ts';
import { FACT_QUESTIONS, type FactQuestion } from '#decision/facts/questions.ts';
import type { DeclaredAttributes } from '#decision/payer/attributes.ts';

/** A fact as an analyst looks it up. */
export interface ListedFact {
  /** As records name it; an attribute like `attribute(cardCountry)`. */
  readonly name: string;
  /** What it counts in, or which values it may have. */
  readonly values: string;
  /** What a rule has to know besides, like the longest window. */
  readonly notes: readonly string[];
  readonly description: string;
}

interface AnsweredQuestion extends Omit<FactQuestion, 'facts'> {
  readonly facts: readonly ListedFact[];
}

/**
 * The facts of the catalogue by question, with the declared attributes behind the fact that asks for them. With a word only
 * those that it finds: by their names and descriptions, by the question, and by what other products call them.
 */
export function findFacts(declared: DeclaredAttributes, word: string | null): readonly AnsweredQuestion[] {
  const own = [...declared.values()].map((attribute) =>
    describeFact(formatAttributeLabel(attribute.name), createAttributeFact(attribute)),
  );
  return FACT_QUESTIONS.flatMap((question) => {
    const all = question.facts.flatMap((name) => {
      const fact = FACTS.get(name);
      return fact === undefined ? [] : [describeFact(name, fact), ...(name === 'attribute' ? own : [])];
    });
    const facts = word === null || has(question.question, word) ? all : all.filter(isFoundBy(word));
    return facts.length === 0 ? [] : [{ ...question, facts }];
  });
}

function isFoundBy(word: string): (fact: ListedFact) => boolean {
  const called = new Set<string>(factsCalled(word));
  return ({ name, values, description }) =>
    called.has(name) || [name, values, description].some((text) => has(text, word));
}

function has(text: string, word: string): boolean {
  return text.toLowerCase().includes(word.toLowerCase());
}

/** The facts that say what others call so. */
function factsCalled(word: string): readonly string[] {
  const words = splitIntoWords(word);
  return FACT_SYNONYMS.flatMap(([entry, facts]) => {
    const called = splitIntoWords(entry);
    const isCalled = words.every((one) => called.includes(one)) || called.every((one) => words.includes(one));
    return isCalled ? facts : [];
  });
}

export function describeFact(name: string, fact: Fact): ListedFact {
  return { name, values: valuesOf(fact), notes: notesOn(fact), description: fact.description };
}

function valuesOf(fact: Fact): string {
  if (fact.kind !== 'attribute') return fact.unit ?? domainText(fact.domain);
  const { declared } = fact;
  if (declared === null) return 'as ruleset.yaml declares it';
  const isShort = declared.type === 'text' && declared.oneOf === null;
  return isShort ? `text of up to ${declared.length} characters` : (fact.unit ?? domainText(fact.domain));
}

/** The values of facts that are not counted in a unit and have no others. */
export const TRUE_OR_FALSE = 'true or false';

function domainText(domain: FactDomain): string {
  switch (domain.type) {
    case 'number':
    case 'text':
      return domain.type;
    case 'boolean':
      return TRUE_OR_FALSE;
    case 'enum':
      return domain.values.join(', ');
    default:
      return domain satisfies never;
  }
}

function notesOn(fact: Fact): readonly string[] {
  switch (fact.kind) {
    case 'listed':
      return ['of a shared list'];
    case 'attribute':
      return ['by name', ...(fact.declared?.pseudonym === true ? ['kept as a pseudonym'] : [])];
    case 'windowed':
      return [
        ...(fact.ofAttribute === undefined ? [] : ['of an attribute by name']),
        `up to ${formatDuration(fact.longestWindowMs)}`,
      ];
    case 'concluded':
      return [`from ${fact.from}.yaml on`];
    case 'plain':
    case 'circumstantial':
      return [];
    default:
      return fact satisfies never;
  }
}
