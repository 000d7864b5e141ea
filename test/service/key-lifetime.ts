/** How long the keys of most tests live, which move their clocks by some weeks at most. */
export const KEY_LIFETIME_MS = 365 * 24 * 3_600_000;
