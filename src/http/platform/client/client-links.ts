import type { PlatformNames } from '../../../decision/shared-lists.ts';
import type { ListNode } from '../../../lists/list-node.ts';
import { ClientLinksSchema, LINKS_DEFAULT, LINKS_MAX, linksAsk } from '../../../service/client-links.ts';
import type { Records } from '../../../service/records.ts';
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
  answers: jsonAnswer('As far as was looked; `cut` says what is not shown', ClientLinksSchema),
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
