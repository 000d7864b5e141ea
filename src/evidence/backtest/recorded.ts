import { type Duck, type DuckBatch, quoteName } from '../../archive/duck.ts';
import { ORDER_KEY_SQL } from '../../archive/order-fate.ts';
import { factColumn, factLabel } from '../../archive/record-columns.ts';
import { hashOfNumber, isPlatformName } from '../../client/client-key.ts';
import { CLIENT_GROUPS } from '../../client/client-state.ts';
import { climb, levelsOf } from '../../client/ladder.ts';
import { conclude, factsRead, verdictRule } from '../../decision/assess.ts';
import { type HoldoutDraw, holdoutShares, type IsHeldOut, NOBODY_HELD_OUT } from '../../decision/holdout.ts';
import { FACTS } from '../../facts/catalogue.ts';
import type { FactValue } from '../../facts/fact.ts';
import { type RuleSet, settingsOf, VERDICTS } from '../../rules/rule-set.ts';
import { columnsOf, enumOf } from '../source/evidence.ts';
import { heldOutAmong, type LifeAnswer } from './lives.ts';

/** Answers one row of a batch; null when its record lacks a fact that the rules ask. */
export type RowAnswer = (row: number) => LifeAnswer | null;

/**
 * SQL: what is needed to decide again: the facts of these labels as far as they were recorded, and the client where
 * that matters. Columns of few texts come as ENUM, whose numbers are read faster than texts.
 */
export async function recordedDecisions(
  duck: Duck,
  labels: ReadonlySet<string>,
  { withClients }: { readonly withClients: boolean },
): Promise<string> {
  for (const column of ['platform', 'rule'])
    await duck.run(`CREATE TYPE ${column}_name AS ENUM (SELECT DISTINCT ${column} FROM decisions)`);
  const recorded = new Set(await columnsOf(duck, 'decisions'));
  const facts = new Set([...labels].map(factColumn));
  const select = [
    'client_hash',
    `${ORDER_KEY_SQL} AS order_key`,
    ...(withClients ? ['client_id_key'] : []),
    'order_ref',
    'epoch_ms(decided_at)::DOUBLE AS decided_ms',
    'platform::platform_name AS platform',
    'rule::rule_name AS rule',
    `verdict::${enumOf(VERDICTS)} AS verdict`,
    `client_group::${enumOf(CLIENT_GROUPS)} AS client_group`,
    'is_bot',
    'ladder_before_level::DOUBLE AS level_before',
    'ladder_after_level::DOUBLE AS level_after',
    ...[...facts].filter((column) => recorded.has(column)).map(readableFact),
  ];
  return `SELECT ${select.join(', ')} FROM decisions`;
}

function readableFact(column: string): string {
  const name = quoteName(column);
  const domain = FACTS.get((factLabel(column) ?? '').split('(')[0] ?? '')?.domain;
  if (domain?.type === 'number') return `${name}::DOUBLE AS ${name}`;
  return domain?.type === 'enum' ? `${name}::${enumOf(domain.values)} AS ${name}` : name;
}

/** What was decided then, row by row. */
export function recordedAnswers(batch: DuckBatch): RowAnswer {
  const [verdicts, rules, groups] = [
    batch.texts('verdict'),
    batch.texts('rule'),
    batch.texts('client_group'),
  ];
  const [bots, levels] = [batch.flags('is_bot'), batch.numbers('level_after')];
  return (row) => {
    const verdict = VERDICTS.find((known) => known === verdicts[row]) ?? 'GET_NEW';
    return {
      verdict,
      rule: rules[row] ?? '',
      clientGroup: CLIENT_GROUPS.find((known) => known === groups[row]) ?? 'NEW',
      isBot: bots[row] === true,
      level: verdict === 'WAIT' ? (levels[row] ?? 0) : 0,
      waitSeconds: null,
      // `HeldOutTally` counts recorded holdouts without reading each row.
      heldOut: [],
    };
  };
}

/** Lets a rule set decide again on the fact values of recorded decisions. */
export class Redecider {
  readonly #rules: RuleSet;
  /**
   * The label that a record must have, by index of the value. Null where no rule asks for it, or where the rules
   * conclude it again.
   */
  readonly #asked: readonly (string | null)[];
  /** Null where no rule holds anybody out. */
  readonly #holdoutDraw: HoldoutDraw | null;

