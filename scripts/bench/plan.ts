/** How much the full bench measures. */
export const FULL_EFFORT = {
  /** The rounds of each load that is compared with others, and the seconds of a load. */
  rounds: 5,
  seconds: 3,
  /** How long, in ms, a piece of pure work is repeated for one measurement. */
  sampleMs: 100,
  /** The clients in the large store, the verdicts of one busy client, and the clients on one fingerprint. */
  clients: 200_000,
  hotVerdicts: 10_000,
  sharing: 100_000,
  /** The decisions that are made, archived, verified and backtested, and those among which orders are looked up. */
  decisions: 1_000_000,
  searched: 10_000_000,
  shippingRounds: 4,
  /** For how many seconds requests arrive at fixed times, whatever the service does. */
  arrivalSeconds: 120,
  /** The decisions that are inserted into one SQLite file, at the last of three sizes. */
  keptDecisions: 10_000_000,
  /**
   * The experiments on drawn values at each split of the clients, the simulations of payers through the whole
   * service, and the payers of one simulation.
   */
  draws: 700,
  seeds: 20,
  payers: 1000,
};

type Effort = { readonly [Measure in keyof typeof FULL_EFFORT]: number };

export const QUICK_EFFORT: Effort = {
  rounds: 2,
  seconds: 1,
  sampleMs: 20,
  clients: 20_000,
  hotVerdicts: 1000,
  sharing: 5000,
  decisions: 50_000,
  searched: 100_000,
  shippingRounds: 1,
  arrivalSeconds: 10,
  keptDecisions: 100_000,
  draws: 70,
  seeds: 2,
  payers: 500,
};

export interface BenchPlan extends Effort {
  readonly dataDir: string;
  /** The folder in which archives are made. Those of an earlier run are used again. */
  readonly archivesDir: string;
  readonly onProgress: (text: string) => void;
}
