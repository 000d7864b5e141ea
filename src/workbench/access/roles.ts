import { isJsonObject } from '#base/files/json-object.ts';
import { INSTALLATION, isInstallation, type Operation } from '#checkout/access/access-keys.ts';
import { isPlatformName, PLATFORM_NAME_FORM, type PlatformName } from '#decision/payer/client-key.ts';

/** What people of each role may do, at the platforms where they have it. */
export const ROLES = {
  /** Figures, and no payers. */
  viewer: ['figures', 'rules:read'],
  /** Payers and decisions, and ending a wait. */
  support: ['decisions', 'clients:read', 'waits', 'lists:read', 'rules:read'],
  /** Drafts and evidence. */
  analyst: ['figures', 'rules'],
  /** Rollouts, lists and overrides, and approving those of others. */
  operator: ['decisions', 'clients', 'waits', 'lists', 'rules', 'operate', 'approve'],
  /** Everything, including erasure, keys and the audit. */
  admin: ['decisions', 'clients', 'waits', 'erase', 'lists', 'rules', 'operate', 'keys', 'audit', 'approve'],
} as const satisfies Readonly<Record<string, readonly Operation[]>>;

export type Role = keyof typeof ROLES;

/** A claim of the provider that gives a role: `groups:fraud-team=analyst@shop`. */
export interface RoleGrant {
  /** The item as configured, which a session keeps. */
  readonly item: string;
  readonly claim: string;
  readonly value: string;
  readonly role: Role;
  /** `*` is every platform, and the installation. */
  readonly platform: PlatformName;
}

const FORM = 'CLAIM:VALUE=ROLE@PLATFORM, like groups:fraud-team=analyst@shop';

/** The grants in the order of the text, or which item is wrong and what is allowed. */
export function parseRoles(text: string): readonly RoleGrant[] | string {
  const grants: RoleGrant[] = [];
  for (const [index, part] of text.split(',').entries()) {
    const item = part.trim();
    const grant = parseGrant(item);
    if (typeof grant === 'string') return `item ${index + 1}, "${item}": ${grant}`;
    grants.push(grant);
  }
  return grants;
}

function parseGrant(item: string): RoleGrant | string {
  const [, claim = '', value = '', name = '', place = ''] =
    /^([^:\s]+):(.+)=([^=@]*)@([^=@]*)$/.exec(item) ?? [];
  if (claim === '') return `it must be ${FORM}`;
  if (!isRole(name)) return `there is no role "${name}"; it must be one of ${Object.keys(ROLES).join(', ')}`;
  if (!isInstallation(place) && !isPlatformName(place))
    return `there can be no platform "${place}"; its name has ${PLATFORM_NAME_FORM}, or is * for all`;
  return { item, claim, value, role: name, platform: place };
}

function isRole(name: string): name is Role {
  return Object.hasOwn(ROLES, name);
}

/**
 * The grants of somebody with the claims of these documents. A claim is a text, or a list of texts; it is read from the
 * first document that has it.
 */
export function findRoles(
  grants: readonly RoleGrant[],
  documents: readonly Readonly<Record<string, unknown>>[],
): readonly RoleGrant[] {
  return grants.filter(({ claim, value }) => {
    const given = documents.map((claims) => claimAt(claims, claim)).find((one) => one !== undefined);
    return Array.isArray(given) ? given.includes(value) : given === value;
  });
}

/** A claim by its name, or a nested one by a dotted path, like Keycloak's `realm_access.roles`. */
function claimAt(claims: Readonly<Record<string, unknown>>, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  const [first = '', ...rest] = path.split('.');
  const within = Object.hasOwn(claims, first) ? claims[first] : undefined;
  return rest.length > 0 && isJsonObject(within) ? claimAt(within, rest.join('.')) : undefined;
}

/**
 * The operations that the roles allow at a platform; a role at `*` counts at every platform and for the installation.
 */
export function listOperationsAt(grants: readonly RoleGrant[], platform: PlatformName): readonly Operation[] {
  const here = grants.filter((grant) => grant.platform === INSTALLATION || grant.platform === platform);
  return [...new Set(here.flatMap(({ role }): readonly Operation[] => ROLES[role]))];
}
