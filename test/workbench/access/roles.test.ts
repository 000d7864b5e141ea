import { expect } from 'chai';
import { toPlatformName } from '#decision/payer/client-key.ts';
import {
  listOperationsAtPlatform,
  parseRoleMappings,
  ROLES,
  selectRoleMappings,
} from '#workbench/access/roles.ts';

const FORM = 'it must be CLAIM:VALUE=ROLE@PLATFORM, like groups:fraud-team=analyst@shop';

function itemsOf(text: string, ...documents: Readonly<Record<string, unknown>>[]): readonly string[] {
  const grants = parseRoleMappings(text);
  if (typeof grants === 'string') throw new Error(grants);
  return selectRoleMappings(grants, documents).map(({ item }) => item);
}

describe('roles of people', () => {
  it('are given by a claim of the provider, at a platform or at all', () => {
    expect(parseRoleMappings('groups:fraud-team=analyst@shop, groups:ops=operator@*')).to.deep.equal([
      {
        item: 'groups:fraud-team=analyst@shop',
        claim: 'groups',
        value: 'fraud-team',
        role: 'analyst',
        platform: 'shop',
      },
      { item: 'groups:ops=operator@*', claim: 'groups', value: 'ops', role: 'operator', platform: '*' },
    ]);
  });

  it('grant at their platform alone, and those of all at each', () => {
    const grants = parseRoleMappings('groups:fraud=analyst@shop,groups:ops=viewer@*');
    if (typeof grants === 'string') throw new Error(grants);
    const at = (platform: string) => listOperationsAtPlatform(grants, toPlatformName(platform));
    expect([at('shop'), at('other')]).to.deep.equal([['figures', 'rules', 'rules:read'], ROLES.viewer]);
  });

  it('may depend on values with colons and equals signs', () => {
    const item = 'groups:cn=ops:eu=admin@shop';
    expect(itemsOf(item, { groups: ['cn=ops:eu'] })).to.deep.equal([item]);
  });

  it('are read from the first document that has the claim, and never from parts of two', () => {
    const item = 'realm.roles:ops=viewer@shop';
    expect(itemsOf(item, {}, { realm: { roles: ['ops'] } })).to.deep.equal([item]);
    expect(itemsOf(item, { realm: { name: 'x' } }, { realm: { roles: ['ops'] } })).to.deep.equal([item]);
    expect(itemsOf(item, { realm: { roles: [] } }, { realm: { roles: ['ops'] } })).to.deep.equal([]);
  });

  it('need a claim that is exactly the value, or a list that contains it', () => {
    const item = 'groups:ops=viewer@shop';
    expect(itemsOf(item, { groups: 'ops' })).to.deep.equal([item]);
    expect(itemsOf(item, { groups: ['desk', 'ops'] })).to.deep.equal([item]);
    for (const groups of ['ops-eu', 'desk,ops', ['OPS'], [['ops']], { ops: true }, null, undefined])
      expect(itemsOf(item, { groups }), JSON.stringify(groups)).to.deep.equal([]);
    expect(itemsOf('toString:ops=viewer@shop', {})).to.deep.equal([]);
  });

  it('may depend on nested claims by a dotted path, and on names with dots', () => {
    const item = 'realm_access.roles:ops=viewer@shop';
    expect(itemsOf(item, { realm_access: { roles: ['ops'] } })).to.deep.equal([item]);
    expect(itemsOf(item, { 'realm_access.roles': ['ops'] })).to.deep.equal([item]);
    for (const realm of [{ groups: ['ops'] }, ['ops'], 'ops', null, { roles: { ops: true } }])
      expect(itemsOf(item, { realm_access: realm }), JSON.stringify(realm)).to.deep.equal([]);
    expect(itemsOf('constructor.name:Object=viewer@shop', {})).to.deep.equal([]);
  });

  for (const [text, message] of [
    ['groups:ops', `item 1, "groups:ops": ${FORM}`],
    ['a:b=viewer@shop,ops=viewer@shop', `item 2, "ops=viewer@shop": ${FORM}`],
    ['a:b=viewer@shop,', `item 2, "": ${FORM}`],
    [
      'a:b=boss@shop',
      'item 1, "a:b=boss@shop": there is no role "boss"; it must be one of viewer, support, analyst, operator, admin',
    ],
    [
      'a:b=viewer@My Shop',
      'item 1, "a:b=viewer@My Shop": there can be no platform "My Shop"; its name has lower-case letters, digits and "-", starting with a letter, at most 63 characters, or is * for all',
    ],
  ] as const)
    it(`are refused with: ${message}`, () => {
      expect(parseRoleMappings(text)).to.equal(message);
    });

  it('are five', () => {
    expect(Object.keys(ROLES)).to.deep.equal(['viewer', 'support', 'analyst', 'operator', 'admin']);
  });
});
