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
 * @property {() => Promise<PageBody>} load
 */

/** @typedef {{ title: string, pages: readonly PageEntry[] }} PlaceEntry */

/**
 * @param {string} path
 * @param {string} title
 * @param {readonly Operation[]} needs
 * @param {() => Promise<PageBody>} load its modules come when somebody goes there
 * @param {readonly Operation[]} [or] any of these is enough, too
 * @returns {PageEntry}
 */
function page(path, title, needs, load, or = []) {
  return { path, title, needs, load, or };
}

const now = async () => (await import('./pages/now.js')).NowPage;
const explore = async () => (await import('./pages/explore.js')).ExplorePage;
const decisions = async () => (await import('./pages/decisions.js')).DecisionsPage;
const payers = async () => (await import('./pages/client.js')).ClientPage;
const ask = async () => (await import('./pages/ask.js')).AskPage;
const rollouts = async () => (await import('./pages/rollout.js')).RolloutPage;
const lists = async () => (await import('./pages/lists.js')).ListsPage;
const approvals = async () => (await import('./pages/approvals.js')).ApprovalsPage;
const keys = async () => (await import('./pages/access.js')).KeysPage;
const people = async () => (await import('./pages/access.js')).PeoplePage;
const platform = async () => (await import('./pages/platform.js')).PlatformPage;
const audit = async () => (await import('./pages/audit.js')).AuditPage;
const evidence = () => import('./pages/evidence.js');
const rules = () => import('./pages/rules.js');
const drafts = () => import('./pages/draft.js');

/** Where the console leads, each place with its parts. @type {readonly PlaceEntry[]} */
export const PLACES = [
  {
    title: 'Explore',
    pages: [
      page('explore/now', 'Now', ['figures'], now),
      page('explore', 'Over time', ['figures'], explore, ['rules']),
    ],
  },
  {
    title: 'Decisions',
    pages: [page('decisions', 'Decisions', ['decisions'], decisions)],
  },
  {
    title: 'Payers',
    pages: [page('payers', 'Payers', ['clients:read'], payers)],
  },
  {
    title: 'Rules',
    pages: [
      page('rules', 'Versions', ['rules:read'], async () => (await rules()).RulesPage),
      page('rules/drafts', 'Drafts', ['rules'], async () => (await drafts()).DraftsPage),
      page('rules/*', 'Version', ['rules:read'], async () => (await rules()).VersionPage),
      page('rules/*/draft', 'Draft', ['rules'], async () => (await drafts()).DraftPage),
      page('rules/*/evidence', 'Evidence', ['rules'], async () => (await evidence()).EvidencePage),
      page('rules/*/ask', 'Ask', ['rules'], ask),
    ],
  },
  {
    title: 'Rollouts',
    pages: [page('rollouts', 'Rollouts', ['rules:read'], rollouts)],
  },
  {
    title: 'Settings',
    pages: [
      page('settings/lists', 'Lists', ['lists:read'], lists),
      page('settings/keys', 'Keys', ['keys'], keys),
      page('settings/people', 'People', ['keys'], people),
      page('settings/audit', 'Audit', ['audit'], audit),
      // A person who may propose sees what became of the proposals.
      page('settings/approvals', 'Approvals', ['approve'], approvals, ['operate', 'clients', 'keys']),
      page('settings/platform', 'Platform', [], platform),
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
