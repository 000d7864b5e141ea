import { isJsonObject } from '#base/files/json-object.ts';
import {
  type GrantableOperation,
  INSTALLATION_PLATFORM,
  isInstallation,
} from '#checkout/access/access-keys.ts';
import { isPlatformName, PLATFORM_NAME_FORM_TEXT, type PlatformName } from '#decision/payer/client-key.ts';

/** What people of each role may do at the platforms where they have it. */
export const ROLES = {
  /** Sees figures, and no payers. */
  viewer: ['figures', 'rules:read'],
  /** Sees payers and decisions, and ends waits. */
  support: ['decisions', 'clients:read', 'waits', 'lists:read', 'rules:read'],
  /** Writes drafts and reads evidence. */
  analyst: ['figures', 'rules'],
  /** Changes rollouts, lists and overrides, and approves the changes of others. */
  operator: ['decisions', 'clients', 'waits', 'lists', 'rules', 'operate', 'approve'],
  /** Does everything, including erasure, keys and the audit. */
  admin: ['decisions', 'clients', 'waits', 'erase', 'lists', 'rules', 'operate', 'keys', 'audit', 'approve'],
} as const satisfies Readonly<Record<string, readonly GrantableOperation[]>>;

export type Role = keyof typeof ROLES;

/** A claim of the provider that gives a role, configured like `groups:fraud-team=analyst@shop`. */
export interface RoleMapping {
  /** The item as configured. A session keeps it. */
  readonly item: string;
  readonly claim: string;
  readonly value: string;
  readonly role: Role;
  /** The platform. `*` means every platform, and the installation. */
  readonly platform: PlatformName;
}

const FORM = 'CLAIM:VALUE=ROLE@PLATFORM, like groups:fraud-team=analyst@shop';

/**
 * Parses the role grants in their sequence. If a grant is wrong, returns a text that says which grant and what is
 * allowed.
 */
export function parseRoleMappings(text: string): readonly RoleMapping[] | string {
  const grants: RoleMapping[] = [];
  for (const [index, part] of text.split(',').entries()) {
    const item = part.trim();
    const grant = parseGrant(item);
    if (typeof grant === 'string') return `item ${index + 1}, "${item}": ${grant}`;
    grants.push(grant);
  }
  return grants;
}

function parseGrant(item: string): RoleMapping | string {
  const [, claim = '', value = '', name = '', place = ''] =
    /^([^:\s]+):(.+)=([^=@]*)@([^=@]*)$/.exec(item) ?? [];
  if (claim === '') return `it must be ${FORM}`;
  if (!isRole(name)) return `there is no role "${name}"; it must be one of ${Object.keys(ROLES).join(', ')}`;
  if (!isInstallation(place) && !isPlatformName(place))
    return `there can be no platform "${place}"; its name has ${PLATFORM_NAME_FORM_TEXT}, or is * for all`;
  return { item, claim, value, role: name, platform: place };
}

function isRole(name: string): name is Role {
  return Object.hasOwn(ROLES, name);
}

/**
 * Selects the configured grants by the documents of the identity provider. A grant applies if its claim has the value
 * that the grant names. A claim is a text or a list of texts, and is read from the first document that has it.
 */
export function selectRoleMappings(
  grants: readonly RoleMapping[],
  documents: readonly Readonly<Record<string, unknown>>[],
): readonly RoleMapping[] {
  return grants.filter(({ claim, value }) => {
    const given = documents.map((claims) => readClaim(claims, claim)).find((one) => one !== undefined);
    return Array.isArray(given) ? given.includes(value) : given === value;
  });
}

/** Reads a claim by its name, or a nested claim by a dotted path, like Keycloak's `realm_access.roles`. */
function readClaim(claims: Readonly<Record<string, unknown>>, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  const [first = '', ...rest] = path.split('.');
  const within = Object.hasOwn(claims, first) ? claims[first] : undefined;
  return rest.length > 0 && isJsonObject(within) ? readClaim(within, rest.join('.')) : undefined;
}

/**
 * Lists the operations that the roles allow at a platform. A role at `*` applies at every platform and to the
 * installation.
 */
export function listOperationsAtPlatform(
  grants: readonly RoleMapping[],
  platform: PlatformName,
): readonly GrantableOperation[] {
  const here = grants.filter(
    (grant) => grant.platform === INSTALLATION_PLATFORM || grant.platform === platform,
  );
  return [...new Set(here.flatMap(({ role }): readonly GrantableOperation[] => ROLES[role]))];
}
