import { ENDED_WAITS_MAX } from '../../../client/changes.ts';
import { Type } from '../../../json-schema.ts';
import { BY_PERSON_MAX } from '../../../service/ended-waits.ts';
import { key, named, shape, text, yesNo } from '../../../shapes.ts';
import { jsonAnswer, jsonBody } from '../../operation/operation.ts';
import { HttpProblem, refusal, tooMany } from '../../request/problems.ts';
import { DECISION_REFUSALS, decisionOfId, UNKNOWN_DECISION } from '../decisions.ts';
import type { PlatformParts } from '../parts.ts';
import { clientOperation } from './client-id-key.ts';

const WaitEndSchema = named(
  'WaitEnd',
  shape('What came of it', {
    ended: yesNo('False: this wait was ended before, in the last 24 hours'),
  }),
);

const DECISION_ID = '0Zr2qR0m3bqLJ1hVtYHcKg.4.mb2k3j8w';

const NO_WAIT_DUE = refusal('no-wait-due', 'The client has no wait to end.', () =>
  noSuchWait('No wait of this client is due: it may ask again now. Nothing was changed.'),
);

const NEWER_WAIT = refusal(
  'newer-wait',
  'The client waits because of another decision.',
  (decisionId: string) =>
    noSuchWait(
      `The wait that is due was imposed by ${decisionId}. Nothing was changed; look at what happened since, and name that decision.`,
    ),
  DECISION_ID,
);

function noSuchWait(detail: string): HttpProblem {
  return new HttpProblem(409, 'no such wait', detail);
}

const TOO_MANY_OF_PAYER = `${ENDED_WAITS_MAX} waits of this client were ended in the last 24 hours, which is the limit`;

const TOO_MANY_WAITS_ENDED = refusal(
  'too-many-waits-ended',
  'Too many waits were ended in 24 hours, of this client or by this person.',
  (whose: string) => tooMany(`${whose}; nothing was changed. The payer waits until the wait is over.`, 3600),
  TOO_MANY_OF_PAYER,
);

export const endWait = clientOperation({
  method: 'post',
  below: '/wait/end',
  operationId: 'endWait',
  summary: 'Ends a wait of a client now',
  description: `The client may ask again at once, for a requisite if the rules have no other reason to refuse it. Level of
the ladder, open attempt, counters and a block stay. The page of the payer does not know it: tell the payer to
ask again. At most ${ENDED_WAITS_MAX} waits of a client and ${BY_PERSON_MAX} by a person may be ended in 24 hours.`,
  grant: 'waits',
  body: jsonBody(
    'WaitEndBody',
    Type.Object({
      decisionId: key('The WAIT that is to end, as in X-Decision-Id', DECISION_ID),
      reason: text(1000, 'Why, for whoever reads it later', 'the payer called'),
    }),
  ),
  answers: jsonAnswer('Also when it was ended before', WaitEndSchema),
  refusals: [...DECISION_REFUSALS, NO_WAIT_DUE, NEWER_WAIT, TOO_MANY_WAITS_ENDED],
  answer: async ({ caller, body, clientIdKey }, parts: PlatformParts) => {
    const { service, records, audit, clientKeys } = parts;
    const { platform, actor } = caller;
    const { decisionId, reason } = await body();
    const decision = await decisionOfId(platform, decisionId, records);
    if (decision.clientIdKey !== clientIdKey) throw UNKNOWN_DECISION.problem();
    if (decision.verdict !== 'WAIT') throw NO_WAIT_DUE.problem();
    const effect = await service.endWait(decision, reason, actor);
    switch (effect) {
      case 'ended':
      case 'repeated': {
        const doing = { who: actor.text, action: 'wait ended', platform, subject: clientIdKey } as const;
        const wait = { decisionId, waitUntil: decision.ladderAfter.waitUntil };
        await audit.note(
          { ...doing, before: wait, after: null, reason },
          clientKeys.of(platform, clientIdKey),
        );
        return { ended: effect === 'ended' };
      }
      case 'notDue':
        throw NO_WAIT_DUE.problem();
      case 'newer':
        throw NEWER_WAIT.problem(
          (await service.imposedWait(platform, clientIdKey))?.decisionId ?? 'a newer decision',
        );
      case 'tooManyOfPayer':
        throw TOO_MANY_WAITS_ENDED.problem(TOO_MANY_OF_PAYER);
      case 'tooManyOfPerson':
        throw TOO_MANY_WAITS_ENDED.problem(
          `You ended ${BY_PERSON_MAX} waits in the last 24 hours, which is the limit for one person`,
        );
      default:
        return effect satisfies never;
    }
  },
});
