import { KeysPage, PeoplePage } from './pages/access.js';
import { ApprovalsPage } from './pages/approvals.js';
import { AskPage } from './pages/ask.js';
import { AuditPage } from './pages/audit.js';
import { ClientPage } from './pages/client.js';
import { DecisionsPage } from './pages/decisions.js';
import { DraftPage, DraftsPage } from './pages/draft.js';
import { EvidencePage } from './pages/evidence.js';
import { ExplorePage } from './pages/explore.js';
import { ListsPage } from './pages/lists.js';
import { NowPage } from './pages/now.js';
import { PlatformPage } from './pages/platform.js';
import { RolloutPage } from './pages/rollout.js';
import { RulesPage, VersionPage } from './pages/rules.js';

/**
 * @import { Session } from './answers.d.ts'
 * @import { Html } from './html.js'
 * @import { PageProps, Place } from './page-props.d.ts'
 */

/** @typedef {Session['operations'][number]} Operation */
/** @typedef {(props: PageProps) => Html} PageBody */

/**
 * A page, one of the parts of a place; `needs` lists the operations that a session must have, all of them, to
 * be shown it.
 * @typedef {object} PageEntry
 * @property {string} path below the hash; `*` stands for a version of the rules
 * @property {string} title
 * @property {readonly Operation[]} needs
 * @property {readonly Operation[]} or any of these is enough, too
 * @property {PageBody} body
 */

/** @typedef {{ title: string, pages: readonly PageEntry[] }} PlaceEntry */

/**
 * @param {string} path
 * @param {string} title
 * @param {readonly Operation[]} needs
 * @param {PageBody} body
 * @param {readonly Operation[]} [or] any of these is enough, too
 * @returns {PageEntry}
 */
function page(path, title, needs, body, or = []) {
  return { path, title, needs, body, or };
}

/** Where the console leads, each place with its parts. @type {readonly PlaceEntry[]} */
export const PLACES = [
  {
    title: 'Explore',
    pages: [
      page('explore/now', 'Now', ['figures'], NowPage),
      page('explore', 'Over time', ['figures'], ExplorePage, ['rules']),
    ],
  },
  {
    title: 'Decisions',
    pages: [page('decisions', 'Decisions', ['decisions'], DecisionsPage)],
  },
  {
    title: 'Payers',
    pages: [page('payers', 'Payers', ['clients:read'], ClientPage)],
  },
  {
    title: 'Rules',
    pages: [
      page('rules', 'Versions', ['rules:read'], RulesPage),
      page('rules/drafts', 'Drafts', ['rules'], DraftsPage),
      page('rules/*', 'Version', ['rules:read'], VersionPage),
      page('rules/*/draft', 'Draft', ['rules'], DraftPage),
      page('rules/*/evidence', 'Evidence', ['rules'], EvidencePage),
      page('rules/*/ask', 'Ask', ['rules'], AskPage),
    ],
  },
  {
    title: 'Rollouts',
    pages: [page('rollouts', 'Rollouts', ['rules:read'], RolloutPage)],
  },
  {
    title: 'Settings',
    pages: [
      page('settings/lists', 'Lists', ['lists:read'], ListsPage),
      page('settings/keys', 'Keys', ['keys'], KeysPage),
      page('settings/people', 'People', ['keys'], PeoplePage),
      page('settings/audit', 'Audit', ['audit'], AuditPage),
      // A person who may propose sees what became of the proposals.
      page('settings/approvals', 'Approvals', ['approve'], ApprovalsPage, ['operate', 'clients', 'keys']),
      page('settings/platform', 'Platform', [], PlatformPage),
    ],
  },
];

// The longest path that fits wins.
const PAGES = PLACES.flatMap(({ pages }) => pages).toSorted(
  (one, other) => segments(other.path) - segments(one.path),
);

/** @param {string} path */
function segments(path) {
  return path.split('/').length;
}

/**
 * What an address after its hash leads to: `#/rules/p2.v10/ask/ID?…`.
 * @param {string} hash
 * @returns {Omit<Place, 'top'> & { page: PageEntry | null }}
 */
export function placeAt(hash) {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?');
  const found = path.split('/');
  const page =
    PAGES.find((one) =>
      one.path.split('/').every((name, at) => (name === '*' ? found[at] : name === found[at])),
    ) ?? null;
  const names = page?.path.split('/') ?? [];
  return {
    page,
    version: decoded(found[names.indexOf('*')] ?? ''),
    item: decoded(found.slice(names.length).join('/')),
    query: new URLSearchParams(query),
  };
}

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
