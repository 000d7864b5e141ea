import { viewOfEntries, viewOfEntry, viewOfLists } from '../../http/platform/lists/list-views.ts';
import { parseWhose } from '../platform-option.ts';
import { print } from '../print.ts';
import { table } from '../table.ts';
import { withLists } from './with-lists.ts';

export interface ShowOptions {
  readonly platform: string;
  readonly value?: string;
  readonly json?: true;
}

/** Prints all lists of a platform, or with a name the entries of one. */
export async function showLists(list: string | undefined, options: ShowOptions): Promise<void> {
  if (list === undefined) await showAll(options);
  else await showOne(list, options);
}

async function showAll({ platform, json }: ShowOptions): Promise<void> {
  const whose = parseWhose(platform);
  const { lists } = await withLists(async ({ node, clock }) => viewOfLists(node, whose, clock()));
  if (json === true) print(JSON.stringify(lists));
  else if (lists.length === 0) {
    print(
      'There is no list yet. Make one: lists add <list> <value> --kind <kind> --platform <name> --reason <text>',
    );
  } else {
    const rows = lists.map(({ list, kind, entries, ended, changedAt, ofInstallation }) => [
      list,
      kind,
      String(entries),
      String(ended),
      timeText(changedAt),
      ofInstallation ? 'the whole installation' : platform,
    ]);
    print(table(['LIST', 'KIND', 'ENTRIES', 'ENDED', 'CHANGED', 'OF'], rows, { right: [2, 3] }));
  }
}

async function showOne(list: string, { platform, value, json }: ShowOptions): Promise<void> {
  const whose = parseWhose(platform);
  const entries = await withLists(async ({ node, editor, clock }) => {
    const now = clock();
    if (value !== undefined) {
      const entry = editor.find(whose, list, value);
      return entry === null ? [] : [viewOfEntry(entry, now)];
    }
    const page = { before: Number.POSITIVE_INFINITY, limit: Number.MAX_SAFE_INTEGER, now };
    return viewOfEntries(list, node.copy.list(whose, list), page).entries;
  });
  if (json === true) print(JSON.stringify(entries));
  else if (entries.length === 0) print(`The list ${list} has no ${value === undefined ? '' : 'such '}entry.`);
  else {
    const rows = entries.map((entry) => [
      entry.value,
      timeText(entry.addedAt),
      entry.expiresAt === null ? 'never' : `${timeText(entry.expiresAt)}${entry.hasEnded ? ' (ended)' : ''}`,
      entry.who,
      entry.reason,
    ]);
    print(table(['VALUE', 'ADDED', 'ENDS', 'BY', 'REASON'], rows));
  }
}

function timeText(at: number): string {
  return new Date(at).toISOString();
}
