import { HISTORY_LISTED } from '../platform/client-history.ts';
import type { OperationSpec } from './document.ts';
import { CLIENT_EXAMPLE, HISTORY_EXAMPLE } from './examples.ts';
import {
  BAD_CLIENT_PATH,
  BODY_TOO_LARGE,
  badParameter,
  malformed,
  UNKNOWN_CLIENT,
  UNSUPPORTED_TYPE,
} from './refusals.ts';

const CLIENT_ID_KEY = {
  name: 'clientIdKey',
  in: 'path',
  required: true,
  description: 'As the caller chose it, percent-encoded',
  schema: { type: 'string', minLength: 1, maxLength: 256 },
} as const;

const SHARED = { tag: 'Clients', grant: 'clients', parameters: [CLIENT_ID_KEY] } as const;
const DONE = { 204: { description: 'Done, also when there was nothing to do' } } as const;
const BODY_REFUSALS = [BAD_CLIENT_PATH, BODY_TOO_LARGE, UNSUPPORTED_TYPE] as const;

/** What is known of a client, and what the platform decides about one. */
export const CLIENT_OPERATIONS: readonly OperationSpec[] = [
  {
    ...SHARED,
    method: 'get',
    path: '/v1/platform/clients/{clientIdKey}',
    operationId: 'readClient',
    summary: 'What is known of a client',
    description: 'State in words, facts now, last decisions. Fingerprints and IPs are not kept.',
    answers: {
      200: {
        description: 'As it stands',
        content: { 'application/json': { schema: 'Client', example: CLIENT_EXAMPLE } },
      },
    },
    refusals: [BAD_CLIENT_PATH, UNKNOWN_CLIENT],
  },
  {
    ...SHARED,
    method: 'get',
    path: '/v1/platform/clients/{clientIdKey}/history',
    operationId: 'readClientHistory',
    summary: 'What happened to a client',
    description:
      'Scores, verdicts, outcomes, bindings and overrides as they were accepted, newest first, each with the members that its `kind` has. Bindings and overrides that were lifted are null. Outcomes that changed nothing are left out. Fingerprints and IPs are not kept.',
    parameters: [
      CLIENT_ID_KEY,
      {
        name: 'limit',
        in: 'query',
        required: false,
        description: 'The most to list',
        schema: {
          type: 'integer',
          minimum: 1,
          maximum: HISTORY_LISTED.max,
          default: HISTORY_LISTED.default,
        },
      },
    ],
    answers: {
      200: {
        description: 'As far back as is kept and wanted; `complete` says whether that is all',
        content: { 'application/json': { schema: 'ClientHistory', example: HISTORY_EXAMPLE } },
      },
    },
    refusals: [
      BAD_CLIENT_PATH,
      badParameter(
        'badParameter',
        'The parameter limit is not valid, or came more than once.',
        `The parameter limit must be a whole number from 1 to ${HISTORY_LISTED.max}.`,
      ),
      UNKNOWN_CLIENT,
    ],
  },
  {
    ...SHARED,
    method: 'delete',
    path: '/v1/platform/clients/{clientIdKey}',
    operationId: 'eraseClient',
    summary: 'Forgets a client',
    grant: 'erase',
    description: 'State, decisions, outcomes, stored answers and journal entries: all that is kept.',
    answers: DONE,
    refusals: [BAD_CLIENT_PATH],
  },
  {
    ...SHARED,
    method: 'put',
    path: '/v1/platform/clients/{clientIdKey}/binding',
    operationId: 'bindClient',
    summary: 'Binds a client to a requisite',
    description: 'The client becomes STICKY, and is shown this requisite when no wait is due.',
    body: {
      'application/json': {
        schema: 'BindingBody',
        example: { requisiteRef: 'requisite-7', acceptorKeys: ['acceptor-1'] },
      },
    },
    answers: {
      200: {
        description: 'The binding as it is kept',
        content: {
          'application/json': {
            schema: 'Binding',
            example: {
              requisiteRef: 'requisite-7',
              acceptorKeys: ['acceptor-1'],
              method: null,
              expiresAt: null,
            },
          },
        },
      },
    },
    refusals: [malformed('/requisiteRef', 'is required'), ...BODY_REFUSALS],
  },
  {
    ...SHARED,
    method: 'delete',
    path: '/v1/platform/clients/{clientIdKey}/binding',
    operationId: 'unbindClient',
    summary: 'Lifts a binding',
    description: 'The client is no longer bound.',
    answers: DONE,
    refusals: [BAD_CLIENT_PATH],
  },
  {
    ...SHARED,
    method: 'put',
    path: '/v1/platform/clients/{clientIdKey}/override',
    operationId: 'overrideClient',
    summary: 'Blocks or trusts a client by decision',
    description: "A person's decision, which goes before what the rules count.",
    body: {
      'application/json': {
        schema: 'OverrideBody',
        example: { group: 'BLOCKED', reason: 'chargebacks', by: 'risk desk' },
      },
    },
    answers: {
      200: {
        description: 'The override as it is kept',
        content: {
          'application/json': {
            schema: 'Override',
            example: {
              group: 'BLOCKED',
              reason: 'chargebacks',
              by: 'risk desk',
              at: CLIENT_EXAMPLE.firstSeenAt,
              expiresAt: null,
            },
          },
        },
      },
    },
    refusals: [malformed('/group', 'must be one of BLOCKED, TRUSTED'), ...BODY_REFUSALS],
  },
  {
    ...SHARED,
    method: 'delete',
    path: '/v1/platform/clients/{clientIdKey}/override',
    operationId: 'liftOverride',
    summary: 'Lifts an override',
    description: 'The rules decide about the client again.',
    answers: DONE,
    refusals: [BAD_CLIENT_PATH],
  },
];
