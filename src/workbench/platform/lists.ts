import { Type } from '#base/json-schema.ts';
import { choice, named, plainText, requestInstantSchema, shape, text, yesNo } from '#base/shapes.ts';
import type { Caller } from '#checkout/access/caller.ts';
import {
  createTaggedOperations,
  declareJsonAnswer,
  declareJsonBody,
  declareOperation,
  type ReadableBody,
} from '#checkout/http/operation/operation.ts';
import type { Parameter } from '#checkout/http/operation/parameter.ts';
import { requireContentType } from '#checkout/http/request/body.ts';
import {
  createBadRequestProblem,
  declareRefusal,
  HttpProblem,
  MALFORMED_BODY,
  runRefusingKnownErrors,
} from '#checkout/http/request/problems.ts';
import { toEpochMs } from '#decision/payer/instant.ts';
import { isName, LIST_NAME_MESSAGE, NAME_CHARACTERS_MAX, NAME_PATTERN } from '#decision/rules/rule-set.ts';
import { findListContentFault, listedAttributeSchema, listKindSchema } from '#decision/shared-lists.ts';
import { findCoveringRange } from '#workbench/lists/covering-range.ts';
import {
  ENTRY_EFFECTS,
  type ListAndAuthor,
  ListRefusal,
  REASON_CHARACTERS_MAX,
} from '#workbench/lists/list-editor.ts';
import { answerLines, declareLineResult, LINES_MAX, LINES_MEDIA_TYPE } from './lines.ts';
import {
  editListByLines,
  LIST_CURSOR,
  ListEntriesSchema,
  ListEntryViewSchema,
  ListLineSchema,
  SharedListSchema,
  SharedListsSchema,
  toEntriesView,
  toEntryView,
  toListsView,
  toListView,
} from './list-entries.ts';
import * as query from './parameters.ts';
import type { PlatformOperationParts } from './parts.ts';
import { TOO_MANY_AUDITED_CHANGES, UNKNOWN_LIST } from './refusals.ts';

const BAD_LIST_NAME = declareRefusal(
  'bad-list-name',
  'The name in the path is not a valid name of a list.',
  (detail: string) => createBadRequestProblem(detail),
  LIST_NAME_MESSAGE,
);

const LIST_IN_PATH: Parameter<string> = {
  name: 'list',
  in: 'path',
  required: true,
  description: 'The name of the list',
  schema: { type: 'string', pattern: NAME_PATTERN, maxLength: NAME_CHARACTERS_MAX },
  read: ({ params }) => {
    const list = params['list'] ?? '';
    if (isName(list)) return list;
    throw BAD_LIST_NAME.problem(LIST_NAME_MESSAGE);
  },
};

/**
 * The parameter for the value that a request is about. The value is in the query, because an address range has a
 * slash, which no path carries unchanged.
 */
const LISTED_VALUE = query.requiredTextParameter('value', 'As it is');

const LIMIT = query.limitParameter();
const AFTER_LIST = query.afterParameter(LIST_CURSOR);
const AFTER_CHANGE = query.afterParameter(query.NUMBER_CURSOR);

const VALUE = query.textParameter('value', 'Only the entry for this value');

export const readLists = declareOperation({
  route: 'get /v1/platform/lists',
  command: {
    name: 'lists show',
    columns: {
      LIST: 'list',
      KIND: 'kind',
      ENTRIES: 'entries',
      ENDED: 'ended',
      CHANGED: 'changedAt',
      OF: 'of',
    },
  },
  summary: 'List the shared lists',
  description:
    'Lists that rules check with the fact `listed`, and that change without a release. Lists of the whole installation are named, too; only its own keys see their entries.',
  grant: 'lists:read',
  parameters: [AFTER_LIST, LIMIT],
  answers: declareJsonAnswer('As this node has them', SharedListsSchema),
  answer: async ({ ctx, caller: { platform } }, { lists, clock }: PlatformOperationParts) =>
    toListsView(lists, platform, { now: clock(), after: AFTER_LIST.read(ctx), limit: LIMIT.read(ctx) }),
});

