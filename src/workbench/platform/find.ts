import { type GrantableOperation, isGranted } from '#checkout/access/access-keys.ts';
import {
  createTaggedOperations,
  declareJsonAnswer,
  declareOperation,
} from '#checkout/http/operation/operation.ts';
import type { Parameter } from '#checkout/http/operation/parameter.ts';
import { declareRefusal, HttpProblem } from '#checkout/http/request/problems.ts';
import {
  FOUND_KINDS,
  type FoundKind,
  FoundRecordsSchema,
  findRecords,
} from '#workbench/payers/find-records.ts';
import * as query from './parameters.ts';
import type { PlatformOperationParts } from './parts.ts';

/** The least length of the text to find. A single character is in nearly every name. */
export const FOUND_TEXT_CHARACTERS_MIN = 2;

const WHOLE_TEXT = query.requiredTextParameter(
  'text',
  'A part of the id of a payer or an order, in any case; or a whole fingerprint, address, list entry or decision id; or the beginning of a request id',
);

const TEXT: Parameter<string> = {
  ...WHOLE_TEXT,
  schema: { ...WHOLE_TEXT.schema, minLength: FOUND_TEXT_CHARACTERS_MIN },
  read: (ctx) => {
    const text = WHOLE_TEXT.read(ctx);
    if ([...text].length >= FOUND_TEXT_CHARACTERS_MIN) return text;
    throw query.BAD_PARAMETER.problem(
      `The parameter text must have at least ${FOUND_TEXT_CHARACTERS_MIN} characters.`,
    );
  },
};

const LIMIT = query.limitParameter({ default: 10, max: 50 });

/** The grants by kind. Any one of them is enough to find things of the kind. */
const READERS: Readonly<Record<FoundKind, readonly GrantableOperation[]>> = {
  payers: ['clients:read', 'decisions'],
  orders: ['decisions'],
  decisions: ['decisions'],
  devices: ['clients:read'],
  listEntries: ['lists:read'],
};

const FINDS_ANYTHING = {
  anyOf: [...new Set(FOUND_KINDS.flatMap((kind) => READERS[kind]))],
  refused: declareRefusal(
    'not-provisioned-for-find',
    'The key was issued for none of the operations by which something can be found.',
    () =>
      new HttpProblem(
        403,
        'not provisioned',
        'The access key was issued for none of the operations clients:read, decisions, lists:read; the platform owner grants operations.',
      ),
  ),
} as const;

export const findByPart = declareOperation<PlatformOperationParts>({
  route: 'get /v1/platform/find',
  command: {
    name: 'find',
    summary: 'find payers, orders, decisions, devices and list entries by a part of an id',
    description:
      'Exit code 1 when nothing is found, or when not all that is kept could be searched; it says how far back it looked.',
    words: ['text'],
  },
  summary: 'Find payers, orders, decisions, devices and list entries',
  description:
    'Finds payers and orders by a part of their ids, whatever the case: those that begin with it come first. Finds decisions by their id or the beginning of a request id of at least 8 characters, the payers on a device or an address, and entries of shared lists. Devices and addresses are compared as HMACs, so they must be typed whole. It looks for what the key may read; `leftOut` names the rest. It reads from the newest records back in time until a limit of rows or time; `lookedAt` says how far it went.',
  grant: FINDS_ANYTHING,
  isSearch: true,
  parameters: [TEXT, LIMIT],
  answers: declareJsonAnswer('What was found', FoundRecordsSchema),
  answer: async ({ ctx, caller }, parts) => {
    const kinds = FOUND_KINDS.filter((kind) => READERS[kind].some((grant) => isGranted(caller, grant)));
    return findRecords(parts, {
      platform: caller.platform,
      text: TEXT.read(ctx),
      kinds: new Set(kinds),
      readsPayers: isGranted(caller, 'clients:read'),
      limit: LIMIT.read(ctx),
    });
  },
});

export const FIND_OPERATIONS = createTaggedOperations('Find', { find: findByPart });
