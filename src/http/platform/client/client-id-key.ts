import { KEY_CHARACTERS_MAX } from '../../../shapes.ts';
import { type Parameter, requireKey } from '../../operation/parameters.ts';
import { badRequest, refusal } from '../../request/problems.ts';

export const BAD_CLIENT_PATH = refusal(
  'badClientIdKey',
  'The clientIdKey in the path is too long or not percent-encoded UTF-8.',
  () => badRequest('The path is not percent-encoded UTF-8; encode the clientIdKey in it.'),
);

/** The client that a path names. */
export const CLIENT_ID_KEY: Parameter<string> = {
  name: 'clientIdKey',
  in: 'path',
  required: true,
  description: 'As the caller chose it, percent-encoded',
  schema: { type: 'string', minLength: 1, maxLength: KEY_CHARACTERS_MAX },
  read: ({ path, params }) => {
    requireDecodable(path);
    const clientIdKey = params['clientIdKey'] ?? '';
    requireKey(clientIdKey, 'clientIdKey');
    return clientIdKey;
  },
};

/** The router takes what it cannot decode as it is, so two paths would name one client. */
function requireDecodable(path: string): void {
  try {
    decodeURIComponent(path);
  } catch {
    throw BAD_CLIENT_PATH.problem();
  }
}
