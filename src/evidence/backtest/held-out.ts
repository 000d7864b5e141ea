import { type Duck, numberOf, textOf } from '../../archive/duck.ts';
import { type HeldOut, holdoutShares } from '../../decision/holdout.ts';
import type { RuleSet } from '../../rules/rule-set.ts';
import type { LifeAnswer } from './lives.ts';

/** How often a rule matched and was skipped, because its client is held out of it. */
export interface HeldOutCount {
  /** Its file and name, like `groups/blocked-by-unpaid-chain`. */
  readonly rule: string;
  /** Of the clients, from 0 to 1. */
  readonly share: number;
  readonly decisions: number;
  /** The different clients of these decisions. */
  readonly clients: number;
}

/** Counts whom the rules of one side held out. A rule that holds out and skipped nobody is told, too. */
export class HeldOutTally {
  readonly #rules = new Map<string, { readonly share: number; decisions: number; clients: Set<bigint> }>();

  constructor(rules: RuleSet | null) {
    for (const [rule, share] of rules === null ? [] : holdoutShares(rules)) this.#of({ rule, share });
  }

  note(heldOut: readonly HeldOut[], clientHash: bigint): void {
    for (const one of heldOut) {
      const count = this.#of(one);
      count.decisions++;
      count.clients.add(clientHash);
    }
  }

  counts(): readonly HeldOutCount[] {
    return [...this.#rules].map(([rule, { share, decisions, clients }]) => ({
      rule,
      share,
      decisions,
      clients: clients.size,
    }));
  }

  #of({ rule, share }: HeldOut) {
    const known = this.#rules.get(rule);
    if (known !== undefined) return known;
    const none = { share, decisions: 0, clients: new Set<bigint>() };
    this.#rules.set(rule, none);
    return none;
  }
}

/** The same of both sides of a comparison. */
export class HeldOutTallies {
  readonly #base: HeldOutTally;
  readonly #candidate: HeldOutTally;

  constructor(base: RuleSet | null, candidate: RuleSet) {
    this.#base = new HeldOutTally(base);
    this.#candidate = new HeldOutTally(candidate);
  }

  note(base: LifeAnswer | undefined, candidate: LifeAnswer | undefined, clientHash: bigint): void {
    this.#base.note(base?.heldOut ?? [], clientHash);
    this.#candidate.note(candidate?.heldOut ?? [], clientHash);
  }

  counts(): { readonly base: readonly HeldOutCount[]; readonly candidate: readonly HeldOutCount[] } {
    return { base: this.#base.counts(), candidate: this.#candidate.counts() };
  }
}

/** Whom the recorded decisions held out. */
export async function recordedHoldouts(duck: Duck): Promise<readonly HeldOutCount[]> {
  const rows = await duck.rows(`
    SELECT rule, any_value(share) AS share, count(*) AS decisions, count(DISTINCT client_hash) AS clients
    FROM (SELECT unnest(holdout_rule) AS rule, unnest(holdout_share)::DOUBLE AS share, client_hash
      FROM decisions WHERE holdout_rule IS NOT NULL)
    GROUP BY rule ORDER BY rule`);
  return rows.map((row) => ({
    rule: textOf(row['rule']) ?? '',
    share: numberOf(row['share']) ?? 0,
    decisions: numberOf(row['decisions']) ?? 0,
    clients: numberOf(row['clients']) ?? 0,
  }));
}
