import { hash } from 'node:crypto';
import type { PlatformName } from '../../client/client-key.ts';
import { LIST_KINDS } from '../../decision/lists/list-kind.ts';
import { readListValue } from '../../decision/lists/list-value.ts';
import { ListMembership, NO_LISTS, type SharedLists } from '../../decision/lists/shared-lists.ts';
import type { Pseudonym } from '../../decision/requests.ts';
import { isName, listNameRefusal } from '../../rules/name.ts';
import type { Member, YamlFile, YamlNode } from '../../rules/parse/yaml-file.ts';

/** Nothing of a case is stored, so no secret is needed. */
export const CASE_PSEUDONYM: Pseudonym = (kind, text) =>
  hash('sha256', `${kind} ${text}`, 'base64url').slice(0, 22);

/** The shared lists of a case: `lists: { blocked-devices: { kind: fingerprint, entries: [device-1] } }`. */
export function readCaseLists(
  file: YamlFile,
  member: Member | undefined,
  platform: PlatformName,
): SharedLists {
  if (member === undefined) return NO_LISTS;
  const membership = new ListMembership();
  for (const [list, { key, value }] of file.anyMembers(member.value, 'lists') ?? []) {
    if (!isName(list)) {
      file.report(key, listNameRefusal(list));
      continue;
    }
    for (const entry of entriesOf(file, value)) {
      membership.add({ owner: platform, list, expiresAt: null, ...entry });
    }
  }
  return membership;
}

function entriesOf(file: YamlFile, node: YamlNode) {
  const members = file.members(node, 'a shared list', ['kind', 'entries'], ['kind', 'entries']);
  const kindMember = members?.get('kind');
  const kind = kindMember === undefined ? null : file.choice(kindMember.value, 'kind', LIST_KINDS);
  const entries = members?.get('entries');
  if (kind === null || entries === undefined) return [];
  return (file.items(entries.value, '"entries"') ?? []).flatMap((item) => {
    const text = file.text(item, 'an entry');
    if (text === null) return [];
    const read = readListValue(kind, text, CASE_PSEUDONYM);
    if (read.ok) return [{ kind, value: read.value, keys: read.keys }];
    file.report(item, read.problem);
    return [];
  });
}
