import type { PlatformNames } from '../../../decision/shared-lists.ts';
import type { ListNode } from '../../../lists/list-node.ts';
import { ClientLinksSchema, LINKS_DEFAULT, LINKS_MAX, linksAsk } from '../../../service/client-links.ts';
import type { Records } from '../../../service/records.ts';
import { AT_EXAMPLE } from '../../openapi/decision-shapes.ts';
import { jsonAnswer } from '../../operation/operation.ts';
import { queryInstant, queryLimit, queryWhole } from '../../operation/parameters.ts';
import { type AuditParts, UNKNOWN_CLIENT } from './client.ts';
import { clientOperation } from './client-id-key.ts';

const DAYS = queryWhole(
  'days',
  { min: 1, default: LINKS_DEFAULT.days, max: LINKS_MAX.days },
  'How many days are looked back over',
);

const DEPTH = queryWhole(
  'depth',
  { min: 1, default: LINKS_DEFAULT.depth, max: LINKS_MAX.depth },
  '1: whom the client shares something with; 2: also whom these share something with',
);

const AS_OF = queryInstant(
  'asOf',
  'What was known at this moment, from which `days` are looked back over; absent: now',
);

const CLIENTS = queryLimit({ default: LINKS_DEFAULT.clients, max: LINKS_MAX.clients });

const EXAMPLE_DEVICE = 'hmac:p2Yk4r0bQ8nV5sXc1eWtLA';

const NO_MORE = { override: null, lists: [], cut: false, firstAt: AT_EXAMPLE, devices: [EXAMPLE_DEVICE] };

const LINKS_EXAMPLE = {
  clientIdKey: 'ann',
  from: AT_EXAMPLE - 5_184_000_000,
  complete: true,
  devices: [
    {
      kind: 'fingerprint',
      value: EXAMPLE_DEVICE,
      ofClient: true,
      firstAt: AT_EXAMPLE,
      lastAt: AT_EXAMPLE + 90_000,
      clients: 2,
      followed: true,
      lists: [],
      refused: { clients: 2, payers: 1, orders: 1, money: { EUR: 25 } },
    },
  ],
  clients: [
    {
      ...NO_MORE,
      clientIdKey: 'ann',
      tie: 'self',
      lastAt: AT_EXAMPLE,
      orders: { paid: 0, reversed: 2, unpaid: 1, turnedAway: 0, unknown: 0 },
      money: { EUR: { paid: 0, reversed: 50, unpaid: 25 } },
      verdicts: { GET_NEW: 3, GET_SAME_STICKY: 0, WAIT: 1, BLOCK: 0 },
      proposed: true,
    },
    {
      ...NO_MORE,
      clientIdKey: 'bob',
      tie: 'device',
      lastAt: AT_EXAMPLE + 90_000,
      orders: { paid: 1, reversed: 0, unpaid: 0, turnedAway: 0, unknown: 0 },
      money: { EUR: { paid: 25, reversed: 0, unpaid: 0 } },
      verdicts: { GET_NEW: 1, GET_SAME_STICKY: 0, WAIT: 0, BLOCK: 0 },
      proposed: false,
    },
  ],
  cut: { devices: 0, clients: 0 },
  proposal: { clients: ['ann'], refused: { clients: 1, payers: 0, orders: 0, money: {} } },
} as const;

interface LinksParts extends AuditParts {
  readonly records: Records;
  readonly lists: ListNode;
  readonly names: PlatformNames;
  /** Epoch ms. */
  readonly clock: () => number;
}

export const readClientLinks = clientOperation({
  method: 'get',
  below: '/links',
  operationId: 'readClientLinks',
  summary: 'Who shares devices and addresses with a client',
  description:
    'The clients of the platform that were seen on its devices and addresses, with what became of their orders; whom a list could block together, and which payers that would refuse. Of a device nothing but its HMAC is known.',
  grant: 'clients:read',
  isSearch: true,
  parameters: [DAYS, DEPTH, AS_OF, CLIENTS],
  answers: jsonAnswer('As far as was looked; `cut` says what is not shown', ClientLinksSchema, LINKS_EXAMPLE),
  refusals: [UNKNOWN_CLIENT],
  answer: async ({ ctx, caller, clientIdKey }, parts: LinksParts) => {
    const { records, lists, names, audit, clientKeys, clock } = parts;
    const { platform, actor } = caller;
    const wanted = { days: DAYS.read(ctx), depth: DEPTH.read(ctx), clients: CLIENTS.read(ctx) };
    const ask = linksAsk(wanted, AS_OF.read(ctx), clock());
    const links = await records.links(platform, clientIdKey, ask, { lists: lists.copy, names });
    if (links === null) throw UNKNOWN_CLIENT.problem();
    await audit.noteReading(actor.text, clientKeys.of(platform, clientIdKey));
    return links;
  },
});
