/** A client that sends its headers or body slower than this is cut off. */
export const HEADERS_TIMEOUT_MS = 5_000;
export const REQUEST_TIMEOUT_MS = 10_000;

/** The platform sends outcomes by the hundred thousand, and is slowed down to what the store takes. */
export const PLATFORM_REQUEST_TIMEOUT_MS = 300_000;

/** A client that does not take its answer is cut off, too. Half of the other limits, because one late write starts the count again. */
export const UNREAD_TIMEOUT_MS = 5_000;

/** Each check cuts off all connections that are late, and everybody else waits meanwhile; checking often keeps them few. */
export const TIMEOUT_CHECK_MS = 100;

/** Longer than the idle timeout of common load balancers, so that they close first. */
export const KEEP_ALIVE_MS = 75_000;
