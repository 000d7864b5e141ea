const SLOTS = 16384;

/** The cluster slot of a key (Redis Cluster specification, "Key distribution model"). */
export function hashSlot(key: string): number {
  return crc16(Buffer.from(hashTag(key))) % SLOTS;
}

/** What is between the first `{` and the next `}`, when there is anything; otherwise the whole key. */
function hashTag(key: string): string {
  const open = key.indexOf('{');
  const close = key.indexOf('}', open + 1);
  return open === -1 || close <= open + 1 ? key : key.slice(open + 1, close);
}

/** CRC-16/XMODEM. */
function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) {
      crc = (crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021;
    }
    crc &= 0xffff;
  }
  return crc;
}
