import type { ListEditor } from '../../../lists/list-editor.ts';
import type { ListNode } from '../../../lists/list-node.ts';
import type { Approvals } from '../../../service/approvals.ts';
import { jsonAnswer, operation } from '../../operation/operation.ts';
import { BAD_PARAMETER, type Parameter, queryLimit, queryText } from '../../operation/parameters.ts';
import { BAD_LIST_ADDRESS, LIST_IN_PATH } from './list-address.ts';
import {
  ENTRY_EXAMPLE,
  ListEntriesSchema,
  SharedListsSchema,
  viewOfEntries,
  viewOfEntry,
  viewOfLists,
} from './list-views.ts';

export interface ListParts {
  readonly lists: ListNode;
  readonly listEditor: ListEditor;
  readonly approvals: Approvals;
  readonly clock: () => number;
}

const LIMIT = queryLimit({ default: 100, max: 500 });

const VALUE = queryText('value', 'Only the entry for this value');

/** Where the page before ended. */
const BEFORE: Parameter<number> = {
  name: 'before',
  in: 'query',
  required: false,
  description: 'Only entries whose `change` is below this; that of the last entry of the page before',
  schema: { type: 'integer', minimum: 1 },
  read: (ctx) => {
    const text = queryText('before', '').read(ctx);
    if (text === null) return Number.POSITIVE_INFINITY;
    if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
    throw BAD_PARAMETER.problem('The parameter before must be a whole number from 1.');
  },
};

export const readLists = operation({
  method: 'get',
  path: '/v1/platform/lists',
  operationId: 'readLists',
  summary: 'The shared lists',
  description:
    'Lists that rules ask about with the fact `listed`, and that change without a release. Those of the whole installation are named, too; their entries are for its own keys.',
  tag: 'Lists',
  grant: 'lists:read',
  answers: jsonAnswer('As this node holds them', SharedListsSchema, {
    lists: [
      {
        list: 'blocked-devices',
        kind: 'fingerprint',
        entries: 214,
        ended: 3,
        changedAt: 1_795_255_200_000,
        ofInstallation: false,
      },
    ],
    ageMs: 312,
    isStale: false,
  }),
  refusals: [],
  answer: async ({ caller: { platform } }, { lists, clock }: ListParts) =>
    viewOfLists(lists, platform, clock()),
});

export const readListEntries = operation({
  method: 'get',
  path: '/v1/platform/lists/{list}/entries',
  operationId: 'readListEntries',
  summary: 'The entries of a shared list',
  description:
    'Newest first, in pages: `before` takes the `change` of the last entry of a page. Fingerprints and single addresses are shown by their HMAC; `value` finds one by itself.',
  tag: 'Lists',
  grant: 'lists:read',
  parameters: [LIST_IN_PATH, VALUE, BEFORE, LIMIT],
  answers: jsonAnswer('A list without entries is one that nobody has put anything on', ListEntriesSchema, {
    list: 'blocked-devices',
    kind: 'fingerprint',
    total: 1,
    entries: [ENTRY_EXAMPLE],
    complete: true,
  }),
  refusals: [BAD_LIST_ADDRESS, BAD_PARAMETER],
  answer: async ({ ctx, caller: { platform } }, { lists, listEditor, clock }: ListParts) => {
    const name = LIST_IN_PATH.read(ctx);
    const wanted = VALUE.read(ctx);
    const page = { before: BEFORE.read(ctx), limit: LIMIT.read(ctx), now: clock(), editor: listEditor };
    const view = viewOfEntries(name, lists.copy.list(platform, name), page);
    if (wanted === null) return view;
    const entry = listEditor.find(platform, name, wanted);
    return { ...view, entries: entry === null ? [] : [viewOfEntry(entry, page)], complete: true };
  },
});
