/**
 * Loaded before a service to simulate a wrong clock: every `Date` in the process, threads included, is off by
 * CLOCK_OFFSET_MS, and so is its start time. The monotonic clock is right.
 */
const offsetMs = Number(process.env['CLOCK_OFFSET_MS']);
const RealDate = Date;
const skewedNow = () => RealDate.now() + offsetMs;

// The service keeps time from its start by the monotonic clock.
Object.defineProperty(performance, 'timeOrigin', { value: performance.timeOrigin + offsetMs });

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [skewedNow()] : args, newTarget),
  get: (target, name, receiver) => (name === 'now' ? skewedNow : Reflect.get(target, name, receiver)),
});
