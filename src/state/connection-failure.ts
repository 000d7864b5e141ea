/** Explains a failed connection. A name with several addresses fails with one error for each address. */
export function explainConnectionFailure(error: unknown): string {
  const errors: readonly unknown[] = error instanceof AggregateError ? error.errors : [error];
  return errors.map((each) => (each instanceof Error ? each.message : String(each))).join('; ');
}
