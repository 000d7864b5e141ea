import type { Command } from 'commander';
import { formatCount } from '#base/counted.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import { formatName, quoteText } from '#decision/rules/condition-text.ts';
import { formatDay } from '#history/archive/period.ts';
import { listAsOfNotes } from '#history/evidence/presentation.ts';
import {
  type ClientLinks,
  createLinksAsk,
  findClientLinks,
  findRefusedPayers,
  LINKS_DEFAULT,
  LINKS_MAX,
  type LinkedClient,
  type LinksBounds,
  type RefusedPayers,
} from '#workbench/payers/client-links.ts';
import { EXIT, UsageError } from './exit.ts';
import { withArchiveOf } from './open-archive.ts';
import { parsePlatform, parseTime, parseWholeNumber } from './options.ts';
import { formatTable, print, printError } from './print.ts';
import { withLists } from './with-lists.ts';

interface LinksOptions {
  readonly platform: string;
  readonly days: string;
  readonly depth: string;
  readonly limit: string;
  readonly asOf?: string;
  readonly block?: readonly string[];
  readonly json?: true;
}

/** links: who shares devices and addresses with a client, and whom a block would hit. */
export function linksCommand(program: Command): void {
  const { days, depth, clients } = LINKS_DEFAULT;
  program
    .command('links <client>')
    .description(
      'who shares devices and addresses with a client, with what became of their orders; whom a list could block together, and which payers that would refuse. Exit code 1 when nothing is known of the client, or a part could not be read',
    )
    .requiredOption('--platform <name>', 'whose client it is')
    .option('--days <number>', 'how many days are looked back over', String(days))
    .option('--depth <number>', '1: who shares something with it; 2: also who does with these', String(depth))
    .option('--as-of <time>', 'what was known then, looking back from there; lists are as they are now')
    .option('--limit <number>', 'the most clients to show', String(clients))
    .option('--block <client...>', 'say whom a list of these clients would refuse; all must be shown')
    .option('--json', 'print what GET /v1/platform/client/links answers; null for nobody')
    .action((clientIdKey: string, options: LinksOptions) => links(clientIdKey, options));
}

async function links(clientIdKey: string, options: LinksOptions): Promise<void> {
  const platform = parsePlatform(options.platform);
  const bounds = {
    days: parseWholeNumber('--days', options.days, LINKS_MAX.days),
    depth: parseWholeNumber('--depth', options.depth, LINKS_MAX.depth),
    clients: parseWholeNumber('--limit', options.limit, LINKS_MAX.clients),
  };
  const asOf = parseTime(options.asOf, '--as-of');
  const found = proposing(await read(platform, clientIdKey, bounds, asOf), options.block ?? null);
  if (options.json === true) print(JSON.stringify(found));
  else if (found !== null) print(describe(found));
  else printError(`Nothing is known of the client ${quoteText(clientIdKey)} of ${platform}.`);
  if (found?.complete === false)
    printError('A part could not be read, or was too much: there may be more. archive status says why.');
  if (found?.complete !== true) process.exitCode = EXIT.findings;
}

function read(platform: PlatformName, clientIdKey: string, bounds: LinksBounds, asOf: number | null) {
  return withLists(({ store, node, names, clock }) =>
    withArchiveOf(store, (archive) => {
      const parts = { store, archive, lists: node.copy, names, now: clock() };
      return findClientLinks(parts, platform, clientIdKey, createLinksAsk(bounds, asOf, parts.now));
    }),
  );
}

/** The clients proposed for a block, instead of those that the links propose. */
function proposing(found: ClientLinks | null, block: readonly string[] | null): ClientLinks | null {
  if (found === null || block === null) return found;
  const chosen = found.clients.filter(({ clientIdKey }) => block.includes(clientIdKey));
  const missing = block.find((one) => chosen.every(({ clientIdKey }) => clientIdKey !== one));
  if (missing !== undefined)
    throw new UsageError(`--block names ${quoteText(missing)}, who is not among the clients shown`);
  const clients = found.clients.map((one) => ({ ...one, proposed: chosen.includes(one) }));
  const proposal = { clients: chosen.map((one) => one.clientIdKey), refused: findRefusedPayers(chosen) };
  return { ...found, clients, proposal };
}

