import { Readable } from 'node:stream';
import { Type } from '#base/json-schema.ts';
import * as s from '#base/shapes.ts';
import {
  createTaggedOperations,
  declareJsonAnswer,
  declareJsonBody,
  NO_CONTENT,
} from '#checkout/http/operation/operation.ts';
import {
  createNotFoundProblem,
  createTooManyRequestsProblem,
  declareRefusal,
  HttpProblem,
} from '#checkout/http/request/problems.ts';
import { WAITS_ENDED_BY_PERSON_MAX } from '#checkout/scoring/ended-waits.ts';
import { WAITS_ENDED_PER_PAYER_MAX } from '#decision/payer/changes.ts';
import { BindingSchema, OverrideSchema, overrideGroupSchema } from '#decision/payer/client-state.ts';
import { toEpochMs } from '#decision/payer/instant.ts';
import { ClientExportSchema } from '#workbench/payers/client-export.ts';
import {
  ClientLinksSchema,
  createLinksAsk,
  DEFAULT_LINKS_BOUNDS,
  MAX_LINKS_BOUNDS,
} from '#workbench/payers/client-links.ts';
import { DECISION_REFUSALS, requireDecision, UNKNOWN_DECISION } from '#workbench/platform/decisions.ts';
import * as query from '#workbench/platform/parameters.ts';
import type { PlatformOperationParts } from '#workbench/platform/parts.ts';
import { TOO_MANY_AUDITED_CHANGES } from '#workbench/platform/refusals.ts';
import {
  BINDING_AUDIT_ACTION,
  noteClientChange,
  OVERRIDE_AUDIT_ACTION,
  WAIT_END_AUDIT_ACTION,
} from './audited-change.ts';
import { ClientHistorySchema, HISTORY_CURSOR, toHistoryView } from './client-history.ts';
import {
  declareClientApprovalOperation,
  declareClientOperation,
  type GrantedClientRequest,
} from './client-id-key.ts';
import { ClientSchema, toClientView } from './client-view.ts';

const AFTER = query.afterParameter(HISTORY_CURSOR);
const LIMIT = query.limitParameter();

const UNKNOWN_CLIENT = declareRefusal('unknown-client', 'Nothing is known of the client.', () =>
  createNotFoundProblem('Nothing is known of this client.'),
);

const readClient = declareClientOperation({
  route: 'get /v1/platform/client',
  summary: 'What is known of a client',
  description:
    'State in words, facts now, what the next request would be answered, last decisions. Asking changes nothing. Fingerprints and IPs are not kept.',
  grant: 'clients:read',
  answers: declareJsonAnswer('The current state', ClientSchema),
  refusals: [UNKNOWN_CLIENT],
  answer: async ({ caller, clientIdKey }, { records, audit, clientKeys }: PlatformOperationParts) => {
    const { platform } = caller;
    const view = await records.findClient(platform, clientIdKey);
    if (view === null) throw UNKNOWN_CLIENT.problem();
    await audit.noteReading(caller.actor.text, clientKeys.of(platform, clientIdKey));
    return toClientView(platform, clientIdKey, view);
  },
});

const readClientHistory = declareClientOperation({
  route: 'get /v1/platform/client/history',
  summary: 'What happened to a client',
  description:
    'Scores, verdicts, outcomes, bindings and overrides as they were accepted, newest first, each with the members that its `kind` has. Bindings and overrides that were lifted are null. Reports that say what was known already are left out; `report` is one that says something else than what holds. Fingerprints and IPs are not kept.',
  grant: 'clients:read',
  isSearch: true,
  parameters: [AFTER, LIMIT],
  answers: declareJsonAnswer('The entries found; `complete` says whether they are all', ClientHistorySchema),
  refusals: [UNKNOWN_CLIENT],
  answer: async ({ ctx, caller, clientIdKey }, { records, audit, clientKeys }: PlatformOperationParts) => {
    const { platform } = caller;
    const page = { limit: LIMIT.read(ctx), after: AFTER.read(ctx) };
    const history = await records.findHistory(platform, clientIdKey, page);
    if (history === null) throw UNKNOWN_CLIENT.problem();
    await audit.noteReading(caller.actor.text, clientKeys.of(platform, clientIdKey));
    return toHistoryView(clientIdKey, history);
  },
});

