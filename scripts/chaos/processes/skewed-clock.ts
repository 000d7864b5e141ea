/**
 * Loaded before a service whose machine has a wrong clock: every `Date` in the process, threads included, is
 * off by CLOCK_OFFSET_MS. The monotonic clock is right, as it is on such a machine.
 */
const offsetMs = Number(process.env['CLOCK_OFFSET_MS']);
const RealDate = Date;
const skewedNow = () => RealDate.now() + offsetMs;

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [skewedNow()] : args, newTarget),
  get: (target, name, receiver) => (name === 'now' ? skewedNow : Reflect.get(target, name, receiver)),
});
