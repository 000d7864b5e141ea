import { formatSeconds } from '#base/duration.ts';
import { type Decision, OTHERWISE } from '#decision/decision.ts';
import { formatDecimal } from '#decision/payer/amount.ts';
import { PAYER_TEXT_WAIT_PLACEHOLDER } from '#decision/rules/parse/payer-text.ts';
import type { ParsedRules, Verdict } from '#decision/rules/rule-set.ts';

/** The actions that the interface asks of the caller (section 4.2). */
const ACTIONS: Readonly<Record<Verdict, string>> = {
  GET_NEW: 'Please request a new requisite from the payment side.',
  GET_SAME_STICKY: 'Please show the requisite that the payer is bound to, and request no new one.',
  WAIT: 'Please show the payer a timer for that long, then ask again.',
  BLOCK: 'Please issue no requisite, and show the payer how to reach support.',
};

/**
 * Creates the texts that support may send about a decision. The payer gets the rule's own text, or otherwise a text
 * by verdict and wait. The caller's people learn what was decided, when, by which rule, and what to do. Neither text
 * names another payer, and the payer's text has no rules, scores or signals. `rules` are the rules that decided. Null
 * if they are not available.
 */
export function createPayerAndIntegratorTexts(decision: Decision, rules: ParsedRules | null) {
  const rule = rules?.verdicts.rules.find(({ name }) => name === decision.rule);
  const params = decision.rule === OTHERWISE ? rules?.verdicts.otherwise : rule?.params;
  const wait = formatSeconds(decision.waitSeconds ?? 0, 'long');
  return {
    payerText: params?.payerText?.replaceAll(PAYER_TEXT_WAIT_PLACEHOLDER, wait) ?? defaultPayerText(decision),
    integratorText: integratorText(decision, rule?.description),
  };
}

function defaultPayerText(decision: Decision): string {
  const { verdict, waitSeconds = 0, at, facts } = decision;
  const payment =
    facts['amount'] === undefined ? 'Your payment' : `Your payment of ${formatAmount(decision)}`;
  const texts: Readonly<Record<Verdict, string>> = {
    GET_NEW: `${payment} can go ahead: please continue on the payment page.`,
    GET_SAME_STICKY: `${payment} can go ahead, with the payment details that you were shown before.`,
    WAIT: `${payment} cannot be started yet. Please try again after ${formatUtc(at + waitSeconds * 1000)}.`,
    BLOCK: `${payment} cannot be started. Please choose another way to pay, or contact the shop.`,
  };
  return texts[verdict];
}

function integratorText(decision: Decision, described = ''): string {
  const { orderRef, verdict, waitSeconds, reason, rule, ruleVersion, decisionId, at, facts } = decision;
  const wait = waitSeconds === undefined ? '' : ` of ${waitSeconds} s`;
  return [
    `Order ${isolateText(orderRef)}, ${formatAmount(decision)} by ${facts['method'] ?? '–'}, asked at ${formatUtc(at)}:`,
    `The answer was ${verdict}${wait}. ${reason}`,
    `It was given by the rule ${rule} of ${ruleVersion}${described === '' ? '.' : `: ${described}`}`,
    ACTIONS[verdict],
    `Decision ${decisionId}.`,
  ].join('\n');
}

/**
 * Formats an amount like `25.00 EUR`, with the decimals of its currency. Names that do not have three letters, like
 * USDT, are no national currencies and get two decimals.
 */
function formatAmount({ facts: { amount, currency } }: Decision): string {
  if (amount === undefined) return '–';
  const name = String(currency ?? '');
  const known = /^[A-Z]{3}$/.test(name) ? name : 'EUR';
  const { minimumFractionDigits: digits = 2 } = new Intl.NumberFormat('en', {
    style: 'currency',
    currency: known,
  }).resolvedOptions();
  const [whole, fraction = ''] = formatDecimal(amount).split('.');
  const padded = fraction.padEnd(digits, '0');
  return `${whole}${padded === '' ? '' : `.${padded}`} ${name}`.trimEnd();
}

/** Isolates a name that may be written from right to left, so that it does not reorder the text around it. */
function isolateText(name: string): string {
  return /[\u0590-\u08ff\ufb1d-\ufefc]/.test(name) ? `\u2068${name}\u2069` : name;
}

/** Formats a moment like `2026-01-01 14:03:27 UTC`, because the reader may be in another time zone. */
function formatUtc(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}
