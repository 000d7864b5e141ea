const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

const MARK = '~';

/** Of the id that is being packed; made once, because there is one for every record. */
const UUID_BYTES = Buffer.alloc(16);

/** A text that takes less to store: most ids are UUIDs, whose 36 characters say what 22 can. */
export function packText(text: string): string {
  if (text.length === 36 && UUID.test(text)) {
    UUID_BYTES.write(text.replaceAll('-', ''), 'hex');
    return MARK + UUID_BYTES.toString('base64url');
  }
  return text.startsWith(MARK) ? MARK + text : text;
}

/** The text that was packed. */
export function unpackText(packed: string): string {
  if (!packed.startsWith(MARK)) return packed;
  const rest = packed.slice(MARK.length);
  if (rest.startsWith(MARK)) return rest;
  const hex = Buffer.from(rest, 'base64url').toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
