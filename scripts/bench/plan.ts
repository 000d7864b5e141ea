/** How much is measured. */
export const FULL = {
  /** Rounds of each load that is compared with others, and how long a load takes. */
  rounds: 5,
  seconds: 3,
  /** How long a piece of pure work is repeated for one time of it. */
  sampleMs: 100,
  /** In the large store, beside one client with many verdicts and many clients on one fingerprint. */
  clients: 200_000,
  hotVerdicts: 10_000,
  sharing: 100_000,
  /** Made, archived, verified and backtested; an order is looked up among the others. */
  decisions: 1_000_000,
  searched: 10_000_000,
  shippingRounds: 4,
  /** Experiments on drawn values at each split, and worlds of payers through the whole service. */
  draws: 700,
  seeds: 20,
  payers: 1000,
};

type Effort = { readonly [Measure in keyof typeof FULL]: number };

export const QUICK: Effort = {
  rounds: 2,
  seconds: 1,
  sampleMs: 20,
  clients: 20_000,
  hotVerdicts: 1000,
  sharing: 5000,
  decisions: 50_000,
  searched: 100_000,
  shippingRounds: 1,
  draws: 70,
  seeds: 2,
  payers: 500,
};

export interface Plan extends Effort {
  readonly dataDir: string;
  /** Where archives are made; those of an earlier run are used again. */
  readonly archivesDir: string;
  readonly onProgress: (text: string) => void;
}
