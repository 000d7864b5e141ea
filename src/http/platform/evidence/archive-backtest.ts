import { BACKTEST_MODES } from '../../../evidence/backtest/backtest-report.ts';
import { OUTCOME_ASSUMPTIONS } from '../../../evidence/backtest/lives.ts';
import { Type } from '../../../json-schema.ts';
import { choice } from '../../../shapes.ts';
import { draftBody } from '../rules/drafts/draft-body.ts';
import { versionText } from '../rules/rule-version.ts';
import { TRIED_MEMBERS } from './brought-draft.ts';
import { evidenceQuestion, SPAN_MEMBERS } from './evidence-question.ts';

const BacktestBodySchema = Type.Object({
  ...TRIED_MEMBERS,
  against: Type.Optional(versionText('Compare with this version instead of with what was recorded')),
  mode: Type.Optional(choice(BACKTEST_MODES, 'Absent: recorded')),
  outcomes: Type.Optional(
    choice(OUTCOME_ASSUMPTIONS, 'In closed-loop, which recorded outcomes happen; absent: granted'),
  ),
  ...SPAN_MEMBERS,
});

export const askBacktest = evidenceQuestion({
  kind: 'backtest',
  operationId: 'askBacktest',
  summary: 'What a version would have decided',
  asksFor: 'what "rules backtest" prints',
  takesDraft: true,
  body: draftBody('BacktestBody', BacktestBodySchema, {
    version: 'p2.v11',
    mode: 'closed-loop',
    from: '2026-11-01T00:00:00Z',
  }),
  example: { mode: 'closed-loop' },
  task: ({ version, against, mode = 'recorded', outcomes = 'granted' }, rulesNamed) => ({
    kind: 'backtest',
    rules: rulesNamed(version, 'version'),
    against: against === undefined ? null : rulesNamed(against, 'against'),
    mode,
    outcomes,
  }),
});
