/** Matches what stands between `params` and the name of an attribute, on one line or on several. */
const BEGUN_PARAMS = /\bparams["']?:\s*(?:\{[^{}]*|(?:window["']?:[^\n]*\n\s*)?)$/;

/**
 * Whether a `name:` after this text of a rule file names an attribute. A `name:` elsewhere is that of a
 * rule or a case.
 */
export function isBeforeAttributeName(text: string) {
  return BEGUN_PARAMS.test(text);
}
