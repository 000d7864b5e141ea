/** Whether a part of an address can be decoded; otherwise it would be taken as it is, and two addresses would name one thing. */
export function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** `isSafeInPath` for the readers of the API document, and `reserved` texts that lead elsewhere. */
export function safeInPath(...reserved: readonly string[]) {
  return { pattern: '^[^/\\\\%?#]+$', not: { enum: ['.', '..', ...reserved] } };
}

/**
 * Whether no client library and no proxy can make another text of it in a path. URL parsers take `.` and `..` for
 * steps in the path also when they are encoded; proxies that decode a path take the other characters for its
 * structure.
 */
export function isSafeInPath(text: string): boolean {
  return text !== '.' && text !== '..' && !/[/\\%?#]/.test(text);
}

/** A text as messages put it at the end of an address: also with its dots encoded, so that no full stop is taken for one. */
export function inQuery(text: string): string {
  return encodeURIComponent(text).replaceAll('.', '%2E');
}
