import { count, list, plainText, shape, type ValueOf } from '#base/shapes.ts';
import { NOBODY_HELD_OUT } from '#decision/holdout.ts';
import { createRedecider, listLackingLabels } from '#decision/redecision.ts';
import { compileWithOtherHmacs } from '#decision/rules/evaluate/compile.ts';
import { getPlatformSettings, type RuleSet } from '#decision/rules/rule-set.ts';
import { ORDER_KEY_SQL } from '#history/archive/order-status.ts';
import { AnswerCodec, COMPARISON_MEMBER_SCHEMAS, compareAnswers } from '#history/evidence/comparison.ts';
import type { Evidence } from '#history/evidence/source/evidence.ts';
import { readFactCells } from './fact-cells.ts';
import { serializeDecidingPart } from './trial-rule-effect.ts';

export const AgainstSchema = shape('What changes from another version to this one, on the recorded facts', {
  version: plainText('The other version'),
  digest: plainText('sha256 over its files'),
  ...COMPARISON_MEMBER_SCHEMAS,
  undecidable: count('Decisions whose records lack a fact that one of the two asks'),
  missing: list(plainText('Its label'), 'These facts'),
  unseen: list(
    plainText('A setting'),
    'Settings in which the two differ, and which recorded facts cannot show',
  ),
});

type Against = ValueOf<typeof AgainstSchema>;

/**
 * Compares how two rule sets judge the same recorded facts, as if no client were held out. All decisions that look
 * the same to every rule form a cell. Each cell is evaluated once.
 */
export async function compareRuleSetsOnFacts(
  evidence: Evidence,
  of: RuleSet,
  against: RuleSet,
): Promise<Against> {
  const { duck, span, attributeHmacs } = evidence;
  const [rules, base] = [
    compileWithOtherHmacs(of, attributeHmacs),
    compileWithOtherHmacs(against, attributeHmacs),
  ];
  const { sql, cells } = await readFactCells(duck, base, rules);
  const answers = new AnswerCodec();
  const missing = new Set<string>();
  const sides = [base, rules].map(createRedecider);
  const answered = cells.flatMap(({ cell, recorded }) => {
    const codes = sides.flatMap((redecide) => {
      const again = redecide(recorded, NOBODY_HELD_OUT);
      if (again.kind !== 'decided') for (const label of listLackingLabels(again)) missing.add(label);
      return again.kind === 'decided' ? [answers.codeOf(again.concluded)] : [];
    });
    return codes.length < sides.length ? [] : [`(${[cell, ...codes].join(', ')})`];
  });
  await duck.run(
    'CREATE OR REPLACE TEMP TABLE answered_cells (cell UBIGINT, base INTEGER, candidate INTEGER)',
  );
  if (answered.length > 0) await duck.run(`INSERT INTO answered_cells VALUES ${answered.join(', ')}`);
  await duck.run(`CREATE OR REPLACE TEMP TABLE compared AS
    SELECT client_hash, order_key, "at", base, candidate
    FROM (SELECT client_hash, ${ORDER_KEY_SQL} AS order_key, epoch_ms(decided_at)::DOUBLE AS "at", ${sql} AS cell FROM decisions)
    JOIN answered_cells USING (cell)`);
  const found = await compareAnswers(duck, 'compared', answers);
  return {
    version: base.version,
    digest: base.digest,
    ...found,
    undecidable: span.decisions - found.compared,
    missing: [...missing].toSorted(),
    unseen: (['currency', 'smoothing', 'ladder'] as const).filter((name) =>
      ['', ...base.platforms.keys(), ...rules.platforms.keys()].some((platform) => {
        const [was, is] = [base, rules].map((side) =>
          serializeDecidingPart(getPlatformSettings(side, platform)[name]),
        );
        return was !== is;
      }),
    ),
  };
}
