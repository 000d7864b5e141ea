/**
 * Loaded before a service whose machine has a wrong clock: every `Date` in the process, threads included, is
 * off by CLOCK_OFFSET_MS, and so is the moment of its start. The monotonic clock runs as it should.
 */
const offsetMs = Number(process.env['CLOCK_OFFSET_MS']);
const RealDate = Date;
const skewedNow = () => RealDate.now() + offsetMs;

// The service carries the clock that it found at its start on by the monotonic one.
Object.defineProperty(performance, 'timeOrigin', { value: performance.timeOrigin + offsetMs });

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [skewedNow()] : args, newTarget),
  get: (target, name, receiver) => (name === 'now' ? skewedNow : Reflect.get(target, name, receiver)),
});
