/** A number and what it counts, in the singular where it is 1. */
export function formatCount(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString('en')} ${number === 1 ? one : many}`;
}