  constructor(rules: RuleSet, holdoutDraw: HoldoutDraw) {
    this.#rules = rules;
    this.#holdoutDraw = holdoutShares(rules).size === 0 ? null : holdoutDraw;
    const asked = factsRead(rules);
    this.#asked = rules.facts.map(({ label, fact }) =>
      fact.kind !== 'concluded' && asked.has(label) ? label : null,
    );
  }

  /** Whether it needs to know the client of a decision. */
  get holdsOut(): boolean {
    return this.#holdoutDraw !== null;
  }

  /** Labels of the facts that a record must have. */
  get labels(): ReadonlySet<string> {
    return new Set(this.#asked.filter((label) => label !== null));
  }

  /** Decides the rows of a batch of `recordedDecisions`. `lacking` gets each label that a record lacks. */
  answers(batch: DuckBatch, lacking: (label: string) => void): RowAnswer {
    const rules = this.#rules;
    const columns = this.#asked.map((_, place) => this.#column(batch, place));
    const [platforms, times] = [batch.texts('platform'), batch.numbers('decided_ms')];
    const levels = batch.numbers('level_before');
    const heldOutIn = this.#heldOutIn(batch);
    return (row) => {
      const values = valuesOf(columns, row);
      if (values === null) {
        for (const [place, label] of this.#asked.entries())
          if (label !== null && isMissing(columns[place], row)) lacking(label);
        return null;
      }
      // A verdict counts its own request, so its client is never new any more.
      const isHeldOut = heldOutIn(row);
      const assessment = conclude(rules, values, false, isHeldOut);
      const { clientGroup, isBot } = assessment;
      const { rule, params, drawn } = verdictRule(rules, assessment.values, isHeldOut);
      const settings = settingsOf(rules, platforms[row] ?? '');
      const before = { level: levels[row] ?? 0, attemptOpen: false, waitUntil: null };
      const levelsMs = levelsOf(settings.ladder, params.ladder);
      const level = params.verdict === 'WAIT' ? climb(before, levelsMs, times[row] ?? 0, 0).level : 0;
      return {
        verdict: params.verdict,
        rule,
        clientGroup,
        isBot,
        level,
        waitSeconds: null,
        heldOut: heldOutAmong(assessment.drawn, drawn),
      };
    };
  }

  #heldOutIn(batch: DuckBatch): (row: number) => IsHeldOut {
    const draw = this.#holdoutDraw;
    if (draw === null) return () => NOBODY_HELD_OUT;
    const [clients, times] = [batch.integers('client_hash'), batch.numbers('decided_ms')];
    return (row) => draw({ hash: hashOfNumber(clients[row] ?? 0n) }, times[row] ?? 0);
  }

  /**
   * The value under these rules of a fact that only says where and when: another version may have another time zone.
   */
  #column(batch: DuckBatch, place: number): FactColumn {
    const rules = this.#rules;
    const [label = null, fact] = [this.#asked[place], rules.facts[place]?.fact];
    if (label === null || fact?.kind !== 'circumstantial') return factValues(batch, label);
    const [platforms, times] = [batch.texts('platform'), batch.numbers('decided_ms')];
    return platforms.map((name, row) => {
      if (name === null || !isPlatformName(name)) return null;
      const { timeZone } = settingsOf(rules, name);
      return fact.read({ platform: name, timeZone, now: times[row] ?? 0 });
    });
  }
}

/** The values of a fact; false where no rule asks, null where no record has it. */
type FactColumn = readonly (FactValue | null)[] | false | null;

function factValues(batch: DuckBatch, label: string | null): FactColumn {
  if (label === null) return false;
  const column = factColumn(label);
  return batch.has(column) ? batch.cells(column) : null;
}

function isMissing(column: FactColumn | undefined, row: number): boolean {
  return column === null || column === undefined || (column !== false && column[row] === null);
}

function valuesOf(columns: readonly FactColumn[], row: number): FactValue[] | null {
  const values: FactValue[] = [];
  for (const column of columns) {
    const value = column === false ? false : column?.[row];
    if (value === null || value === undefined) return null;
    values.push(value);
  }
  return values;
}
