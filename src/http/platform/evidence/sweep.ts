import { OUTCOME_ASSUMPTIONS } from '../../../evidence/backtest/lives.ts';
import { Type } from '../../../json-schema.ts';
import { choice, text } from '../../../shapes.ts';
import { draftBody } from '../rules/drafts/draft-body.ts';
import { TRIED_MEMBERS } from './brought-draft.ts';
import { evidenceQuestion, SPAN_MEMBERS } from './evidence-question.ts';

const SweepBodySchema = Type.Object({
  ...TRIED_MEMBERS,
  vary: Type.Array(text(200, 'PATH=VALUES, as the command takes them'), { minItems: 1, maxItems: 3 }),
  outcomes: Type.Optional(choice(OUTCOME_ASSUMPTIONS, 'Which recorded outcomes happen; absent: granted')),
  ...SPAN_MEMBERS,
});

const VARY_EXAMPLE = ['groups.blocked-by-unpaid-chain.unpaidChain=2..8'];

export const askSweep = evidenceQuestion({
  kind: 'sweep',
  operationId: 'askSweep',
  summary: 'What other values of a constant would have done',
  asksFor:
    'what "rules sweep" prints; a constant or value that cannot be tried is told as the trouble of the job',
  takesDraft: true,
  body: draftBody('SweepBody', SweepBodySchema, { version: 'p2.v11', vary: VARY_EXAMPLE }),
  example: { vary: VARY_EXAMPLE },
  task: ({ version, vary, outcomes = 'granted' }, rulesNamed) => ({
    kind: 'sweep',
    rules: rulesNamed(version, 'version'),
    vary,
    outcomes,
  }),
});
