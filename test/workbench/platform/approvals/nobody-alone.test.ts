import { expect } from 'chai';
import {
  type GrantableOperation as Grant,
  INSTALLATION_PLATFORM,
  listGrantableOperations,
} from '#checkout/access/access-keys.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { createExample } from '#workbench/openapi/example.ts';
import { PLATFORM_OPERATIONS } from '#workbench/platform/platform-operations.ts';
import { Tenant } from '../../../service/tenant.ts';
import { temporarySqlite } from '../../../stores/temporary-store.ts';
import { type Asker, type FourEyes, startFourEyes } from './four-eyes.ts';

const { always, withRollout, withEvidence, withRuleFolders } = PLATFORM_OPERATIONS;

const OPERATIONS = [...always, ...withRollout, ...withEvidence, ...withRuleFolders].filter(
  ({ grant }) => grant !== null,
);

/** A secret of the neighbour's payer, which nobody else may ever see. */
const SECRET = 'order-of-the-neighbour';

type Value = string | number | boolean | null | readonly Grant[];

/** Values for parameters and members by name, as an attacker would choose them. */
const WANTED: Readonly<Record<string, readonly Value[]>> = {
  version: ['p2.v12', 'p2.v13'],
  versions: ['p2.v12'],
  before: ['p2.v10'],
  clientIdKey: ['payer'],
  list: ['trusted'],
  value: ['203.0.0.0/8'],
  kind: ['ip'],
  mode: ['active', 'canary'],
  // What is null counts as absent.
  percent: [null, 100, 20],
  guard: [null],
  emergency: [false, true],
  group: ['TRUSTED'],
  operations: [['outcomes'], ['keys'], ['score', 'verdict']],
};

