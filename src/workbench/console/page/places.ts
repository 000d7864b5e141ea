import type { Html } from './html.ts';
import type { PageProps, Place } from './page-props.ts';
import { VersionChangesPage } from './pages/changes.ts';
import { DecisionPage, FindPage, PayerPage } from './pages/find/find.ts';
import { ResultsPage } from './pages/results.ts';
import { RolloutsPage } from './pages/rollout.ts';
import { RulesPage, VersionPage } from './pages/rules.ts';
import { AccessPage } from './pages/settings/access.ts';
import { AuditPage, PROPOSALS_VIEWER_OPERATIONS } from './pages/settings/audit.ts';
import { ListsPage } from './pages/settings/lists.ts';
import { PlatformPage } from './pages/settings/platform.ts';
import { TodayPage } from './pages/today.ts';
import type { IconName } from './parts/icon.ts';
import type { SpanName } from './parts/time-span.ts';
import type { Session } from './questions.ts';

type Operation = Session['operations'][number];

type PageBody = (props: PageProps) => Html;

/**
 * A page of a place. A place is an entry of the console's navigation. A session must have all operations of
 * `needs` to see the page.
 */
export interface PageEntry {
  /** The path below the hash. `*` stands for a version of the rules. */
  readonly path: string;
  readonly title: string;
  readonly needs: readonly Operation[];
  /** A session with any one of these operations sees the page even without `needs`. */
  readonly orAny: readonly Operation[];
  readonly body: PageBody;
  /** Whether the page is opened from another page of its place. It has no entry in the navigation. */
  readonly isOpened?: boolean;
  /** How far back the page looks if the address does not say it. Missing on a page without a time. */
  readonly span?: SpanName;
}

export interface PlaceEntry {
  title: IconName;
  pages: readonly PageEntry[];
}

function declarePage(
  path: string,
  title: string,
  needs: readonly Operation[],
  body: PageBody,
  { orAny = [], ...more }: Partial<Pick<PageEntry, 'orAny' | 'isOpened' | 'span'>> = {},
): PageEntry {
  return { path, title, needs, body, orAny, ...more };
}

/** The places of the console, each with its pages. */
export const PLACES: readonly PlaceEntry[] = [
  {
    title: 'Today',
    pages: [
      declarePage('today', 'Today', ['figures'], TodayPage, { orAny: ['rules', 'rules:read'], span: 'day' }),
    ],
  },
  {
    title: 'Find',
    pages: [
      declarePage('find', 'Find', ['decisions'], FindPage, {
        orAny: ['clients:read', 'lists:read'],
        span: 'all',
      }),
      declarePage('find/payer', 'Payer', ['clients:read'], PayerPage, { isOpened: true }),
      declarePage('find/decision', 'Decision', ['decisions'], DecisionPage, { isOpened: true }),
    ],
  },
  {
    title: 'Rules',
    pages: [
      declarePage('rules', 'Versions', ['rules:read'], RulesPage),
      declarePage('rules/*', 'Files', ['rules:read'], VersionPage),
      declarePage('rules/*/results', 'Results', ['rules'], ResultsPage, { span: 'month' }),
      declarePage('rules/*/changes', 'Changes', ['rules:read'], VersionChangesPage),
    ],
  },
  {
    title: 'Rollouts',
    pages: [declarePage('rollouts', 'Rollouts', ['rules:read'], RolloutsPage)],
  },
  {
    title: 'Settings',
    pages: [
      declarePage('settings/lists', 'Lists', ['lists:read'], ListsPage),
      declarePage('settings/access', 'People and keys', ['keys'], AccessPage),
      declarePage('settings/audit', 'Audit and approvals', ['audit'], AuditPage, {
        orAny: PROPOSALS_VIEWER_OPERATIONS,
      }),
      declarePage('settings/platform', 'Platform', [], PlatformPage),
    ],
  },
];

// The pages, those with the longest path first, because the longest path that fits an address is chosen.
const PAGES = PLACES.flatMap(({ pages }) => pages).toSorted(
  (one, other) => countPathParts(other.path) - countPathParts(one.path),
);

function countPathParts(path: string) {
  return path.split('/').length;
}

/** Parses an address after its hash, like `#/rules/p2.v10/ask/ID?…`: its page and that page's parameters. */
export function parsePageAddress(hash: string): Omit<Place, 'top'> & { page: PageEntry | null } {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?');
  const found = path.split('/');
  const page =
    PAGES.find((one) =>
      one.path.split('/').every((name, at) => (name === '*' ? found[at] : name === found[at])),
    ) ?? null;
  const names = page?.path.split('/') ?? [];
  return {
    page,
    version: decodePart(found[names.indexOf('*')] ?? ''),
    item: decodePart(found.slice(names.length).join('/')),
    query: new URLSearchParams(query),
  };
}

function decodePart(text: string) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
