import { Type } from '#base/json-schema.ts';
import {
  createMomentWriter,
  epochMs,
  list,
  named,
  nullable,
  oneOf,
  plainText,
  shape,
  yesNo,
} from '#base/shapes.ts';
import { ListEntrySchema } from '#checkout/lists/list-entry.ts';
import { DecisionSchema } from '#decision/decision.ts';
import { toReadableAttributeValues } from '#decision/payer/attribute-values.ts';
import type { ClientKey } from '#decision/payer/client-key.ts';
import { BindingSchema, type ClientState, OverrideSchema } from '#decision/payer/client-state.ts';
import { unpackDayTallies } from '#decision/payer/day-tallies.ts';
import { listRememberedDevices } from '#decision/payer/known-devices.ts';
import type { DevicePseudonymConverter } from '#decision/shared-lists.ts';
import type { DecisionLookup } from '#history/archive/read/decision-lookup.ts';
import {
  BindingEntrySchema,
  OutcomeEntrySchema,
  OverrideEntrySchema,
  ScoreEntrySchema,
} from '#state/journal.ts';
import type { Store } from '#state/store.ts';
import { type Audit, AuditEntrySchema } from '#workbench/access/audit.ts';
import { ProposalSchema, Proposals, toProposalView } from '#workbench/approvals/proposals.ts';
import type { ListEditor } from '#workbench/lists/list-editor.ts';

// Only lists of clients name a client, and such lists are about no attribute.
const { owner: _owner, keys: _keys, attribute: _attribute, ...listed } = ListEntrySchema.properties;

export const ClientExportSchema = named(
  'ClientExport',
  shape('All that is held on a client', {
    platform: plainText('Whose client it is', 'shop'),
    clientIdKey: plainText('As the caller chose it', 'ann'),
    at: epochMs('When it was read'),
    state: nullable(
      Type.Record(Type.Unknown(), {
        description:
          'What decides next time, member by member; devices as pseudonyms and orders as tokens; null: none',
      }),
    ),
    lists: list(shape('An entry of a shared list of the platform', listed), 'Where it is listed'),
    proposals: list(ProposalSchema, 'What was proposed about it'),
    audit: list(AuditEntrySchema, 'Who did what about it or looked at it, oldest first'),
    decisions: list(DecisionSchema, 'All that are kept, newest first'),
    history: list(
      oneOf(
        'kind',
        {
          score: named('KeptScore', ScoreEntrySchema),
          outcome: named('KeptOutcome', OutcomeEntrySchema),
          binding: named('KeptBinding', BindingEntrySchema),
          override: named('KeptOverride', OverrideEntrySchema),
        },
        'An entry as it is kept; `kind` says which members it has',
      ),
      'What else happened, as it is kept, newest first; devices as pseudonyms',
    ),
    complete: yesNo(
      'Nothing is missing since the first contact; otherwise older parts are kept no longer, cannot be read, or lie in an archive that this node does not have',
    ),
  }),
);

export interface ClientExportParts {
  readonly store: Store;
  readonly decisions: DecisionLookup;
  readonly listEditor: ListEditor;
  readonly names: DevicePseudonymConverter;
  readonly audit: Audit;
  /** The time in epoch ms. */
  readonly clock: () => number;
}

/** Yields the JSON of a `ClientExport` piece by piece. Before the first piece, the reading is noted in the audit. */
export async function* streamClientExport(
  { store, decisions, listEditor, names, audit, clock }: ClientExportParts,
  client: ClientKey,
  who: string,
): AsyncGenerator<string> {
  const { platform, clientIdKey } = client;
  await audit.noteReading(who, client);
  const { state, stamp } = await store.load(client);
  const lists = await listEditor.listEntriesOfClient(platform, clientIdKey);
  const proposals = new Proposals(store.registers, audit, store.clientKeys, clock);
  const head = {
    platform,
    clientIdKey,
    at: clock(),
    state: stamp.raw === null ? null : unpackState(state),
    lists: lists.map(({ owner, keys, attribute, id, version, ...entry }) => entry),
    proposals: (await proposals.listAbout(client)).map(toProposalView),
  };
  const naming = createDeviceReplacer((id) => names.nameOf(platform, id));
  yield JSON.stringify(createMomentWriter(ClientExportSchema)(head), naming).slice(0, -1);
  const isAuditWhole = yield* streamMember('audit', audit.about(client));
  const seen = { oldestAt: Number.POSITIVE_INFINITY };
  const areDecisionsWhole = yield* streamMember(
    'decisions',
    noteOldest(decisions.readDecisionsOfClient(client), seen),
  );
  const isHistoryWhole = yield* streamMember(
    'history',
    noteOldest(decisions.readOtherEntries(client), seen),
    naming,
  );
  const isFromTheFirst = seen.oldestAt <= (state.firstSeenAt ?? Number.POSITIVE_INFINITY);
  yield `,"complete":${isAuditWhole && areDecisionsWhole && isHistoryWhole && isFromTheFirst}}`;
}

