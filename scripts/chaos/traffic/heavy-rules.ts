/**
 * Creates the YAML text of `rules:` with `count` verdict rules. Any two of these rules can match first, so that every
 * pair has to be checked.
 */
export function formatHeavyRules(count: number): string {
  const rules = Array.from(
    { length: count },
    (_, index) => `  - name: heavy-${index}
    description: Made to be hard to check.
    priority: 5
    conditions:
      any:
        - { fact: amount, operator: greaterThan, value: ${index} }
        - { fact: paidCount, operator: lessThan, value: ${count - index} }
    event: { type: verdict, params: { verdict: GET_NEW, reason: Made to be hard to check. } }
`,
  );
  return `rules:\n${rules.join('')}`;
}