function describe({ clients, devices, cut, from, asOf, proposal }: ClientLinks): string {
  const more = [
    ...(cut.clients === 0 ? [] : [`${cut.clients} more clients with weaker ties are not shown.`]),
    ...(cut.devices === 0 ? [] : [`${cut.devices} more devices and addresses were not followed.`]),
  ];
  return [
    ...listAsOfNotes(asOf),
    `Since ${new Date(from).toISOString()}:`,
    '',
    devices.length === 0
      ? 'Nobody shares a device or an address with it.'
      : formatTable(
          ['DEVICE', 'VALUE', 'CLIENTS', 'FIRST SEEN', 'LAST SEEN', 'LISTS', 'BLOCKING IT REFUSES'],
          devices.map(deviceCells),
          { right: [2] },
        ),
    '',
    formatTable(
      [
        'CLIENT',
        'TIE',
        'PAID',
        'REVERSED',
        'UNPAID',
        'TURNED AWAY',
        'UNKNOWN',
        'PAID OF GRANTED',
        'MONEY PAID/REVERSED/UNPAID',
        'VERDICTS',
        'BLOCK',
      ],
      clients.map(clientCells),
      { right: [2, 3, 4, 5, 6, 7] },
    ),
    '',
    ...more,
    proposal.clients.length === 0
      ? 'Nobody is proposed for a list.'
      : `A list of ${proposal.clients.map(formatName).join(', ')} refuses ${refusedText(proposal.refused)}.`,
  ].join('\n');
}

function deviceCells({ kind, value, clients, firstAt, lastAt, followed, lists, refused }: Device) {
  const hit =
    refused === null
      ? followed
        ? 'more clients than are shown'
        : `${clients} clients: too many to be a ring`
      : refusedText(refused);
  return [kind, value, String(clients), formatDay(firstAt), formatDay(lastAt), lists.join(', ') || '-', hit];
}

type Device = ClientLinks['devices'][number];

function clientCells({ clientIdKey, tie, orders, money, verdicts, cut, ...one }: LinkedClient) {
  const { paid, reversed, unpaid, turnedAway, unknown } = orders;
  const sums = Object.entries(money).map(
    ([currency, sum]) => `${sum.paid}/${sum.reversed}/${sum.unpaid} ${currency}`,
  );
  const mix = Object.entries(verdicts).flatMap(([name, number]) => (number === 0 ? [] : `${name} ${number}`));
  const marks = [one.override ?? [], one.lists.map((list) => `on ${list}`), one.proposed ? 'proposed' : []];
  return [
    formatName(clientIdKey),
    tie,
    ...[paid, reversed, unpaid, turnedAway, unknown].map((number) => `${number}${cut ? '+' : ''}`),
    paidOfGranted(orders),
    sums.join(', ') || '-',
    mix.join(', ') || '-',
    marks.flat().join(', ') || '-',
  ];
}

/** What was asked for and turned away is no sale that was lost, so it is in neither number. */
function paidOfGranted({ paid, reversed, unpaid, unknown }: LinkedClient['orders']): string {
  const granted = paid + reversed + unpaid + unknown;
  return granted === 0 ? '-' : `${paid} of ${granted}`;
}

/** The payers whom a block would hit, first of all. */
function refusedText({ clients, payers, orders, money }: RefusedPayers): string {
  const whom = formatCount(clients, 'client');
  if (payers === 0) return `${whom}, of whom none paid`;
  const sums = Object.entries(money).map(([currency, sum]) => `${sum} ${currency}`);
  return `${whom}, of whom ${payers} paid ${formatCount(orders, 'order')}: ${sums.join(', ')}`;
}
