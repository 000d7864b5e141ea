import { ORDER_KEY_SQL } from '../../archive/order-status.ts';
import { conclude, verdictRule } from '../../decision/assess.ts';
import type { FactValue } from '../../facts/fact.ts';
import type { RuleSet } from '../../rules/rule-set.ts';
import { count, list, type Shape, shape, word } from '../../shapes.ts';
import { AnswerCodes, COMPARISON, compare } from '../comparison.ts';
import type { Evidence } from '../source/evidence.ts';
import { cellReader, factCells } from './fact-cells.ts';

export const AgainstSchema = shape('What changes from another version to this one, on the recorded facts', {
  version: word('The other version'),
  digest: word('sha256 over its files'),
  ...COMPARISON,
  undecidable: count('Decisions whose records lack a fact that one of the two asks'),
  unseen: list(word('A setting'), 'Settings in which the two differ, and which recorded facts cannot show'),
});

type Against = Shape<typeof AgainstSchema>;

/** How two rule sets judge the same recorded facts: each cell of them is asked about once. */
export async function againstOf({ duck, span }: Evidence, rules: RuleSet, base: RuleSet): Promise<Against> {
  const { sql, rows } = await factCells(duck, base, rules);
  const answers = new AnswerCodes();
  const sides = [base, rules].map((side) => ({ side, read: cellReader(side) }));
  const answered = rows.flatMap((row) => {
    const codes = sides.flatMap(({ side, read }) => {
      const { values, lacking } = read(row);
      return lacking.length > 0 ? [] : [answers.codeOf(answerOf(side, values))];
    });
    return codes.length < sides.length ? [] : [`(${[row['cell'], ...codes].join(', ')})`];
  });
  await duck.run(
    'CREATE OR REPLACE TEMP TABLE answered_cells (cell UBIGINT, base INTEGER, candidate INTEGER)',
  );
  if (answered.length > 0) await duck.run(`INSERT INTO answered_cells VALUES ${answered.join(', ')}`);
  await duck.run(`CREATE OR REPLACE TEMP TABLE compared AS
    SELECT client_hash, order_key, "at", base, candidate
    FROM (SELECT client_hash, ${ORDER_KEY_SQL} AS order_key, epoch_ms(decided_at)::DOUBLE AS "at", ${sql} AS cell FROM decisions)
    JOIN answered_cells USING (cell)`);
  const found = await compare(duck, 'compared', answers);
  return {
    version: base.version,
    digest: base.digest,
    ...found,
    undecidable: span.decisions - found.compared,
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
