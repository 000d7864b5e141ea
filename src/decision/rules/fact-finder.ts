import { formatDuration } from '#base/duration.ts';
import { createAttributeFact, formatAttributeFactLabel } from '#decision/facts/attribute.ts';
import { FACTS } from '#decision/facts/catalogue.ts';
import type { Fact, FactDomain } from '#decision/facts/fact.ts';
import { FACT_SYNONYMS, splitIntoWords } from '#decision/facts/fact-synonyms.ts';
import { QUESTIONS_WITH_FACTS, type QuestionWithFacts } from '#decision/facts/questions.ts';
import type { DeclaredAttributes } from '#decision/payer/attributes.ts';

/** A fact of the catalogue, as analysts look it up. */
export interface FactSummary {
  /** The fact's name in records. An attribute is like `attribute(cardCountry)`. */
  readonly name: string;
  /** The unit of the fact's values, or the values that the fact may have. */
  readonly values: string;
  /** Further details that an author of rules needs, like the longest window. */
  readonly notes: readonly string[];
  readonly description: string;
}

interface AnsweredQuestion extends Omit<QuestionWithFacts, 'facts'> {
  readonly facts: readonly FactSummary[];
}

/**
 * Returns each question of the catalogue with its facts. The declared attributes follow the fact `attribute`. If a
 * text is given, returns only facts that match it. A fact matches if its name, description, values or question
 * contain the text, or if other products call the fact by this text. If no fact matches the whole text, returns the
 * facts that match each of its words.
 */
export function listQuestionsWithFacts(
  declared: DeclaredAttributes,
  text: string | null,
): readonly AnsweredQuestion[] {
  const all = listAllQuestions(declared);
  if (text === null) return all;
  const matching = keepFacts(all, createFactTest(text));
  if (matching.length > 0) return matching;
  const tests = splitAtBlanks(text).map(createFactTest);
  return keepFacts(all, (fact, question) => tests.every((matches) => matches(fact, question)));
}

/** Returns those words of a text that match a fact, each by itself. */
export function listMatchingWords(declared: DeclaredAttributes, text: string): readonly string[] {
  const all = listAllQuestions(declared);
  return splitAtBlanks(text).filter((word) => keepFacts(all, createFactTest(word)).length > 0);
}

function splitAtBlanks(text: string): readonly string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}

function listAllQuestions(declared: DeclaredAttributes): readonly AnsweredQuestion[] {
  const own = [...declared.values()].map((attribute) =>
    summarizeFact(formatAttributeFactLabel(attribute.name), createAttributeFact(attribute)),
  );
  return QUESTIONS_WITH_FACTS.map((question) => {
    const facts = question.facts.flatMap((name) => {
      const fact = FACTS.get(name);
      return fact === undefined ? [] : [summarizeFact(name, fact), ...(name === 'attribute' ? own : [])];
    });
    return { ...question, facts };
  });
}

type FactTest = (fact: FactSummary, question: string) => boolean;

/** Returns the facts that pass the test, by question. Leaves out questions without such a fact. */
function keepFacts(questions: readonly AnsweredQuestion[], matches: FactTest): readonly AnsweredQuestion[] {
  return questions
    .map((one) => ({ ...one, facts: one.facts.filter((fact) => matches(fact, one.question)) }))
    .filter(({ facts }) => facts.length > 0);
}

function createFactTest(searched: string): FactTest {
  const called = new Set<string>(findFactsBySynonym(searched));
  const part = searched.toLowerCase();
  return ({ name, values, description }, question) =>
    called.has(name) ||
    [name, values, description, question].some((text) => text.toLowerCase().includes(part));
}

/** Returns the facts that other products call by this word. */
function findFactsBySynonym(word: string): readonly string[] {
  const words = splitIntoWords(word);
  return FACT_SYNONYMS.flatMap(([entry, facts]) => {
    const called = splitIntoWords(entry);
    const isCalled = words.every((one) => called.includes(one)) || called.every((one) => words.includes(one));
    return isCalled ? facts : [];
  });
}

export function summarizeFact(name: string, fact: Fact): FactSummary {
  return { name, values: formatValues(fact), notes: listNotes(fact), description: fact.description };
}

function formatValues(fact: Fact): string {
  if (fact.kind !== 'attribute') return fact.unit ?? formatDomain(fact.domain);
  const { declared } = fact;
  if (declared === null) return 'as ruleset.yaml declares it';
  const isShort = declared.type === 'text' && declared.oneOf === null;
  return isShort ? `text of up to ${declared.length} characters` : (fact.unit ?? formatDomain(fact.domain));
}

/** The values of boolean facts, in words. */
export const TRUE_OR_FALSE = 'true or false';

function formatDomain(domain: FactDomain): string {
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

function listNotes(fact: Fact): readonly string[] {
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
