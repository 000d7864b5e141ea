/** What a connection to Redis trusts and proves, beside the URL. Plain data, so that it can be handed to a thread. */
export interface RedisSecurity {
  /** PEM: the authorities that may have signed the servers' certificates; absent, those that Node knows. */
  readonly ca?: string;
  /** PEM: what this client shows where the servers ask for a certificate. */
  readonly cert?: string;
  readonly key?: string;
  /** Of the Sentinels; that of the servers that keep data is in the URL. */
  readonly sentinelPassword?: string;
}

/** The part of a client's socket options that makes it speak TLS, or nothing. */
export function tlsOptions(tls: boolean, { ca, cert, key }: RedisSecurity) {
  if (!tls) return {};
  return {
    tls: true,
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  } as const;
}
