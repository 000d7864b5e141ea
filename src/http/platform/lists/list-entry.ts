import type { Caller } from '../../../access/caller.ts';
import { toEpochMs } from '../../../client/instant.ts';
import { Type } from '../../../json-schema.ts';
import { type ListDesk, ListRefusal, REASON_CHARACTERS_MAX } from '../../../lists/list-editor.ts';
import { instant, type Shape, text } from '../../../shapes.ts';
import { type Asked, DONE, jsonAnswer, type Operation, operation } from '../../operation/operation.ts';
import { BAD_PARAMETER, type Parameter, queryText } from '../../operation/parameters.ts';
import { jsonBody } from '../../operation/request-body.ts';
import { HttpProblem, refusal } from '../../request/problems.ts';
import { BAD_LIST_ADDRESS, LIST_IN_PATH, VALUE_IN_PATH, VALUE_IN_QUERY } from './list-address.ts';
import { ENTRY_EXAMPLE, KIND_OR_NONE, ListEntryViewSchema, viewOfEntry } from './list-views.ts';
import type { ListParts } from './lists.ts';

const ListEntryBodySchema = Type.Object({
  kind: KIND_OR_NONE,
  reason: text(REASON_CHARACTERS_MAX, 'Why, for whoever reads it later'),
  expiresAt: Type.Optional(instant),
});

const BODY = jsonBody('ListEntryBody', ListEntryBodySchema, {
  kind: 'fingerprint',
  reason: 'shared by a ring',
  expiresAt: '2027-01-01T00:00:00Z',
});

const NOT_FOR_LIST = refusal(
  'notForList',
  'The list cannot hold this: another kind, a bad address or range, an end in the past, or no room.',
  (detail: string) => new HttpProblem(422, 'not for this list', detail),
  'The list blocked-devices holds entries of kind fingerprint, not ip.',
);

const REASON = queryText('reason', 'Why it is removed');

/** Who changes which list, as the key says. */
export function deskOf(caller: Caller, list: string): ListDesk {
  return { owner: caller.platform, list, who: caller.actor.text };
}

/** Makes a change of lists; 422 when the list cannot hold the value. */
async function answered<T>(change: Promise<T>): Promise<T> {
  try {
    return await change;
  } catch (error) {
    if (error instanceof ListRefusal) throw NOT_FOR_LIST.problem(error.message);
    throw error;
  }
}

/** The two ways of naming a value: in the path, and in the query, which carries every one. */
const WAYS = [
  { value: VALUE_IN_PATH, path: '/v1/platform/lists/{list}/entries/{value}', suffix: '' },
  { value: VALUE_IN_QUERY, path: '/v1/platform/lists/{list}/entries', suffix: 'ByQuery' },
] as const satisfies readonly { value: Parameter<string>; path: string; suffix: string }[];

export const putListEntry: readonly Operation<ListParts>[] = WAYS.map(({ value, path, suffix }) =>
  operation({
    method: 'put',
    path,
    operationId: `putListEntry${suffix}`,
    summary: 'Puts a value on a shared list',
    description:
      'Or renews its reason and end. Every node knows of it within 2 s. The first entry says what the list holds. A fingerprint or a single address is kept by its HMAC alone, a range of addresses in clear; an IPv6 address counts as its /64.',
    tag: 'Lists',
    grant: 'lists',
    parameters: [LIST_IN_PATH, value],
    body: BODY,
    answers: jsonAnswer('The entry as it is kept', ListEntryViewSchema, ENTRY_EXAMPLE),
    refusals: [BAD_LIST_ADDRESS, NOT_FOR_LIST],
    gate: (asked) => entryOf(asked, value),
    answer: async (asked, { approvals, listEditor: editor, clock }: ListParts) => {
      const { platform, actor } = asked.caller;
      const change = await entryOf(asked, value);
      const entry = await answered(approvals.listEntry({ platform, who: actor.text }, change));
      return viewOfEntry(entry, { now: clock(), editor });
    },
  }),
);

async function entryOf({ ctx, body }: Asked<Shape<typeof ListEntryBodySchema>>, valueIn: Parameter<string>) {
  const [list, value] = [LIST_IN_PATH.read(ctx), valueIn.read(ctx)];
  const { kind = null, reason, expiresAt } = await body();
  return { what: 'list', list, value, kind, reason, expiresAt: toEpochMs(expiresAt) } as const;
}

export const removeListEntry: readonly Operation<ListParts>[] = WAYS.map(({ value, path, suffix }) =>
  operation({
    method: 'delete',
    path,
    operationId: `removeListEntry${suffix}`,
    summary: 'Takes a value from a shared list',
    description: 'Every node knows of it within 2 s. The audit log keeps who did it and why.',
    tag: 'Lists',
    grant: 'lists',
    parameters: [LIST_IN_PATH, value, REASON],
    answers: DONE,
    refusals: [BAD_LIST_ADDRESS, BAD_PARAMETER],
    answer: async ({ ctx, caller }, { listEditor }: ListParts) => {
      const desk = deskOf(caller, LIST_IN_PATH.read(ctx));
      await listEditor.remove(desk, value.read(ctx), REASON.read(ctx));
    },
  }),
);
