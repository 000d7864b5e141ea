/**
 * What one of each costs, as measured by `npm run bench -- --parts sizing,cost` on the machine that scripts/bench/README.md
 * names; the bench shows beside each measured point by how much these are off. CPU in us of one core, the rest in bytes.
 */
export const UNIT_COSTS = {
  /**
   * Of the processes that answer, shipping included, on a machine that nothing else used; beside other work up to twice that.
   * Scores and outcomes are taken to cost nine tenths of a verdict, which was not measured.
   */
  serviceMicros: { verdict: 130, score: 115, outcome: 115 },
  /** Of redis-server that has enough to do: asked for one thing at a time it takes up to four times as long for each. */
  redisMicros: { verdict: 32, idempotencyKey: 20, score: 48, outcome: 36 },
  /** Of the process that ships, a journal entry. */
  shippingMicros: { verdict: 48, score: 17, outcome: 17 },
  redis: {
    /** A payer after a single request, and after three or more. */
    state: { once: 225, known: 460 },
    /** What is kept of a payer beside the state once there is an outcome or an Idempotency-Key, and of each of those. */
    notes: 190,
    note: 57,
    /** A fingerprint and an address that no other payer has. */
    device: 288,
    decision: 420,
    /** What finds a decision by its order. */
    order: 160,
    idempotencyKey: 173,
    journal: { verdict: 100, score: 320, outcome: 230 },
    /** Of all this for the tables that hold the keys, as a factor. */
    tables: 1.08,
    /** An empty server. */
    server: 1_500_000,
  },
  /** What the append-only file grows by. */
  log: { verdict: 1000, idempotencyKey: 1000, score: 640, outcome: 890 },
  /** Between the service and Redis, both ways. */
  network: { verdict: 1250, idempotencyKey: 1300, score: 1340, outcome: 1750 },
  /** In segments of ten thousand rows or more; few decisions a day take more each. */
  archive: { verdict: 65, score: 50, outcome: 54 },
} as const;