export const readListEntries = declareOperation({
  route: 'get /v1/platform/lists/{list}/entries',
  command: {
    name: 'lists show',
    summary: 'print all lists, or the entries of one',
    words: ['list'],
    columns: { VALUE: 'value', ADDED: 'addedAt', ENDS: 'ends', BY: 'who', REASON: 'reason' },
  },
  summary: 'List the entries of a shared list',
  description:
    'Lists entries, newest first. Fingerprints, single addresses and values of attributes are shown as an HMAC; `value` finds the entry of one value.',
  grant: 'lists:read',
  parameters: [LIST_IN_PATH, VALUE, AFTER_CHANGE, LIMIT],
  answers: declareJsonAnswer('As this node has them', ListEntriesSchema),
  refusals: [BAD_LIST_NAME, UNKNOWN_LIST],
  answer: async ({ ctx, caller: { platform } }, parts: PlatformOperationParts) => {
    const { lists, listEditor, pseudonym, clock } = parts;
    const name = LIST_IN_PATH.read(ctx);
    const wanted = VALUE.read(ctx);
    const page = { after: AFTER_CHANGE.read(ctx), limit: LIMIT.read(ctx), now: clock(), editor: listEditor };
    const content = await listEditor.requireContent(platform, name);
    const view = toEntriesView(name, content, lists.copy.findEntriesOfList(platform, name), page);
    if (wanted === null) return view;
    const entry = listEditor.find(platform, name, wanted);
    if (entry !== null) return { ...view, entries: [toEntryView(entry, page)], next: null };
    const asked = { owner: platform, list: name, now: page.now };
    const range = findCoveringRange(lists.copy, pseudonym, asked, wanted);
    return { ...view, entries: [], ...(range && { coveredBy: toEntryView(range, page) }), next: null };
  },
});

const OTHER_KIND = declareRefusal(
  'other-kind',
  'The list exists with another kind or attribute, or there are too many lists.',
  (detail: string) => new HttpProblem(409, 'not for this list', detail),
  'The list blocked-devices holds entries of kind fingerprint; make a list with another name.',
);

const NAMED = { properties: { attribute: { not: { enum: [null, ''] } } }, required: ['attribute'] };

const ListBodySchema = Type.Object(
  { kind: listKindSchema, attribute: Type.Optional(listedAttributeSchema) },
  {
    told: {
      if: { properties: { kind: { const: 'attribute' } } },
      // biome-ignore lint/suspicious/noThenProperty: a JSON Schema names it so.
      then: NAMED,
      else: { not: NAMED },
    },
  },
);

export const makeList = declareOperation({
  route: 'put /v1/platform/lists/{list}',
  command: {
    name: 'lists make',
    summary: 'make a list, which must exist before entries are put on it',
    words: ['list'],
  },
  summary: 'Make a shared list',
  description:
    'Sets the kind of its entries, which cannot be changed later; entries of a list that was not made are refused. Making the same list again changes nothing. A list of kind attribute holds values of one attribute: a request is on the list if it, or a score of the last 24 hours, has such a value, and the rule set declares the attribute.',
  grant: 'lists',
  parameters: [LIST_IN_PATH],
  body: declareJsonBody('ListBody', ListBodySchema),
  answers: declareJsonAnswer('The list', SharedListSchema),
  refusals: [BAD_LIST_NAME, OTHER_KIND, TOO_MANY_AUDITED_CHANGES],
  answer: async ({ ctx, caller, body }, { lists, listEditor, clock }: PlatformOperationParts) => {
    const edited = toEditedList(caller, LIST_IN_PATH.read(ctx));
    const { kind, attribute = null } = await body();
    const fault = findListContentFault({ kind, attribute });
    if (fault !== null) throw MALFORMED_BODY.problem('/attribute', fault);
    const made = await runRefusingKnownErrors(
      () => listEditor.createList(edited, kind, attribute),
      OTHER_KIND.problem,
      ListRefusal,
    );
    return toListView(lists, made, clock());
  },
});

const ListEntryBodySchema = Type.Object({
  reason: text(REASON_CHARACTERS_MAX, 'The reason, for whoever reads it later', 'shared by a ring'),
  expiresAt: Type.Optional(requestInstantSchema),
});

const NOT_FOR_LIST = declareRefusal(
  'not-for-list',
  'The list cannot take this entry: the address or range is not valid, the end is in the past, or the list is full.',
  (detail: string) => new HttpProblem(422, 'not for this list', detail),
  'expiresAt is in the past; leave it out for an entry without an end.',
);

const REASON = query.textParameter('reason', 'Why it is removed');

export const ListEntryRemovalSchema = named(
  'ListRemoval',
  shape('What a removal did', {
    removed: yesNo('False: it was not on the list, as when the same request is sent again'),
  }),
);

function toEditedList(caller: Caller, list: string): ListAndAuthor {
  return { owner: caller.platform, list, who: caller.actor.text };
}

