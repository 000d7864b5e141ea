import { type Command, Option } from 'commander';
import { formatCount } from '#base/count-text.ts';
import type { WithMomentsAsText } from '#base/shapes.ts';
import { formatCallerText, quoteText } from '#decision/rules/condition-text.ts';
import { listAsOfNotes } from '#history/evidence/presentation.ts';
import {
  type ClientLinks,
  type PredictedBlockTotals,
  predictBlockTotals,
} from '#workbench/payers/client-links.ts';
import { readClientLinks } from '#workbench/platform/client/client.ts';
import { EXIT_CODES, NothingFoundError, UsageError } from './exit.ts';
import { addOperationCommand } from './operation-command.ts';
import { formatTable, printError } from './print.ts';

type Links = WithMomentsAsText<ClientLinks>;

/** Adds `links`, which shows who shares devices and addresses with a client, and which payers a block would refuse. */
export function addClientLinksCommand(program: Command): void {
  addOperationCommand<Links | null>(program, {
    operation: readClientLinks,
    platform: 'named',
    needs: { lists: true, archive: true },
    options: [
      new Option('--block <client...>', 'say whom a list of these clients would refuse; all must be shown'),
    ],
    run: async ({ read, options }, given) => {
      const found = await nullIfNotFound(read<Links>(readClientLinks, given));
      const { block } = options;
      return replaceProposal(found, Array.isArray(block) ? block.map(String) : null);
    },
    formatAnswer: (found) => (found === null ? '' : describe(found)),
    jsonHelp: 'print what GET /v1/platform/client/links answers; null for nobody',
    afterPrint: (found, { options, platform }) => {
      if (found === null && options['json'] !== true)
        printError(
          `Nothing is known of the client ${quoteText(String(options['clientIdKey']))} of ${platform}.`,
        );
      if (found?.complete === false)
        printError('Some data could not be read, so there may be more; "archive status" says why.');
      if (found?.complete !== true) process.exitCode = EXIT_CODES.findings;
    },
  });
}

/** Returns the answer, or null if the operation finds nothing. */
async function nullIfNotFound<T>(read: Promise<T>): Promise<T | null> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof NothingFoundError) return null;
    throw error;
  }
}

/** Replaces the clients whom the links propose for a block by the clients that --block names. */
function replaceProposal(found: Links | null, block: readonly string[] | null): Links | null {
  if (found === null || block === null) return found;
  const chosen = found.clients.filter(({ clientIdKey }) => block.includes(clientIdKey));
  const missing = block.find((one) => chosen.every(({ clientIdKey }) => clientIdKey !== one));
  if (missing !== undefined)
    throw new UsageError(`--block names ${quoteText(missing)}, who is not among the clients shown`);
  const clients = found.clients.map((one) => ({ ...one, proposed: chosen.includes(one) }));
  const proposal = { clients: chosen.map((one) => one.clientIdKey), refused: predictBlockTotals(chosen) };
  return { ...found, clients, proposal };
}

function describe({ clients, devices, cut, from, asOf, proposal }: Links): string {
  const more = [
    ...(cut.clients === 0 ? [] : [`${cut.clients} more clients with weaker ties are not shown.`]),
    ...(cut.devices === 0 ? [] : [`${cut.devices} more devices and addresses were not followed.`]),
  ];
  return [
    ...listAsOfNotes(asOf),
    `Since ${from}:`,
    '',
    devices.length === 0
      ? 'No other client shares a device or an address with it.'
      : formatTable(
          ['DEVICE', 'VALUE', 'CLIENTS', 'FIRST SEEN', 'LAST SEEN', 'LISTS', 'BLOCKING IT REFUSES'],
          devices.map(formatDeviceCells),
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
      clients.map(formatClientCells),
      { right: [2, 3, 4, 5, 6, 7] },
    ),
    '',
    ...more,
    proposal.clients.length === 0
      ? 'No clients are proposed for a list.'
      : `A list of ${proposal.clients.map(formatCallerText).join(', ')} refuses ${formatRefused(proposal.refused)}.`,
  ].join('\n');
}

function formatDeviceCells({ kind, value, clients, firstAt, lastAt, followed, lists, refused }: Device) {
  const hit =
    refused === null
      ? followed
        ? 'more clients than are shown'
        : `${clients} clients, too many to be a ring`
      : formatRefused(refused);
  return [kind, value, String(clients), toDay(firstAt), toDay(lastAt), lists.join(', ') || '-', hit];
}

type Device = Links['devices'][number];
type LinkedClient = Links['clients'][number];

function toDay(moment: string): string {
  return moment.slice(0, 10);
}

function formatClientCells({ clientIdKey, tie, orders, money, verdicts, cut, ...one }: LinkedClient) {
  const { paid, reversed, unpaid, turnedAway, unknown } = orders;
  const sums = Object.entries(money).map(
    ([currency, sum]) => `${sum.paid}/${sum.reversed}/${sum.unpaid} ${currency}`,
  );
  const mix = Object.entries(verdicts).flatMap(([name, number]) => (number === 0 ? [] : `${name} ${number}`));
  const marks = [one.override ?? [], one.lists.map((list) => `on ${list}`), one.proposed ? 'proposed' : []];
  return [
    formatCallerText(clientIdKey),
    tie,
    ...[paid, reversed, unpaid, turnedAway, unknown].map((number) => `${number}${cut ? '+' : ''}`),
    formatPaidShare(orders),
    sums.join(', ') || '-',
    mix.join(', ') || '-',
    marks.flat().join(', ') || '-',
  ];
}

/**
 * Formats how many of the orders that got a requisite were paid. Orders that were turned away are left out, because
 * no sale was lost there.
 */
function formatPaidShare({ paid, reversed, unpaid, unknown }: LinkedClient['orders']): string {
  const granted = paid + reversed + unpaid + unknown;
  return granted === 0 ? '-' : `${paid} of ${granted}`;
}

/** Formats how many clients a block would refuse, and what some of them paid. */
function formatRefused({ clients, payers, orders, money }: PredictedBlockTotals): string {
  const whom = formatCount(clients, 'client');
  if (payers === 0) return `${whom}, of whom none paid`;
  const sums = Object.entries(money).map(([currency, sum]) => `${sum} ${currency}`);
  return `${whom}, of whom ${payers} paid ${formatCount(orders, 'order')}: ${sums.join(', ')}`;
}
