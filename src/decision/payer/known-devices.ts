import { BASE64_DIGITS, formatBase64Number, parseBase64Number } from './client-key.ts';

/**
 * The fingerprints and the addresses that came with a payer's score requests, with their dates. Each list is packed
 * into one text, with the device shown last at the end. The text is unpacked only when a score request adds a device
 * or a rule asks for the devices. Most verdicts store it unchanged.
 */
export interface KnownDevices {
  readonly fingerprints: string;
  readonly ips: string;
}

export const NO_KNOWN_DEVICES: KnownDevices = { fingerprints: '', ips: '' };

/** How many devices of each kind are remembered. */
export interface DeviceCounts {
  readonly fingerprints: number;
  readonly ips: number;
}

/** How many fingerprints, and how many addresses, of one payer are remembered: the ones shown last. */
export const KNOWN_DEVICES_MAX = 8;

/** A device is forgotten this many days of UTC after the day on which it was last shown. */
export const KNOWN_DEVICE_DAYS = 90;

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** A remembered device. Its packed form has 9 characters. */
interface KnownDevice {
  /** The first 22 bits of the device's HMAC. */
  readonly name: number;
  /** Epoch minutes. */
  readonly firstMinute: number;
  /** Epoch days. */
  readonly lastDay: number;
}

/** Times are stored modulo these ranges: 16 years of minutes, and more days than a payer's state is kept. */
const MINUTES = 2 ** 23;
const DAYS = 2 ** 9;

/**
 * A repeated score request is answered for the time of the first one, which may be a day ago. So the stored date of a
 * device may lie up to a day after that time. The second day is a margin.
 */
const AHEAD_MS_MAX = 2 * DAY_MS;

const NAME_CHARACTERS = 3;
const TIME_CHARACTERS = 6;
const DEVICE_CHARACTERS = NAME_CHARACTERS + TIME_CHARACTERS;

/**
 * A device that came with a score request: its HMAC, and its HMAC under the previous secret while the secret is being
 * changed.
 */
interface ShownDevice {
  readonly id: string;
  readonly formerId: string | null;
}

/** Adds a device that was shown at `now` (epoch ms). Returns the same text if nothing is new. */
export function addShownDeviceToPacked(packed: string, { id, formerId }: ShownDevice, now: number): string {
  const devices = unpackDevices(excludeOldPackedDevices(packed, now), now);
  const name = toDeviceName(id);
  const known =
    devices.find((device) => device.name === name) ??
    (formerId === null ? undefined : devices.find((device) => device.name === toDeviceName(formerId)));
  const firstMinute = known?.firstMinute ?? Math.floor(now / MINUTE_MS);
  const others = devices.filter((device) => device !== known && device.name !== name);
  const shown = { name, firstMinute, lastDay: Math.floor(now / DAY_MS) };
  return packDevices([...others, shown].slice(-KNOWN_DEVICES_MAX));
}

/** Removes the devices that were last shown too long ago. Returns the same text if no device is removed. */
export function excludeOldPackedDevices(packed: string, now: number): string {
  let start = 0;
  while (start < packed.length && isForgotten(readLastDay(packed, start, now), now))
    start += DEVICE_CHARACTERS;
  return start === 0 ? packed : packed.slice(start);
}

/**
 * Removes the devices that were last shown too long ago from both lists. Returns the same object if no device is
 * removed.
 */
export function excludeOldKnownDevices(devices: KnownDevices, now: number): KnownDevices {
  const fingerprints = excludeOldPackedDevices(devices.fingerprints, now);
  const ips = excludeOldPackedDevices(devices.ips, now);
  return fingerprints === devices.fingerprints && ips === devices.ips ? devices : { fingerprints, ips };
}

/** Counts the devices that are remembered at `now`. */
export function countKnownDevices({ fingerprints, ips }: KnownDevices, now: number): DeviceCounts {
  return { fingerprints: countPacked(fingerprints, now), ips: countPacked(ips, now) };
}

/**
 * Returns the beginning of the minute in which the device was first shown, in epoch ms. Returns null if the device
 * is not remembered.
 */
export function findFirstShownAt(packed: string, id: string, now: number): number | null {
  const name = toDeviceName(id);
  const known = unpackDevices(packed, now).find((device) => device.name === name);
  return known === undefined ? null : known.firstMinute * MINUTE_MS;
}

