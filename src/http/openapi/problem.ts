import { Type } from '../../json-schema.ts';
import { named, shape, word, yesNo } from '../../shapes.ts';

export const retryable = yesNo('Whether the same may be answered well when it is sent again, after a pause');

/** What is wrong in a body, place by place. */
export const errors = Type.Optional(
  Type.Array(
    shape('One thing that is wrong in the body', {
      pointer: word('RFC 6901 pointer into the body'),
      detail: word('What is wrong there'),
    }),
    { minItems: 1, description: 'Only with 400' },
  ),
);

/** RFC 9457 problem details, as every refusal carries them (interface, section 7). */
export const ProblemSchema = named(
  'Problem',
  shape('RFC 9457 problem details', {
    title: word("The interface's message text, the same for every refusal of its kind"),
    status: Type.Integer({ minimum: 400, maximum: 599, description: 'The HTTP status' }),
    detail: word('What is wrong, and what is allowed'),
    errors,
    retryable,
    requestId: word('To quote; leads to the log line'),
  }),
);