interface Request {
  readonly method: string;
  readonly path: string;
  readonly body: object | string | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

/** Requests of an operation, made from its declaration, with every useful member set. */
function requestsOf(
  { method, path, parameters = [], body }: (typeof OPERATIONS)[number],
  known: Readonly<Record<string, readonly string[]>>,
): readonly Request[] {
  const wanted = (name: string) => known[name] ?? WANTED[name] ?? ['x'];
  const paths = (
    parameters.find(({ name }) => path.includes(`{${name}}`)) === undefined
      ? [path]
      : versionsOf(path, wanted)
  ).map((one) => one.replace('/v1/platform/', ''));
  const query = parameters
    .filter((parameter) => parameter.in === 'query' && parameter.required)
    .map(({ name }) => `${name}=${encodeURIComponent(String(wanted(name)[0]))}`)
    .join('&');
  const bodies = body === null ? [undefined] : bodiesOf(body.content, body.shapes, wanted);
  return paths.flatMap((one) =>
    bodies.map((given) => ({
      method: method.toUpperCase(),
      path: query === '' ? one : `${one}?${query}`,
      body: given?.body,
      headers: given?.headers ?? {},
    })),
  );
}

type Wanted = (name: string) => readonly Value[];

function versionsOf(path: string, wanted: Wanted): readonly string[] {
  const name = /\{(\w+)\}/.exec(path)?.[1];
  if (name === undefined) return [path];
  return wanted(name).flatMap((value) =>
    versionsOf(path.replace(`{${name}}`, encodeURIComponent(String(value))), wanted),
  );
}

function bodiesOf(
  content: Readonly<Record<string, { readonly name: string; readonly example: unknown }>>,
  shapes: Readonly<Record<string, object>>,
  wanted: Wanted,
) {
  return Object.entries(content).flatMap(([type, { name, example }]) => {
    const properties: unknown = Reflect.get(shapes[name] ?? {}, 'properties');
    const members = Object.keys(typeof properties === 'object' && properties !== null ? properties : {});
    const shown = example ?? createExample(shapes[name] ?? {});
    let variants: object[] = [typeof shown === 'object' && shown !== null ? shown : {}];
    for (const member of members.filter((one) => one in WANTED || one === 'digest')) {
      variants = variants.flatMap((one) => wanted(member).map((value) => ({ ...one, [member]: value })));
    }
    return variants.map((one) => ({
      body: type === 'application/json' ? one : `${JSON.stringify(one)}\n`,
      headers: { 'Content-Type': type },
    }));
  });
}

/** The owner: a person and the keys with that owner count as one. */
const SELF = 'person:mallory';

interface Seen {
  readonly status: number;
  readonly body: string;
}

/** One identity: signed in with all roles, and by keys with all grants that one can have, and with one each. */
async function keysOf(eyes: FourEyes) {
  const mighty: Asker[] = [
    await eyes.person(SELF, 'neighbour', ['lists', 'rules', 'approve']),
    await eyes.signedIn('shop'),
    // Which it does not reach.
    await eyes.signedIn('neighbour'),
  ];
  const plain: Asker[] = [];
  for (const platform of ['shop', '*']) {
    const grants: readonly Grant[] = listGrantableOperations(
      platform === '*' ? INSTALLATION_PLATFORM : toPlatformName(platform),
    );
    mighty.push(await eyes.person(SELF, platform, grants));
    for (const one of grants) plain.push(await eyes.person(SELF, platform, [one]));
  }
  return { mighty, plain };
}

/**
 * All requests that one person can make with all keys that could be issued: twice where steps add up, otherwise once.
 */
async function tryEverything(
  eyes: FourEyes,
  operations: typeof OPERATIONS = [...OPERATIONS, ...OPERATIONS],
): Promise<{ seen: readonly Seen[]; active: ReadonlySet<string> }> {
  const seen: Seen[] = [];
  const active = new Set<string>();
  const { mighty, plain } = await keysOf(eyes);
  for (const operation of operations) {
    const requests = requestsOf(operation, await knownTo(eyes, mighty.at(-1)));
    // A refused request is not tried in other words, and a key with all grants covers keys with one.
    let askers = [...mighty, ...plain];
    for (const { method, path, body, headers } of requests) {
      const granted: Asker[] = [];
      for (const key of askers) {
        const { status, body: said } = await key.ask<unknown>(method, path, body, headers);
        seen.push({ status, body: JSON.stringify(said) });
        if (status !== 403 && mighty.includes(key)) granted.push(key);
      }
      askers = granted;
      active.add(eyes.node.rollout.active.version);
    }
  }
  return { seen, active };
}

/** Names that cannot be guessed but are easy to read. */
async function knownTo({ store }: FourEyes, key: Asker | undefined) {
  const texts = await Promise.all(['*', 'shop'].map((one) => store.registers.read(`proposals:${one}`)));
  const ids = texts.map((text) => /"proposalId":"(\w+)"/.exec(text ?? '')?.[1] ?? 'none');
  const folder = await key?.ask<unknown>('GET', 'rules/versions/p2.v13');
  const digest = /"digest":"(\w{64})"/.exec(JSON.stringify(folder?.body))?.[1] ?? '';
  return { proposalId: ids, digest: [digest] };
}

const trusts = ({ status, body }: Seen) => status === 200 && body.includes('"group":"TRUSTED"');
/** With the secret that such an answer shows he reports that a payer has paid for an order that never was. */
async function paysByReporting(eyes: FourEyes, seen: readonly Seen[]): Promise<boolean> {
  const secrets = seen.flatMap(({ body }) => /"key":"(ka_\w+-?[\w-]*)"/.exec(body)?.[1] ?? []);
  const reports = secrets.map((key) =>
    new Tenant(eyes.application, key).outcome('stooge', 'invented', 'PAID'),
  );
  expect(secrets).to.have.length.of.at.least(2);
  return (await Promise.all(reports)).some(({ status }) => status === 200);
}

describe('nobody alone, with APPROVALS=required,', function () {
  this.timeout(600_000);
  // One store is enough: operations do not depend on it, and proposals are tested on both.
  const opened = temporarySqlite();
  let eyes: FourEyes;
  before(async () => {
    eyes = await startFourEyes(opened.store);
  });
  after(async () => {
    await eyes?.stop();
    await opened.remove();
  });

  it('brings a new version to active, trusts anybody, or reaches a payer of another platform, by any operation', async () => {
    const neighbour = await eyes.person('nick', 'neighbour');
    await neighbour.verdict({ clientIdKey: 'payer', orderRef: SECRET });
    const signedIn = await Promise.all(['shop', 'neighbour'].map((platform) => eyes.signedIn(platform)));
    const known = await Promise.all(signedIn.map((one) => one.ask('GET', 'rules')));
    expect(known.map(({ status }) => status)).to.deep.equal([200, 403]);
    const { seen, active } = await tryEverything(eyes);
    expect([...active]).to.deep.equal(['p2.v10']);
    await eyes.node.syncWithFleet();
    const { candidates } = eyes.node.rollout;
    const share = candidates.reduce((sum, { mode, percent }) => sum + (mode === 'canary' ? percent : 0), 0);
    expect(share).to.be.at.most(20);
    expect(eyes.node.rules.findByVersion('p2.v13')?.released).to.equal(false);
    expect(seen.filter(trusts)).to.deep.equal([]);
    expect(await paysByReporting(eyes, seen)).to.equal(false);
    expect(seen.filter(({ body }) => body.includes(SECRET))).to.deep.equal([]);
    expect(seen.filter(({ status }) => status === 202)).to.have.length.of.at.least(4);
  });
});

describe('one person alone, with APPROVALS=off,', function () {
  this.timeout(600_000);

  it('can do all of that by the same requests', async () => {
    const opened = temporarySqlite();
    const eyes = await startFourEyes(opened.store, false);
    try {
      const { seen, active } = await tryEverything(eyes, OPERATIONS);
      expect([...active]).to.include('p2.v12');
      expect(seen.some(trusts)).to.equal(true);
      expect(await paysByReporting(eyes, seen)).to.equal(true);
      expect(eyes.node.rules.findByVersion('p2.v13')?.released).to.equal(true);
    } finally {
      await eyes.stop();
      await opened.remove();
    }
  });
});
