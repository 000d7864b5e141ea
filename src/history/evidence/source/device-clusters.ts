import { listConditionFacts } from '#decision/rules/condition.ts';
import type { Rule, RuleSet } from '#decision/rules/rule-set.ts';
import { type Evidence, rowsAsOfSql } from './evidence.ts';

/**
 * Creates the table `devices` with a device for each client who showed a fingerprint. If a client showed several
 * fingerprints, the table has the one that most clients showed. Clients who share a device are often one person or
 * one ring, so their orders depend on each other.
 */
export async function createDevicesTempTable({ duck, ask }: Evidence): Promise<void> {
  await duck.run(`CREATE OR REPLACE TEMP TABLE devices AS
    WITH shown AS (
      SELECT DISTINCT client_hash, hash(platform, fingerprint) AS device
      FROM ${rowsAsOfSql(ask.place, 'scores', { ...ask, from: null })} WHERE fingerprint IS NOT NULL
    )
    SELECT client_hash, arg_max(device, clients) AS device
    FROM (SELECT *, count(*) OVER (PARTITION BY device) * 4294967296 + device % 4294967296 AS clients FROM shown)
    GROUP BY client_hash`);
}

/**
 * Lists the rules that ask how many clients share a device or an address, either directly or through the bot flag.
 * Rules are named by file and name, like `verdicts/shared-device`.
 */
export function collectDeviceRuleNames({ groups, signals, verdicts, flags }: RuleSet): ReadonlySet<string> {
  const asks = ({ condition }: Rule<unknown>) =>
    listConditionFacts([condition]).some(({ fact }) => fact.kind === 'windowed' && fact.sharing !== null);
  const asksForFlag = ({ condition }: Rule<unknown>) =>
    listConditionFacts([condition]).some(({ name }) => name === 'isBot' || name === 'botWeight');
  // If the exemption from the signals asks for shared devices, all signals depend on shared devices.
  const exemptsBy = signals.exempt !== null && asks(signals.exempt);
  const about = exemptsBy ? signals.rules : signals.rules.filter(asks);
  const concluding = (rule: Rule<unknown>) => asks(rule) || (about.length > 0 && asksForFlag(rule));
  return new Set([
    ...groups.rules.filter(asks).map(({ name }) => `groups/${name}`),
    ...about.map(({ name }) => `bot-signals/${name}`),
    ...verdicts.rules.filter(concluding).map(({ name }) => `verdicts/${name}`),
    ...flags.rules.filter(concluding).map(({ name }) => `flags/${name}`),
  ]);
}
