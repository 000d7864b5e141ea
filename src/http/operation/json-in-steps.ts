import { searchSteps } from '../../state/paced-steps.ts';

/**
 * The JSON of an answer. Writing half a megabyte takes some milliseconds, for which everybody else would wait: long lists are
 * written in steps.
 */
export async function jsonInSteps(answer: unknown): Promise<string> {
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) return JSON.stringify(answer);
  const members: string[] = [];
  for (const [name, value] of Object.entries(answer)) {
    const text = Array.isArray(value) ? `[${(await itemsInSteps(value)).join()}]` : JSON.stringify(value);
    if (text !== undefined) members.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${members.join()}}`;
}

function itemsInSteps(items: readonly unknown[]): Promise<readonly string[]> {
  return searchSteps.map(items, async (some) => some.map((item) => JSON.stringify(item) ?? 'null'));
}
