/** Clients are drawn in so many clusters: enough for an interval, few enough for any number of clients. */
const CLUSTERS = 1000;

/** SQL: the cluster of a client, whose decisions and orders hang together; clusters do not. */
export function clusterOf(clientHash: string): string {
  return `(${clientHash} % ${CLUSTERS})::INT`;
}
