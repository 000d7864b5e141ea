import { checkAmount } from './arguments.ts';
import { InvalidArgumentError } from './errors.ts';
import type { ScoreAnswer, VerdictAnswer, VerdictRequest } from './records.ts';

/**
 * What a checkout does when no answer can be had. `open`: requisites are shown; `closed`: none is; up to an amount
 * by currency, like `{ openUpTo: { EUR: '50.00' } }`: closed for what is more, and for other currencies.
 */
export type Fallback = 'open' | 'closed' | { readonly openUpTo: Readonly<Record<string, string>> };

const ALWAYS = { ruleVersion: 'fallback', isBot: false } as const;

/** As for a payer who is new: the verdict decides. */
export const FALLBACK_SCORE: ScoreAnswer = { clientGroup: 'NEW', paymentScore: '0.5000', isBot: false };

export function checkFallback(fallback: Fallback): void {
  if (fallback === 'open' || fallback === 'closed') return;
  if (typeof fallback !== 'object' || typeof fallback.openUpTo !== 'object') {
    throw new InvalidArgumentError('fallback', 'must be open, closed, or { openUpTo: { EUR: "50.00" } }');
  }
  for (const [currency, amount] of Object.entries(fallback.openUpTo)) {
    checkAmount(`fallback.openUpTo.${currency}`, amount);
  }
}

/** An answer in the shape of the service's own. */
export function fallbackVerdict(fallback: Fallback, request: VerdictRequest): VerdictAnswer {
  return isOpen(fallback, request)
    ? { verdict: 'GET_NEW', reason: 'The scoring service did not answer; open by fallback.', ...ALWAYS }
    : { verdict: 'BLOCK', reason: 'The scoring service did not answer; closed by fallback.', ...ALWAYS };
}

function isOpen(fallback: Fallback, { amountRequested, toPayCurrency }: VerdictRequest): boolean {
  if (typeof fallback === 'string') return fallback === 'open';
  const limits = Object.entries(fallback.openUpTo);
  const limit = limits.find(([currency]) => currency.toUpperCase() === toPayCurrency?.toUpperCase());
  return limit !== undefined && isAtMost(amountRequested, limit[1]);
}

/** Compares decimal texts of any length, which numbers cannot. */
function isAtMost(amount: string, limit: string): boolean {
  const [whole = '', fraction = ''] = amount.split('.');
  const [limitWhole = '', limitFraction = ''] = limit.split('.');
  const digits = Math.max(fraction.length, limitFraction.length);
  const scaled = BigInt(whole + fraction.padEnd(digits, '0'));
  return scaled <= BigInt(limitWhole + limitFraction.padEnd(digits, '0'));
}
