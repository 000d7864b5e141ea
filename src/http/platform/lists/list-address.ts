import { KEY_CHARACTERS_MAX } from '../../../key-length.ts';
import { isName, LIST_NAME_RULE, NAME_CHARACTERS_MAX, NAME_PATTERN } from '../../../rules/name.ts';
import { BAD_PARAMETER, type Parameter, queryText, requireKey } from '../../operation/parameters.ts';
import { inQuery, isDecodable, isSafeInPath, safeInPath } from '../../operation/path-text.ts';
import { badRequest, refusal } from '../../request/problems.ts';

export const BAD_LIST_ADDRESS = refusal(
  'badListAddress',
  'The name of the list or the value in the path cannot be one, or is one that a path cannot carry safely.',
  (detail: string) => badRequest(detail),
  LIST_NAME_RULE,
);

/** The list that a path names. */
export const LIST_IN_PATH: Parameter<string> = {
  name: 'list',
  in: 'path',
  required: true,
  description: 'The name of the list',
  schema: { type: 'string', pattern: NAME_PATTERN, maxLength: NAME_CHARACTERS_MAX },
  read: ({ params }) => {
    const list = params['list'] ?? '';
    if (isName(list)) return list;
    throw BAD_LIST_ADDRESS.problem(LIST_NAME_RULE);
  },
};

/** Where a proxy decodes the slash of a range, the path matches no route, and never another value. */
const RANGE = /^[0-9a-fA-F:.]+\/\d{1,3}$/;

/** The value that a path names. */
export const VALUE_IN_PATH: Parameter<string> = {
  name: 'value',
  in: 'path',
  required: true,
  description:
    'As it is, percent-encoded, a range of addresses like 203.0.113.0%2F24; what a path cannot carry goes into a query',
  schema: {
    type: 'string',
    minLength: 1,
    maxLength: KEY_CHARACTERS_MAX,
    anyOf: [safeInPath(), { pattern: RANGE.source }],
  },
  read: ({ path, params }) => {
    const value = params['value'] ?? '';
    if (!isDecodable(path)) {
      throw BAD_LIST_ADDRESS.problem('The path is not percent-encoded UTF-8; encode the value in it.');
    }
    requireKey(value, 'value');
    if (isSafeInPath(value) || RANGE.test(value)) return value;
    throw BAD_LIST_ADDRESS.problem(
      `A path cannot carry the value ${JSON.stringify(value)} safely; name it in the query: entries?value=${inQuery(value)}.`,
    );
  },
};

/** The value that a query names, whatever it is. */
export const VALUE_IN_QUERY: Parameter<string> = {
  ...queryText('value', 'As it is'),
  required: true,
  read: (ctx) => {
    if (!isDecodable(ctx.querystring)) {
      throw BAD_PARAMETER.problem('The query is not percent-encoded UTF-8; encode the value in it.');
    }
    const value = queryText('value', '').read(ctx);
    if (value === null) throw BAD_PARAMETER.problem('The parameter value is required.');
    return value;
  },
};