export const putListEntry = declareOperation({
  route: 'put /v1/platform/lists/{list}/entries',
  command: {
    name: 'lists add',
    summary: 'put a value on a list, or renew its entry',
    words: ['list', 'value'],
  },
  summary: 'Put a value on a shared list',
  description:
    'Adds the value, or renews its reason and end. Every node has the change within 2 s. A fingerprint, a single address or the value of an attribute is stored only as an HMAC, a range of addresses in clear; an IPv6 address counts as its /64.',
  grant: 'lists',
  parameters: [LIST_IN_PATH, LISTED_VALUE],
  body: declareJsonBody('ListEntryBody', ListEntryBodySchema),
  answers: declareJsonAnswer('The entry as it is kept', ListEntryViewSchema),
  refusals: [BAD_LIST_NAME, UNKNOWN_LIST, NOT_FOR_LIST, TOO_MANY_AUDITED_CHANGES],
  answer: async ({ ctx, caller, body }, { listEditor: editor, clock }: PlatformOperationParts) => {
    const edited = toEditedList(caller, LIST_IN_PATH.read(ctx));
    const named = LISTED_VALUE.read(ctx);
    const { reason, expiresAt } = await body();
    const put = () => editor.put(edited, { value: named, reason, expiresAt: toEpochMs(expiresAt) });
    const entry = await runRefusingKnownErrors(put, NOT_FOR_LIST.problem, ListRefusal);
    return toEntryView(entry, { now: clock(), editor });
  },
});

export const removeListEntry = declareOperation({
  route: 'delete /v1/platform/lists/{list}/entries',
  command: {
    name: 'lists remove',
    summary: 'remove a value from a list',
    words: ['list', 'value'],
  },
  summary: 'Remove a value from a shared list',
  description: 'Every node has the change within 2 s. The audit keeps who did it and why.',
  grant: 'lists',
  parameters: [LIST_IN_PATH, LISTED_VALUE, REASON],
  answers: declareJsonAnswer('Whether it was on the list', ListEntryRemovalSchema),
  refusals: [BAD_LIST_NAME, UNKNOWN_LIST, TOO_MANY_AUDITED_CHANGES],
  answer: async ({ ctx, caller }, { listEditor }: PlatformOperationParts) => {
    const edited = toEditedList(caller, LIST_IN_PATH.read(ctx));
    return { removed: await listEditor.remove(edited, LISTED_VALUE.read(ctx), REASON.read(ctx)) };
  },
});

const ListLineResultSchema = declareLineResult('ListLineResult', {
  value: plainText('As it was sent', 'device-1'),
  result: choice(ENTRY_EFFECTS, 'absent: the value to remove was not on the list'),
});

/** A body of lines, which are read while they are answered. */
const LINES_BODY: ReadableBody<'lines'> = {
  content: {
    [LINES_MEDIA_TYPE]: { name: 'ListLine', example: { value: 'device-1', reason: 'a ring' } },
  },
  shapes: { ListLine: ListLineSchema },
  onlyLines: true,
  read: async (req) => {
    requireContentType(req, LINES_MEDIA_TYPE);
    return 'lines';
  },
};

export const importListEntries = declareOperation({
  route: 'post /v1/platform/lists/{list}/entries',
  command: {
    name: 'lists import',
    summary: 'put many values on a list, one per line',
    words: ['list', 'file'],
  },
  summary: 'Change many entries of a shared list',
  description: `Up to ${LINES_MAX} as one JSON object a line, each answered by a line in the same sequence. A line puts a value on the list, or removes it with \`remove\`; a bad line does not stop the others. The audit notes for every hundred lines how many entries were added, changed and removed, with a digest; each entry keeps its own reason.`,
  grant: 'lists',
  parameters: [LIST_IN_PATH],
  body: LINES_BODY,
  answers: {
    200: {
      description: 'One line for each line sent',
      content: { [LINES_MEDIA_TYPE]: ListLineResultSchema },
    },
  },
  refusals: [BAD_LIST_NAME, UNKNOWN_LIST, TOO_MANY_AUDITED_CHANGES],
  answer: async (asked, { listEditor, audit }: PlatformOperationParts) => {
    const edited = toEditedList(asked.caller, LIST_IN_PATH.read(asked.ctx));
    await asked.body();
    await listEditor.requireContent(edited.owner, edited.list);
    audit.admit(edited.who, 'list');
    return answerLines(asked, (lines, grant) => editListByLines(lines, listEditor, edited, grant));
  },
});

export const LIST_OPERATIONS = createTaggedOperations('Lists', {
  readLists,
  makeList,
  readListEntries,
  importListEntries,
  putListEntry,
  removeListEntry,
});
