/** The weight of the expected shares, in clients, before any client is counted. */
const PRIOR_CLIENTS = 100;

/**
 * Tells whether chance cannot explain how many clients each arm of a draw got. This is the sequential multinomial
 * test: for a correct draw, the chance that it ever returns true is at most `alpha`, however often somebody looks
 * (Lindon and Malek, Anytime-valid inference for multinomial count data, 2022).
 */
export function isSampleRatioOff(
  arms: readonly { readonly clients: number; readonly share: number }[],
  alpha: number,
): boolean {
  const clients = arms.reduce((sum, one) => sum + one.clients, 0);
  const shares = arms.reduce((sum, { share }) => sum + share, 0);
  const evidence = arms.reduce(
    (sum, one) => {
      const share = one.share / shares;
      const before = PRIOR_CLIENTS * share;
      return (
        sum + computeLogGamma(before + one.clients) - computeLogGamma(before) - one.clients * Math.log(share)
      );
    },
    computeLogGamma(PRIOR_CLIENTS) - computeLogGamma(PRIOR_CLIENTS + clients),
  );
  return evidence >= -Math.log(alpha);
}

/**
 * Computes the logarithm of the gamma function by Stirling's series, once recurrence has raised the argument to 10 or
 * more.
 */
function computeLogGamma(value: number): number {
  let [argument, shift] = [value, 0];
  for (; argument < 10; argument += 1) shift += Math.log(argument);
  const series = 1 / (12 * argument) - 1 / (360 * argument ** 3) + 1 / (1260 * argument ** 5);
  return (argument - 0.5) * Math.log(argument) - argument + Math.log(2 * Math.PI) / 2 + series - shift;
}