const DAYS = query.wholeNumberParameter(
  'days',
  { min: 1, default: DEFAULT_LINKS_BOUNDS.days, max: MAX_LINKS_BOUNDS.days },
  'How many days to look back',
);

const DEPTH = query.wholeNumberParameter(
  'depth',
  { min: 1, default: DEFAULT_LINKS_BOUNDS.depth, max: MAX_LINKS_BOUNDS.depth },
  '1: clients who share a device or address with this one; 2: also clients who share one with those',
);

const AS_OF = query.instantParameter(
  'asOf',
  'Show what was known at this time, and look back `days` from it; absent: now',
);

const CLIENTS = query.limitParameter({
  default: DEFAULT_LINKS_BOUNDS.clients,
  max: MAX_LINKS_BOUNDS.clients,
});

export const readClientLinks = declareClientOperation({
  route: 'get /v1/platform/client/links',
  command: {
    name: 'links',
    summary: 'list who shares devices and addresses with a client, and whom a block would refuse',
    words: ['clientIdKey'],
  },
  summary: 'List who shares devices and addresses with a client',
  description:
    'Lists the clients of the platform who were seen on the same devices and addresses, what became of their orders, whom a list could block together, and which payers that would refuse. Devices are shown only as an HMAC.',
  grant: 'clients:read',
  isSearch: true,
  parameters: [DAYS, DEPTH, AS_OF, CLIENTS],
  answers: declareJsonAnswer('The clients found; `cut` says what is not shown', ClientLinksSchema),
  refusals: [UNKNOWN_CLIENT],
  answer: async ({ ctx, caller, clientIdKey }, parts: PlatformOperationParts) => {
    const { records, lists, names, audit, clientKeys, clock } = parts;
    const { platform, actor } = caller;
    const wanted = { days: DAYS.read(ctx), depth: DEPTH.read(ctx), clients: CLIENTS.read(ctx) };
    const ask = createLinksAsk(wanted, AS_OF.read(ctx), clock());
    const links = await records.findLinks(platform, clientIdKey, ask, { lists: lists.copy, names });
    if (links === null) throw UNKNOWN_CLIENT.problem();
    await audit.noteReading(actor.text, clientKeys.of(platform, clientIdKey));
    return links;
  },
});

export const exportClient = declareClientOperation({
  route: 'get /v1/platform/client/export',
  command: {
    name: 'clients export',
    summary: 'print one JSON object with all that is held on a client',
    words: ['clientIdKey'],
  },
  summary: 'All that is held on a client, as one document',
  description:
    'Contains state, shared list entries, proposals, audit, decisions and everything else that happened, from store and archive. The document is sent while it is read; one without its end is incomplete.',
  grant: 'clients:read',
  answers: declareJsonAnswer('The document, also when nothing is held', ClientExportSchema),
  answer: async ({ ctx, caller, clientIdKey, inTurn, isStillGranted }, parts: PlatformOperationParts) => {
    const client = parts.clientKeys.of(caller.platform, clientIdKey);
    const pieces = parts.records.streamExport(parts, client, caller.actor.text);
    const end = { done: true, value: undefined } as const;
    const next = () => inTurn(() => pieces.next(), end);
    // The first piece is read before the document begins, so that a refusal can still be answered.
    const first = await next();
    ctx.type = 'json';
    return Readable.from(
      (async function* () {
        for (let piece = first; piece.done !== true; piece = await next()) {
          yield piece.value;
          if (!(await isStillGranted())) throw new Error('the access key ended while the answer was sent');
        }
      })(),
    );
  },
});

const TracesLeftSchema = s.named(
  'TracesLeft',
  s.shape('What is still left of an erased client', {
    traces: s.plainText(
      'Which part of the store still holds bytes of the client, and until when',
      'The payer is erased, but the write-ahead log of SQLite still holds bytes of it, because another process is reading the file.',
    ),
  }),
);

const TRACES_LEFT = {
  description: 'The client is erased and can no longer be found, but bytes of it are still on the disk',
  content: { 'application/json': TracesLeftSchema },
};

