/** Of a client's number, which is evenly spread over 64 bits, this many bits say which pass the client is in. */
const PASS_BITS = 16;

/**
 * Conditions that part the clients evenly, so that no pass has many more decisions than `decisionsMax`: what has
 * to be known of each order then fits into memory. All that a client did is in the same pass.
 */
export function clientPasses(decisions: number, decisionsMax: number): readonly string[] {
  const passes = Math.max(1, Math.ceil(decisions / decisionsMax));
  if (passes === 1) return ['true'];
  const border = (pass: number) =>
    BigInt(Math.floor((pass * 2 ** PASS_BITS) / passes)) << BigInt(64 - PASS_BITS);
  // As a range, because row groups that are out of it are then not read.
  return Array.from(
    { length: passes },
    (_, pass) => `client_hash BETWEEN ${border(pass)} AND ${border(pass + 1) - 1n}`,
  );
}
