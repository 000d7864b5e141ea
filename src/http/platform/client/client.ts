import { actorOfKey } from '../../../access/actor.ts';
import { clientKey } from '../../../client/client-key.ts';
import type { EvidenceDesk } from '../../../evidence/desk/evidence-desk.ts';
import type { ListEditor } from '../../../lists/list-editor.ts';
import type { Records } from '../../../service/records.ts';
import type { ScoringService } from '../../../service.ts';
import { DONE, jsonAnswer } from '../../operation/operation.ts';
import { queryLimit } from '../../operation/parameters.ts';
import { notFound, refusal } from '../../request/problems.ts';
import type { AuditParts } from './audited.ts';
import { ClientHistorySchema, HISTORY_EXAMPLE, viewOfHistory } from './client-history.ts';
import { clientOperation } from './client-id-key.ts';
import { CLIENT_EXAMPLE, ClientSchema, viewOfClient } from './client-view.ts';

export interface ClientParts extends AuditParts {
  readonly service: ScoringService;
  readonly records: Records;
  readonly listEditor: ListEditor;
  readonly evidence?: EvidenceDesk;
}

/** How many entries one answer lists. */
const HISTORY_LISTED = { default: 100, max: 500 } as const;

const LIMIT = queryLimit(HISTORY_LISTED);

const UNKNOWN_CLIENT = refusal('unknownClient', 'Nothing is known of the client.', () =>
  notFound('Nothing is known of this client.'),
);

export const readClient = clientOperation({
  method: 'get',
  below: '',
  operationId: 'readClient',
  summary: 'What is known of a client',
  description: 'State in words, facts now, last decisions. Fingerprints and IPs are not kept.',
  grant: 'clients:read',
  answers: jsonAnswer('As it stands', ClientSchema, CLIENT_EXAMPLE),
  refusals: [UNKNOWN_CLIENT],
  answer: async ({ key, clientIdKey }, { records, audit }: ClientParts) => {
    const { platform } = key;
    const view = await records.client(platform, clientIdKey);
    if (view === null) throw UNKNOWN_CLIENT.problem();
    await audit.noteReading(actorOfKey(key), clientKey(platform, clientIdKey));
    return viewOfClient(platform, clientIdKey, view);
  },
});

export const readClientHistory = clientOperation({
  method: 'get',
  below: '/history',
  operationId: 'readClientHistory',
  summary: 'What happened to a client',
  description:
    'Scores, verdicts, outcomes, bindings and overrides as they were accepted, newest first, each with the members that its `kind` has. Bindings and overrides that were lifted are null. Outcomes that changed nothing are left out. Fingerprints and IPs are not kept.',
  grant: 'clients:read',
  isSearch: true,
  parameters: [LIMIT],
  answers: jsonAnswer(
    'As far back as is kept and wanted; `complete` says whether that is all',
    ClientHistorySchema,
    HISTORY_EXAMPLE,
  ),
  refusals: [UNKNOWN_CLIENT],
  answer: async ({ ctx, key, clientIdKey }, { records, audit }: ClientParts) => {
    const { platform } = key;
    const history = await records.history(platform, clientIdKey, LIMIT.read(ctx));
    if (history === null) throw UNKNOWN_CLIENT.problem();
    await audit.noteReading(actorOfKey(key), clientKey(platform, clientIdKey));
    return viewOfHistory(clientIdKey, history);
  },
});

export const eraseClient = clientOperation({
  method: 'delete',
  below: '',
  operationId: 'eraseClient',
  summary: 'Forgets a client',
  description:
    'State, decisions, outcomes, stored answers, journal entries, entries of shared lists, and kept backtests that may name its orders: all that is kept.',
  grant: 'erase',
  answers: DONE,
  refusals: [],
  answer: async ({ key, clientIdKey }, { service, audit, listEditor, evidence }: ClientParts) => {
    await service.erase(key.platform, clientIdKey);
    await listEditor.forgetClient(key.platform, clientIdKey);
    await evidence?.forgetOrders(key.platform);
    await audit.forget(actorOfKey(key), clientKey(key.platform, clientIdKey));
  },
});