const eraseClient = declareClientOperation({
  route: 'delete /v1/platform/client',
  summary: 'Erase a client',
  description:
    'Removes everything that is kept about the client: state, decisions, outcomes, stored answers, journal entries, shared list entries, and stored backtests that may name its orders.',
  grant: 'erase',
  answers: { ...NO_CONTENT, 202: TRACES_LEFT },
  answer: async ({ ctx, caller, clientIdKey }, { erasure, clientKeys }: PlatformOperationParts) => {
    const traces = await erasure.erase(caller.actor.text, clientKeys.of(caller.platform, clientIdKey));
    if (traces === null) return undefined;
    ctx.status = 202;
    return { traces };
  },
});

const BindingBodySchema = Type.Object({
  requisiteRef: s.key('Reference to the bound requisite', 'requisite-7'),
  acceptorKeys: Type.Array(s.key('An acceptor', 'acceptor-1'), { minItems: 1, maxItems: 20 }),
  method: Type.Optional(s.key('The only method that the binding fits; absent: all')),
  expiresAt: Type.Optional(s.requestInstantSchema),
});

const bindClient = declareClientOperation({
  route: 'put /v1/platform/client/binding',
  summary: 'Bind a client to a requisite',
  description: 'The client becomes STICKY, and is shown this requisite when no wait is due.',
  grant: 'clients',
  body: declareJsonBody('BindingBody', BindingBodySchema),
  answers: declareJsonAnswer('The binding as it is kept', BindingSchema),
  answer: async ({ caller, body, clientIdKey }, parts: PlatformOperationParts) => {
    const { requisiteRef, acceptorKeys, method, expiresAt } = await body();
    const binding = { requisiteRef, acceptorKeys, method: method ?? null, expiresAt: toEpochMs(expiresAt) };
    const change = await parts.service.setBinding(caller.platform, clientIdKey, binding);
    return noteClientChange(parts, caller, BINDING_AUDIT_ACTION, clientIdKey, change);
  },
});

const unbindClient = declareClientOperation({
  route: 'delete /v1/platform/client/binding',
  summary: 'Remove the binding of a client',
  description: 'The client is no longer bound.',
  grant: 'clients',
  answers: NO_CONTENT,
  answer: async ({ caller, clientIdKey }, parts: PlatformOperationParts) => {
    const change = await parts.service.setBinding(caller.platform, clientIdKey, null);
    await noteClientChange(parts, caller, BINDING_AUDIT_ACTION, clientIdKey, change);
  },
});

const OverrideBodySchema = Type.Object({
  group: overrideGroupSchema,
  reason: s.text(1000, 'The reason, for whoever reads it later', 'chargebacks'),
  expiresAt: Type.Optional(s.requestInstantSchema),
});

const overrideClient = declareClientApprovalOperation({
  route: 'put /v1/platform/client/override',
  summary: 'Block or trust a client',
  description:
    "A person's decision, which takes precedence over what the rules count. It does not end a wait.",
  grant: 'clients',
  body: declareJsonBody('OverrideBody', OverrideBodySchema),
  answers: declareJsonAnswer('The override as it is kept', OverrideSchema),
  refusals: [TOO_MANY_AUDITED_CHANGES],
  gate: (asked) => readOverride(asked),
  answer: async (asked, { approvals }: PlatformOperationParts) => {
    const { platform, actor } = asked.caller;
    return (await approvals.setOverride({ platform, who: actor.text }, await readOverride(asked))).after;
  },
});

async function readOverride({
  body,
  clientIdKey,
}: GrantedClientRequest<s.ValueOf<typeof OverrideBodySchema>>) {
  const { expiresAt, ...override } = await body();
  return { what: 'override', clientIdKey, ...override, expiresAt: toEpochMs(expiresAt) } as const;
}

const liftOverride = declareClientOperation({
  route: 'delete /v1/platform/client/override',
  summary: 'Remove the override of a client',
  description: 'The rules decide about the client again.',
  grant: 'clients',
  answers: NO_CONTENT,
  refusals: [TOO_MANY_AUDITED_CHANGES],
  answer: async ({ caller, clientIdKey }, parts: PlatformOperationParts) => {
    parts.audit.admit(caller.actor.text, 'override');
    const change = await parts.service.setOverride(caller.platform, clientIdKey, null, caller.actor.text);
    await noteClientChange(parts, caller, OVERRIDE_AUDIT_ACTION, clientIdKey, change);
  },
});

const WaitEndSchema = s.named(
  'WaitEnd',
  s.shape('What came of it', {
    ended: s.yesNo('False: this wait had already been ended within the last 24 hours'),
  }),
);

