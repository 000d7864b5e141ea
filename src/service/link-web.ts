import type {
  Device,
  DeviceClients,
  LinkReading,
  LinkTime,
  SeenClient,
} from '../archive/read/linked-clients.ts';

/** How a client is linked to the one in question, the closest first. */
export const TIES = {
  self: 'the client itself',
  device: 'by a device at each step',
  addresses: 'by two addresses at least, where not by a device',
  address: 'by a single address somewhere on the way, which neighbours share, too',
} as const;

type Tie = keyof typeof TIES;

/** A device or address of more clients is a shop's terminal or a carrier's: it is shown, and nobody is linked by it. */
export const DEVICE_CLIENTS_MAX = 30;

const DEVICES_MAX = 60;

export interface LinksAsk extends LinkTime {
  readonly depth: number;
  readonly clientsMax: number;
}

/** Clients and devices around a client. */
export interface Web {
  readonly devices: readonly DeviceClients[];
  /** The shown clients, the closest first. */
  readonly ties: ReadonlyMap<string, Tie>;
  /** The devices on which the wanted clients were seen. */
  readonly seen: readonly SeenClient[];
  readonly cut: { readonly devices: number; readonly clients: number };
}

/** Goes from the client to its devices, to the clients on them, and once more. */
export async function webAround(
  reading: LinkReading,
  clientIdKey: string,
  { depth, clientsMax }: LinksAsk,
): Promise<Web> {
  const devices = new Map<string, DeviceClients>();
  let ties: ReadonlyMap<string, Tie> = new Map([[clientIdKey, 'self']]);
  let seen: readonly SeenClient[] = [];
  let devicesCut = 0;
  let clientsCut = 0;
  let newcomers: readonly string[] = [clientIdKey];
  for (let step = 0; step < depth && newcomers.length > 0; step += 1) {
    const own = await reading.devicesOf(newcomers);
    const further = newestDevices(own).filter((device) => !devices.has(textOf(device)));
    const read = await reading.clientsOn(further.slice(0, DEVICES_MAX), DEVICE_CLIENTS_MAX);
    devicesCut += Math.max(0, further.length - DEVICES_MAX);
    for (const one of read) devices.set(textOf(one.device), one);
    const onHubs = own.filter((one) => devices.get(textOf(one))?.seen.length === 0);
    seen = [...seen, ...onHubs, ...read.flatMap((one) => one.seen)];
    const known = ties;
    const all = tiesFrom(clientIdKey, devices, step + 1);
    ties = new Map([...all].slice(0, clientsMax));
    clientsCut = all.size - ties.size;
    newcomers = [...ties.keys()].filter((one) => !known.has(one));
  }
  const shown = seen.filter((one) => ties.has(one.clientIdKey));
  return {
    devices: [...devices.values()],
    ties,
    seen: shown,
    cut: { devices: devicesCut, clients: clientsCut },
  };
}

/** As shared lists take it. */
export function textOf({ hmac }: Device): string {
  return `hmac:${hmac}`;
}

/** The last tie-breaker of every order here: the result is the same wherever rows were read from. */
export function byText(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

/** Each once, the one that was shown last first. */
function newestDevices(seen: readonly SeenClient[]): readonly Device[] {
  const newestFirst = seen.toSorted((a, b) => b.lastAt - a.lastAt || byText(a.hmac, b.hmac));
  return [...new Map(newestFirst.map(({ kind, hmac }) => [textOf({ kind, hmac }), { kind, hmac }])).values()];
}

const CLOSEST_FIRST = ['self', 'device', 'addresses', 'address'] as const satisfies readonly Tie[];

/** A path is as close as its weakest step, and of several paths the closest counts. Returns the closest first. */
function tiesFrom(
  clientIdKey: string,
  devices: ReadonlyMap<string, DeviceClients>,
  steps: number,
): ReadonlyMap<string, Tie> {
  const shared = sharedDevices(devices);
  const ties = new Map<string, Tie>([[clientIdKey, 'self']]);
  for (let step = 0; step < steps; step += 1)
    for (const [from, tie] of [...ties])
      for (const [to, kinds] of [...(shared.get(from) ?? [])].toSorted(([a], [b]) => byText(a, b))) {
        const weaker = weakest(tie, tieBy(kinds));
        const before = ties.get(to);
        if (before === undefined || weakest(before, weaker) !== weaker) ties.set(to, weaker);
      }
  const rank = ([, tie]: readonly [string, Tie]) => CLOSEST_FIRST.indexOf(tie);
  return new Map([...ties].toSorted((a, b) => rank(a) - rank(b)));
}

/** For each client the kinds of device that link it to each other client. */
function sharedDevices(devices: ReadonlyMap<string, DeviceClients>) {
  const shared = new Map<string, Map<string, readonly Device['kind'][]>>();
  for (const { device, seen } of devices.values())
    for (const { clientIdKey: one } of seen)
      for (const { clientIdKey: other } of seen) {
        if (one === other) continue;
        const others = shared.get(one) ?? new Map<string, readonly Device['kind'][]>();
        others.set(other, [...(others.get(other) ?? []), device.kind]);
        shared.set(one, others);
      }
  return shared;
}

function tieBy(kinds: readonly Device['kind'][]): Tie {
  if (kinds.includes('fingerprint')) return 'device';
  return kinds.length > 1 ? 'addresses' : 'address';
}

function weakest(a: Tie, b: Tie): Tie {
  return CLOSEST_FIRST.indexOf(a) > CLOSEST_FIRST.indexOf(b) ? a : b;
}
