import { FACT_THEMES } from '../facts/catalogue.ts';
import type { Fact, FactDomain } from '../facts/fact.ts';
import { formatDuration } from '../rules/duration.ts';

/** The fact catalogue as a Markdown table, a theme at a time: what rules/README.md shows. */
export function factsTable(): string {
  const themes = Object.entries(FACT_THEMES).flatMap(([theme, facts]) => [
    `| **${theme}** | | |`,
    ...rows(facts),
  ]);
  return ['| fact | value | meaning |', '|---|---|---|', ...themes].join('\n');
}

function rows(facts: Readonly<Record<string, Fact>>): readonly string[] {
  return Object.entries(facts).map(
    ([name, fact]) => `| ${nameWithWindow(name, fact)} | ${value(fact)} | ${fact.description} |`,
  );
}

function nameWithWindow(name: string, fact: Fact): string {
  if (fact.kind === 'listed') return `\`${name}\` of a shared list`;
  return fact.kind === 'windowed'
    ? `\`${name}\` (window up to ${formatDuration(fact.longestWindowMs)})`
    : `\`${name}\``;
}

function value(fact: Fact): string {
  const from = fact.kind === 'concluded' ? `; from ${fact.from}.yaml on` : '';
  return `${fact.unit ?? domain(fact.domain)}${from}`;
}

function domain(domain: FactDomain): string {
  switch (domain.type) {
    case 'number':
      return 'number';
    case 'boolean':
      return 'true, false';
    case 'enum':
      return domain.values.join(', ');
    case 'text':
      return 'text';
    default:
      return domain satisfies never;
  }
}
