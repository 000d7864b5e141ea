/** What a decimal-string is (contract, section 2): digits and an optional fraction, no sign, exponent or blank. */
export const DECIMAL_PATTERN = '^[0-9]{1,20}(\\.[0-9]{1,10})?$';

/** One text for equal amounts: `010.50` and `10.5` are both `10.5`. */
export function normalAmount(amount: string): string {
  const [whole = '', fraction = ''] = amount.split('.');
  const digits = fraction.replace(/0+$/, '');
  return (whole.replace(/^0+(?=\d)/, '') || '0') + (digits === '' ? '' : `.${digits}`);
}