/** Moves the dates after `to` back, because the clock went back from `from` to `to` (epoch ms). */
export function moveKnownDevicesBack(devices: KnownDevices, from: number, to: number): KnownDevices {
  const back = (at: number) => (at > to ? Math.min(to, at - (from - to)) : at);
  const moved = (packed: string) =>
    packDevices(
      unpackDevices(packed, from).map(({ name, firstMinute, lastDay }) => ({
        name,
        firstMinute: Math.floor(back(firstMinute * MINUTE_MS) / MINUTE_MS),
        lastDay: Math.floor(back(lastDay * DAY_MS) / DAY_MS),
      })),
    );
  return { fingerprints: moved(devices.fingerprints), ips: moved(devices.ips) };
}

/** A remembered device in a form for people. */
export interface ListedDevice {
  /** The first four characters of the device's HMAC. The last two bits of the fourth character are left out. */
  readonly id: string;
  /** Epoch ms. */
  readonly firstShownAt: number;
  /** A day of UTC, like 2026-07-03. */
  readonly lastShownOn: string;
}

/** Lists the remembered devices, the device shown last at the end. */
export function listRememberedDevices(packed: string, now: number): readonly ListedDevice[] {
  return unpackDevices(packed, now).map(({ name, firstMinute, lastDay }) => ({
    id: formatBase64Number(name * 4, NAME_CHARACTERS + 1),
    firstShownAt: firstMinute * MINUTE_MS,
    lastShownOn: new Date(lastDay * DAY_MS).toISOString().slice(0, 10),
  }));
}

function countPacked(packed: string, now: number): number {
  return excludeOldPackedDevices(packed, now).length / DEVICE_CHARACTERS;
}

/** Reads the day from the last two digits: 12 bits, of which 9 are the day. */
function readLastDay(packed: string, start: number, now: number): number {
  const end = start + DEVICE_CHARACTERS;
  return restoreDay(now, parseBase64Number(packed.slice(end - 2, end)));
}

function restoreDay(now: number, number: number): number {
  return restoreNumber(Math.floor(now / DAY_MS), number % DAYS, DAYS, AHEAD_MS_MAX / DAY_MS);
}

function isForgotten(lastDay: number, now: number): boolean {
  return Math.floor(now / DAY_MS) - lastDay >= KNOWN_DEVICE_DAYS;
}

/** Returns 22 of the 24 bits in the first four characters of an HMAC. */
function toDeviceName(id: string): number {
  let bits = 0;
  for (let place = 0; place < 4; place++)
    bits = bits * 64 + Math.max(0, BASE64_DIGITS.indexOf(id.charAt(place)));
  return bits >>> 2;
}

function unpackDevices(packed: string, now: number): readonly KnownDevice[] {
  const devices: KnownDevice[] = [];
  for (let start = 0; start < packed.length; start += DEVICE_CHARACTERS)
    devices.push(unpackDevice(packed, start, now));
  return devices;
}

/** Unpacks one device. Its dates are the latest possible ones that are not after `now`. */
function unpackDevice(packed: string, start: number, now: number): KnownDevice {
  const nameEnd = start + NAME_CHARACTERS;
  const high = parseBase64Number(packed.slice(start, nameEnd));
  const times = parseBase64Number(packed.slice(nameEnd, start + DEVICE_CHARACTERS));
  const low = Math.floor(times / (MINUTES * DAYS));
  const minute = Math.floor(times / DAYS) % MINUTES;
  return {
    name: high * 16 + low,
    firstMinute: restoreNumber(Math.floor(now / MINUTE_MS), minute, MINUTES, AHEAD_MS_MAX / MINUTE_MS),
    lastDay: restoreDay(now, times),
  };
}

/**
 * Returns the largest number up to `now` with this remainder modulo `range`. If a number with this remainder lies at
 * most `ahead` after `now`, returns `now` in its place.
 */
function restoreNumber(now: number, remainder: number, range: number, ahead: number): number {
  const age = (((now - remainder) % range) + range) % range;
  return age >= range - ahead ? now : now - age;
}

function packDevices(devices: readonly KnownDevice[]): string {
  return devices
    .map(({ name, firstMinute, lastDay }) => {
      const times = ((name % 16) * MINUTES + (firstMinute % MINUTES)) * DAYS + (lastDay % DAYS);
      return (
        formatBase64Number(Math.floor(name / 16), NAME_CHARACTERS) +
        formatBase64Number(times, TIME_CHARACTERS)
      );
    })
    .join('');
}