const DECISION_ID = '0Zr2qR0m3bqLJ1hVtYHcKg.4.mb2k3j8w';

const NO_WAIT_DUE = declareRefusal('no-wait-due', 'The client has no wait to end.', () =>
  createUnknownWaitProblem('This client does not have to wait and may ask again now. Nothing was changed.'),
);

const NEWER_WAIT = declareRefusal(
  'newer-wait',
  'The client waits because of another decision.',
  (decisionId: string) =>
    createUnknownWaitProblem(
      `The current wait was imposed by the decision ${decisionId}. Nothing was changed; look at what happened since, and send the id of that decision.`,
    ),
  DECISION_ID,
);

function createUnknownWaitProblem(detail: string): HttpProblem {
  return new HttpProblem(409, 'no such wait', detail);
}

const TOO_MANY_OF_PAYER = `${WAITS_ENDED_PER_PAYER_MAX} waits of this client were ended in the last 24 hours, which is the limit`;

const TOO_MANY_WAITS_ENDED = declareRefusal(
  'too-many-waits-ended',
  'Too many waits of this client, or by this person, were ended within 24 hours.',
  (whose: string) =>
    createTooManyRequestsProblem(
      `${whose}; nothing was changed. The payer waits until the wait is over.`,
      3600,
    ),
  TOO_MANY_OF_PAYER,
);

const endWait = declareClientOperation({
  route: 'post /v1/platform/client/wait/end',
  summary: 'End a wait of a client now',
  description: `The client may ask again at once, and gets a requisite if the rules have no other reason to refuse. The level of the
ladder, the open attempt, counters and a block stay. The payer's page does not learn of it, so tell the payer to ask
again. At most ${WAITS_ENDED_PER_PAYER_MAX} waits of a client and ${WAITS_ENDED_BY_PERSON_MAX} by a person may be ended in 24 hours.`,
  grant: 'waits',
  body: declareJsonBody(
    'WaitEndBody',
    Type.Object({
      decisionId: s.key('The decision whose wait is to end, as in X-Decision-Id', DECISION_ID),
      reason: s.text(1000, 'The reason, for whoever reads it later', 'the payer called'),
    }),
  ),
  answers: declareJsonAnswer('The wait is over, also when it was ended before', WaitEndSchema),
  refusals: [...DECISION_REFUSALS, NO_WAIT_DUE, NEWER_WAIT, TOO_MANY_WAITS_ENDED],
  answer: async ({ caller, body, clientIdKey }, parts: PlatformOperationParts) => {
    const { service, records } = parts;
    const { platform, actor } = caller;
    const { decisionId, reason } = await body();
    const decision = await requireDecision(platform, decisionId, records);
    if (decision.clientIdKey !== clientIdKey) throw UNKNOWN_DECISION.problem();
    if (decision.verdict !== 'WAIT') throw NO_WAIT_DUE.problem();
    const effect = await service.endWait(decision, reason, actor);
    switch (effect) {
      case 'ended':
      case 'repeated': {
        const before = { decisionId, waitUntil: decision.ladderAfter.waitUntil };
        await noteClientChange(
          parts,
          caller,
          WAIT_END_AUDIT_ACTION,
          clientIdKey,
          { before, after: null },
          reason,
        );
        return { ended: effect === 'ended' };
      }
      case 'notDue':
        throw NO_WAIT_DUE.problem();
      case 'newer':
        throw NEWER_WAIT.problem(
          (await service.imposedWait(platform, clientIdKey))?.decisionId ?? 'a newer decision',
        );
      case 'tooManyOfPayer':
        throw TOO_MANY_WAITS_ENDED.problem(TOO_MANY_OF_PAYER);
      case 'tooManyOfPerson':
        throw TOO_MANY_WAITS_ENDED.problem(
          `You ended ${WAITS_ENDED_BY_PERSON_MAX} waits in the last 24 hours, which is the limit for one person`,
        );
      default:
        return effect satisfies never;
    }
  },
});

export const CLIENT_OPERATIONS = createTaggedOperations('Clients', {
  readClient,
  readClientHistory,
  readClientLinks,
  exportClient,
  eraseClient,
  bindClient,
  unbindClient,
  overrideClient,
  liftOverride,
  endWait,
});
