import { Type } from 'typebox';
import { clientGroup } from '../../client/client-group.ts';
import { isBot, paymentScoreText } from '../../decision/decision.ts';
import { list, named, shape } from '../../shapes.ts';

/** The score answer of the interface, section 2.2. */
export const ScoreAnswerSchema = named(
  'ScoreAnswer',
  shape('Interface, section 2.2', {
    clientGroup,
    paymentScore: paymentScoreText,
    isBot,
    preferredAcceptorKey: Type.Optional(list(Type.String(), 'Only for STICKY: the acceptors of the binding')),
    payLimitValue: Type.Optional(
      list(
        Type.String({ pattern: '^[A-Z0-9]{3,4}:[0-9]+(\\.[0-9]+)?$' }),
        'Only when the platform enables scoring limits: the most to be paid at once, by currency, like "EUR:250.00"',
      ),
    ),
  }),
);
