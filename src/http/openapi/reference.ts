import { TABLE_NAMES, TABLES } from '../../archive/tables.ts';
import { FACT_THEMES } from '../../facts/catalogue.ts';
import type { Fact, FactDomain } from '../../facts/fact.ts';
import { formatDuration } from '../../rules/duration.ts';

/** A word and what it means. */
interface Entry {
  readonly word: string;
  readonly meaning: string;
}

/** The fact catalogue as a page: what `/docs/facts` shows. */
export function factsPage(): string {
  return pageOf(
    'Facts',
    'What a rule may ask for. In brackets: the value, where it is not true or false, and the longest window.',
    Object.entries(FACT_THEMES).map(([theme, facts]) => [theme, Object.entries(facts).map(factEntry)]),
  );
}

/** Tables and columns of the archive as a page: what `/docs/columns` shows. */
export function columnsPage(): string {
  return pageOf(
    'Tables of the archive',
    'Times are UTC. What the rules saw are further columns of decisions, such as fact_paidCount; null where the rule set did not know the fact.',
    TABLE_NAMES.map((table) => [
      `${table}: ${TABLES[table].description}`,
      TABLES[table].columns.map(({ name, type, description }) => ({
        word: `${name} ${type === 'TIMESTAMP_MS' ? 'TIMESTAMP' : type}`,
        meaning: description,
      })),
    ]),
  );
}

function pageOf(
  title: string,
  intro: string,
  parts: readonly (readonly [string, readonly Entry[]])[],
): string {
  const body = parts.map(
    ([heading, entries]) =>
      `<h2>${escaped(heading)}</h2>\n<dl>\n${entries
        .map(({ word, meaning }) => `<dt><code>${escaped(word)}</code></dt><dd>${escaped(meaning)}</dd>`)
        .join('\n')}\n</dl>`,
  );
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Client Scoring Service: ${escaped(title)}</title>
<link rel="icon" href="data:,">
<h1>${escaped(title)}</h1>
<p>${escaped(intro)}</p>
${body.join('\n')}
</html>
`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

/** How a rule writes the fact, with the type of its value. */
function factEntry([name, fact]: [string, Fact]): Entry {
  const value = fact.unit ?? valuesOf(fact.domain);
  const notes = [
    ...(fact.kind === 'listed' ? ['of a shared list'] : value === '' ? [] : [value]),
    ...(fact.kind === 'windowed' ? [`up to ${formatDuration(fact.longestWindowMs)}`] : []),
    ...(fact.kind === 'concluded' ? [`from ${fact.from}.yaml on`] : []),
  ];
  return { word: notes.length === 0 ? name : `${name} (${notes.join('; ')})`, meaning: fact.description };
}

function valuesOf(domain: FactDomain): string {
  switch (domain.type) {
    case 'number':
    case 'text':
      return domain.type;
    case 'boolean':
      return '';
    case 'enum':
      return domain.values.join(', ');
    default:
      return domain satisfies never;
  }
}
