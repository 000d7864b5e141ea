import { numbersOf } from '../../archive/duck.ts';
import { ORDER_KEY_SQL } from '../../archive/order-status.ts';
import { conclude, verdictRule } from '../../decision/assess.ts';
import type { FactValue } from '../../facts/fact.ts';
import type { RuleSet } from '../../rules/rule-set.ts';
import { count, list, type Shape, shape, word } from '../../shapes.ts';
import { AnswerCodes, COMPARISON, compare } from '../comparison.ts';
import { columnsOf, type Evidence } from '../source/evidence.ts';
import { factCells, type VectorCode, valuesOf, vectorCodes } from './fact-cells.ts';

export const AgainstSchema = shape('What changes from another version to this one, on the recorded facts', {
  version: word('The other version'),
  digest: word('sha256 over its files'),
  ...COMPARISON,
  undecidable: count('Decisions whose records lack a fact that one of the two asks'),
  unseen: list(word('A setting'), 'Settings in which the two differ, and which recorded facts cannot show'),
});

export type Against = Shape<typeof AgainstSchema>;

/** How two rule sets judge the same recorded facts: each combination of cells is asked about once. */
export async function againstOf(evidence: Evidence, rules: RuleSet, base: RuleSet): Promise<Against> {
  const { duck } = evidence;
  const recorded = new Set(await columnsOf(duck, 'decisions'));
  const sides = [base, rules].map((one) => ({ rules: one, codes: vectorCodes(factCells(one, recorded)) }));
  const answers = new AnswerCodes();
  const columns: string[] = [];
  for (const [side, { rules: judge, codes }] of sides.entries()) {
    const names = codes.map((_, place) => `code_${side}_${place}`);
    const sql = codes.map((code, place) => `${code.sql} AS ${names[place]}`);
    const rows = await duck.rows(`SELECT DISTINCT ${sql.join(', ')} FROM decisions`);
    const judged = rows.flatMap((row) => {
      const numbers = names.map((name) => row[name]).filter((value) => typeof value === 'bigint');
      const values = valuesOf(codes, numbers, judge.facts.length);
      return values === null ? [] : [`(${[...numbers, answers.codeOf(answerOf(judge, values))].join(', ')})`];
    });
    await duck.run(
      `CREATE OR REPLACE TEMP TABLE judged_${side} (${names.map((name) => `${name} BIGINT`).join(', ')}, answer_${side} INTEGER)`,
    );
    if (judged.length > 0) await duck.run(`INSERT INTO judged_${side} VALUES ${judged.join(', ')}`);
    columns.push(...sql);
  }
  const using = (side: number, codes: readonly VectorCode[]) =>
    `LEFT JOIN judged_${side} USING (${codes.map((_, place) => `code_${side}_${place}`).join(', ')})`;
  await duck.run(`CREATE OR REPLACE TEMP TABLE compared AS
    SELECT client_hash, order_key, "at", answer_0 AS base, answer_1 AS candidate
    FROM (SELECT client_hash, ${ORDER_KEY_SQL} AS order_key, epoch_ms(decided_at)::DOUBLE AS "at", ${columns.join(', ')} FROM decisions)
    ${sides.map(({ codes }, side) => using(side, codes)).join(' ')}`);
  const [lacking = {}] = await duck.rows(
    'SELECT count(*)::DOUBLE AS undecidable FROM compared WHERE base IS NULL OR candidate IS NULL',
  );
  const both = '(FROM compared WHERE base IS NOT NULL AND candidate IS NOT NULL)';
  return {
    version: base.version,
    digest: base.digest,
    ...(await compare(duck, both, answers)),
    ...numbersOf(lacking, { undecidable: 0 }),
    unseen: (['currency', 'smoothing', 'ladder'] as const).filter(
      (name) => JSON.stringify(rules.settings[name]) !== JSON.stringify(base.settings[name]),
    ),
  };
}

/** As if nobody were held out. */
function answerOf(rules: RuleSet, values: readonly FactValue[]) {
  const { rule, params } = verdictRule(rules, conclude(rules, values, false).values);
  return { verdict: params.verdict, rule };
}
