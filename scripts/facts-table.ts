import { FACT_THEMES } from '../src/facts/catalogue.ts';
import type { Fact, FactDomain } from '../src/facts/fact.ts';
import { formatDuration } from '../src/rules/duration.ts';

/** The fact catalogue as a Markdown table, a theme at a time: what rules/README.md shows. */
export function factsTable(): string {
  const themes = Object.entries(FACT_THEMES).flatMap(([theme, facts]) => [
    `| **${theme}** | |`,
    ...rows(facts),
  ]);
  return ['| fact | meaning |', '|---|---|', ...themes].join('\n');
}

function rows(facts: Readonly<Record<string, Fact>>): readonly string[] {
  return Object.entries(facts).map(
    ([name, fact]) => `| \`${name}\`${asked(fact)} | ${fact.description.replace(SAID_ABOVE, '')} |`,
  );
}

/** Sentences that the guide says once, above the table. */
const SAID_ABOVE =
  /;? 999999999 when there is none| Counted (?:up to|among the newest) 64(?: requests| final orders)?\./;

/** How a rule writes a fact, and the type of its value, unless that is true or false. */
function asked(fact: Fact): string {
  const value = fact.unit ?? domain(fact.domain);
  const notes = [
    ...(fact.kind === 'listed' ? ['of a shared list'] : value === '' ? [] : [value]),
    ...(fact.kind === 'windowed' ? [`up to ${formatDuration(fact.longestWindowMs)}`] : []),
    ...(fact.kind === 'concluded' ? [`from ${fact.from}.yaml on`] : []),
  ];
  return notes.length === 0 ? '' : ` (${notes.join('; ')})`;
}

function domain(domain: FactDomain): string {
  switch (domain.type) {
    case 'number':
      return 'number';
    case 'boolean':
      return '';
    case 'enum':
      return domain.values.join(', ');
    case 'text':
      return 'text';
    default:
      return domain satisfies never;
  }
}