const SHOWN_DEVICE = shape('A device', { firstShownAt: epochMs('When it was first shown') });

/** The moments of a state. Its other members are shown unchanged. */
const STATE_MOMENTS = shape('What decides next time', {
  firstSeenAt: epochMs('The first contact'),
  lastAt: epochMs('The last one'),
  lastVerdictAt: epochMs('The last verdict'),
  ladder: shape('How long the client waits', { waitUntil: epochMs('The end of the wait') }),
  events: list(shape('A request', { at: epochMs('When') }), 'The newest'),
  outcomes: shape('What came of orders', {
    recent: list(shape('An order', { occurredAt: epochMs('When') }), 'The newest'),
    older: shape('The others', {
      lastPaidAt: epochMs('The last payment'),
      lastUnpaidAt: epochMs('The last that failed'),
    }),
  }),
  hints: shape('Of scores', {
    scoredAt: epochMs('The last score'),
    shown: list(shape('A device', { lastAt: epochMs('When it was last shown') }), 'Devices'),
    asked: list(shape('A score', { at: epochMs('When') }), 'The newest'),
  }),
  knownDevices: shape('Devices', {
    fingerprints: list(SHOWN_DEVICE, 'Browsers'),
    ips: list(SHOWN_DEVICE, 'Addresses'),
  }),
  attributeValues: Type.Record(list(shape('A value', { at: epochMs('When it was last sent') }), 'Values'), {
    description: 'By the name of the attribute',
  }),
  binding: BindingSchema,
  override: OverrideSchema,
  stage: shape('Of a trial', { since: epochMs('When it began') }),
  endedWaits: list(shape('A wait that was ended', { at: epochMs('When') }), 'Of late'),
});

/** Unpacks the lists of a state and writes its moments as text, so that people can read them. */
function unpackState(state: ClientState): unknown {
  const { knownDevices, dayTallies, attributeValues, lastAt } = state;
  return createMomentWriter(STATE_MOMENTS)({
    ...state,
    knownDevices: {
      fingerprints: listRememberedDevices(knownDevices.fingerprints, lastAt),
      ips: listRememberedDevices(knownDevices.ips, lastAt),
    },
    attributeValues: toReadableAttributeValues(attributeValues),
    dayTallies: unpackDayTallies(dayTallies).map(({ amounts, ...tally }) => ({
      ...tally,
      amounts: Object.fromEntries(amounts),
    })),
  });
}

type Pages<Item, End> = AsyncGenerator<readonly Item[], End>;

type Replacer = (member: string, value: unknown) => unknown;

/** Creates the replacer for JSON that writes devices under the platform's own names. */
function createDeviceReplacer(nameOf: (pseudonym: string) => string): Replacer {
  return (member, value) => {
    if (typeof value === 'string')
      return ['fingerprint', 'ip', 'id', 'formerId'].includes(member) ? nameOf(value) : value;
    return member === 'networks' && Array.isArray(value) ? value.map((one) => nameOf(String(one))) : value;
  };
}

/**
 * Yields the JSON of a member that is a list, one page at a time. Returns the value that `pages` returns at its end.
 */
async function* streamMember<End>(
  name: 'audit' | 'decisions' | 'history',
  pages: Pages<unknown, End>,
  replacer?: Replacer,
): AsyncGenerator<string, End> {
  const write = createMomentWriter(ClientExportSchema.properties[name]);
  yield `,${JSON.stringify(name)}:[`;
  let isFirst = true;
  for (;;) {
    const { value, done } = await pages.next();
    if (done === true) {
      yield ']';
      return value;
    }
    if (value.length === 0) continue;
    yield `${isFirst ? '' : ','}${JSON.stringify(write(value), replacer).slice(1, -1)}`;
    isFirst = false;
  }
}

/** Passes the pages on, and notes the time of the oldest item. */
async function* noteOldest<Item extends { readonly at: number }, End>(
  pages: Pages<Item, End>,
  seen: { oldestAt: number },
): Pages<Item, End> {
  for (;;) {
    const { value, done } = await pages.next();
    if (done === true) return value;
    for (const { at } of value) seen.oldestAt = Math.min(seen.oldestAt, at);
    yield value;
  }
}
