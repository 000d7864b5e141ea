/** Formats a number with the word for what it counts: `1 rule`, `3 rules`. */
export function formatCount(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString('en')} ${number === 1 ? one : many}`;
}
