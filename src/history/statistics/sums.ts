type Sums = Readonly<Record<string, number>>;

/** Returns an object with the same members and changed numbers. */
export function mapSums<Of extends Sums>(sums: Of, change: (sum: number, name: string) => number): Of {
  const changed = Object.entries(sums).map(([name, sum]) => [name, change(sum, name)] as const);
  return { ...sums, ...Object.fromEntries(changed) };
}

export function addSums<Of extends Sums>(one: Of, other: Of): Of {
  return mapSums(one, (sum, name) => sum + (other[name] ?? 0));
}
