import { amountOf, methodOf } from './decision-table.js';

/**
 * @import { Decision, RulesAccount, VerdictCommand } from '../../answers.d.ts'
 */

/**
 * What the interface asks the caller to do (its section 4.2).
 * @type {Readonly<Record<VerdictCommand, string>>}
 */
const ACTIONS = {
  GET_NEW: 'Please request a new requisite from the payment side.',
  GET_SAME_STICKY: 'Please show the requisite that the payer is bound to, and request no new one.',
  WAIT: 'Please show the payer a timer for that long, then ask again.',
  BLOCK: 'Please issue no requisite, and show the payer how to reach support.',
};

/**
 * An answer to a caller who quotes an order: what was decided, when, by what, and what to do. It names no
 * other payer.
 * @param {Decision} decision
 * @param {RulesAccount | null} rules
 */
export function callerText(decision, rules) {
  const { orderRef, verdict, waitSeconds, reason, rule, ruleVersion, decisionId } = decision;
  const described = rules?.verdicts.rules.find(({ name }) => name === rule)?.description;
  const wait = waitSeconds === undefined ? '' : ` of ${waitSeconds} s`;
  return [
    `Order ${orderRef}, ${amountOf(decision)} by ${methodOf(decision)}, asked at ${utc(decision.at)}:`,
    `The answer was ${verdict}${wait}. ${reason}`,
    `It was given by the rule ${rule} of ${ruleVersion}${described ? `: ${described}` : '.'}`,
    ACTIONS[verdict],
    `Decision ${decisionId}.`,
  ].join('\n');
}

/**
 * `2026-01-01 14:03:27 UTC`: the caller may sit in another time zone.
 * @param {number} epochMs
 */
function utc(epochMs) {
  return `${new Date(epochMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}
