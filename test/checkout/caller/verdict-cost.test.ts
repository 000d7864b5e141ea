import { createHook } from 'node:async_hooks';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { getHeapStatistics } from 'node:v8';
import { expect } from 'chai';
import { serviceOfSuite } from '../../service/running-service.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';

/** Enough for V8 to compile the code of a verdict. */
const WARM_UP = 3000;
const COUNTED = 1000;
/**
 * A verdict alone in its process allocates 53 kB on SQLite and 75 on Redis. In one that has run two thousand other tests it
 * allocates a tenth more: there V8 gives up code that it had compiled.
 *
 * On a busy machine V8 compiles later, uncompiled code allocates more, and more of the node's own work runs between
 * requests, so the first window that is lean enough counts.
 */
const WINDOWS_MAX = 30;
const AT_ONCE = 32;

/** Each request comes from a new address, so that none has a token yet. */
const RATE_LIMIT = { ratePerSecond: 1_000_000, burst: 1_000_000, trustedProxies: 1 };

describeOnStores('a plain verdict of a new payer', function (store) {
  this.timeout(120_000);
  const most = this.fullTitle().endsWith('SQLite') ? { promises: 50, kB: 62 } : { promises: 69, kB: 83 };
  let ask: (count: number) => Promise<void>;
  const { service } = serviceOfSuite(() => ({ store: store(), rateLimit: RATE_LIMIT }));
  before(async () => {
    const { key, callerUrl } = await service.tenant();
    const sockets = await Promise.all(Array.from({ length: AT_ONCE }, () => socketTo(callerUrl)));
    ask = (count) => askVerdicts(sockets, key, count);
    await ask(WARM_UP);
  });

  /** The least that a verdict adds to a counter; what is enough ends the counting. */
  const perVerdict = async (counter: () => number, enough: number) => {
    let least = Number.POSITIVE_INFINITY;
    for (let window = 0; window < WINDOWS_MAX && least > enough; window++) {
      const before = counter();
      await ask(COUNTED);
      least = Math.min(least, (counter() - before) / COUNTED);
    }
    return least;
  };

  it(`makes at most ${most.promises} promises`, async () => {
    let promises = 0;
    const hook = createHook({
      init: (_id, type) => {
        if (type === 'PROMISE') promises++;
      },
    });
    hook.enable();
    const made = await perVerdict(() => promises, most.promises);
    hook.disable();
    expect(made).to.be.within(most.promises / 2, most.promises);
  });

  it(`allocates at most ${most.kB} kB`, async () => {
    const bytes = await perVerdict(allocatedBytes, most.kB * 1000);
    expect(bytes / 1000).to.be.within(most.kB / 2, most.kB);
  });
});

function allocatedBytes(): number {
  return Number(Reflect.get(getHeapStatistics(), 'total_allocated_bytes'));
}

async function socketTo(url: string): Promise<Socket> {
  const { port, hostname } = new URL(url);
  const socket = connect(Number(port), hostname).setEncoding('latin1');
  await once(socket, 'connect');
  return socket;
}

let payers = 0;

/**
 * With events instead of promises, so that only the service's are counted; each socket asks again once it is
 * answered.
 */
function askVerdicts(sockets: readonly Socket[], key: string, count: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let asked = 0;
  let answered = 0;
  const next = (socket: Socket) => {
    if (asked++ < count) socket.write(requestOf(key, payers++));
  };
  for (const socket of sockets) {
    socket.removeAllListeners('data').on('data', (text: string) => {
      if (!text.startsWith('HTTP/1.1 200')) reject(new Error(text));
      if (++answered === count) resolve();
      next(socket);
    });
    next(socket);
  }
  return promise;
}

function requestOf(key: string, payer: number): string {
  const body = `{"sellPointKey":"shop-1","method":"card","amountRequested":"25.00","clientIdKey":"payer-${payer}","orderRef":"order-${payer}"}`;
  return `POST /v1/client/verdict HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 10.${payer >> 16}.${(payer >> 8) & 255}.${payer & 255}\r\nX-KA-Access-Key: ${key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}
