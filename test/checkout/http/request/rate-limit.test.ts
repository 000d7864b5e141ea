import { createServer } from 'node:http';
import { expect } from 'chai';
import fc from 'fast-check';
import { getCallerAddress } from '#checkout/http/request/rate-limit.ts';
import { type BucketSettings, LocalRateBuckets, takeToken } from '#state/rate-buckets.ts';
import { listening } from '../../../servers/listening.ts';
import { call } from '../../../service/http-call.ts';
import { scoreBody } from '../../../service/request-bodies.ts';
import { type RunningService, startService } from '../../../service/running-service.ts';
import type { Tenant } from '../../../service/tenant.ts';
import { rawExchange, rawStatus } from '../raw-exchange.ts';

const AS_PROMISED: BucketSettings = { ratePerSecond: 20, burst: 20, delayMsMax: 2000 };

interface Arrival {
  readonly atMs: number;
  /** Null when it was turned away. */
  readonly delayMs: number | null;
}

/** The results of requests with these pauses (ms) between them. */
function arrivals(gapsMs: readonly number[], startMs: number, settings: BucketSettings): readonly Arrival[] {
  let atMs = startMs;
  let fullAtMs = 0;
  return gapsMs.map((gapMs) => {
    atMs += gapMs;
    const { admission, ...next } = takeToken(fullAtMs, atMs, settings);
    fullAtMs = next.fullAtMs;
    return { atMs, delayMs: admission.admitted ? admission.delayMs : null };
  });
}

describe('a rate bucket', () => {
  it('lets the burst pass, then delays, then refuses', () => {
    const atOnce = Array.from({ length: 70 }, () => 0);
    const delays = arrivals(atOnce, 1_000_000, AS_PROMISED).map(({ delayMs }) => delayMs);
    expect(delays.slice(0, 20)).to.deep.equal(Array.from({ length: 20 }, () => 0));
    expect(delays.slice(20, 60)).to.deep.equal(Array.from({ length: 40 }, (_, index) => 50 * (index + 1)));
    expect(delays.slice(60)).to.deep.equal(Array.from({ length: 10 }, () => null));
  });

  it('gives a token back every 1 / rate seconds', () => {
    const gapsMs = [...Array.from({ length: 20 }, () => 0), 50, 0, 94_000];
    const delays = arrivals(gapsMs, 5000, AS_PROMISED).map(({ delayMs }) => delayMs);
    expect(delays).to.deep.equal([...Array.from({ length: 21 }, () => 0), 50, 0]);
  });

  it('takes no token from a request that is refused', () => {
    const full = takeToken(1_003_050, 1_000_000, AS_PROMISED);
    expect(full).to.deep.equal({ admission: { admitted: false }, fullAtMs: 1_003_050 });
  });

  it('never lets more than burst + rate * time pass without delay', () => {
    const settings = fc.record({
      ratePerSecond: fc.integer({ min: 1, max: 200 }),
      burst: fc.integer({ min: 1, max: 50 }),
      delayMsMax: fc.integer({ min: 0, max: 3000 }),
    });
    const gapsMs = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 500 })), { maxLength: 200 });
    fc.assert(
      fc.property(settings, gapsMs, fc.nat(1e12), (limit, gaps, startMs) => {
        const undelayedAt = arrivals(gaps, startMs, limit)
          .filter(({ delayMs }) => delayMs === 0)
          .map(({ atMs }) => atMs);
        for (const [first, fromMs] of undelayedAt.entries()) {
          for (const [more, toMs] of undelayedAt.slice(first).entries()) {
            const allowed = limit.burst + (limit.ratePerSecond * (toMs - fromMs)) / 1000;
            expect(more + 1).to.be.at.most(allowed + 1e-3);
          }
        }
      }),
      { numRuns: 100 },
    );
  });

  it('never lets more than burst + rate * time through in all, delays included', () => {
    const gapsMs = fc.array(fc.integer({ min: 0, max: 100 }), { maxLength: 200 });
    fc.assert(
      fc.property(gapsMs, (gaps) => {
        const goesOnAt = arrivals(gaps, 0, AS_PROMISED).flatMap(({ atMs, delayMs }) =>
          delayMs === null ? [] : [atMs + delayMs],
        );
        const [firstMs = 0] = goesOnAt;
        for (const [index, atMs] of goesOnAt.entries()) {
          expect(index + 1).to.be.at.most(20 + ((atMs - firstMs) * 20) / 1000 + 1e-3);
        }
      }),
    );
  });

  it('says beforehand whether the next request passes at once', async () => {
    let nowMs = 1000;
    const buckets = new LocalRateBuckets(() => nowMs);
    const two: BucketSettings = { ratePerSecond: 1, burst: 2, delayMsMax: 2000 };
    const free = async () => {
      const expected = buckets.isFree('203.0.113.1', two);
      const admission = await buckets.take('203.0.113.1', two);
      expect(expected).to.equal(admission.admitted && admission.delayMs === 0);
      return expected;
    };
    expect([await free(), await free(), await free()]).to.deep.equal([true, true, false]);
    nowMs += 2000;
    expect(await free()).to.equal(true);
  });

  it('has fewer tokens after requests at another node', async () => {
    let nowMs = 1000;
    const buckets = new LocalRateBuckets(() => nowMs);
    const two: BucketSettings = { ratePerSecond: 1, burst: 2, delayMsMax: 2000 };
    buckets.learnDelay('203.0.113.1', two, 500);
    expect(buckets.isFree('203.0.113.1', two)).to.equal(false);
    nowMs += 1499;
    expect(buckets.isFree('203.0.113.1', two)).to.equal(false);
    nowMs += 1;
    expect(buckets.isFree('203.0.113.1', two)).to.equal(true);
  });

  it('is one for each network', async () => {
    const buckets = new LocalRateBuckets(() => 1000);
    const one: BucketSettings = { ratePerSecond: 1, burst: 1, delayMsMax: 0 };
    expect(await buckets.take('203.0.113.1', one)).to.deep.equal({ admitted: true, delayMs: 0 });
    expect(await buckets.take('203.0.113.1', one)).to.deep.equal({ admitted: false });
    expect(await buckets.take('203.0.113.2', one)).to.deep.equal({ admitted: true, delayMs: 0 });
  });
});

describe('the caller address of a request', () => {
  let address: (forwarded: readonly string[], trustedProxies: number) => Promise<string>;
  const server = createServer();
  before(async () => {
    const url = await listening(server);
    address = async (forwarded, trustedProxies) => {
      const { promise, resolve } = Promise.withResolvers<string>();
      server.once('request', (req, res) => {
        resolve(getCallerAddress(req, trustedProxies));
        res.end();
      });
      const lines = forwarded.map((value) => `X-Forwarded-For: ${value}\r\n`).join('');
      await rawExchange(url, `GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${lines}\r\n`);
      return promise;
    };
  });
  after(() => server.close());

  for (const [what, expected, proxies, ...requests] of [
    ['the connection without trusted proxies, whatever the header says', '127.0.0.1', 0, [], ['203.0.113.9']],
    [
      'what the one trusted proxy saw, not what the caller wrote',
      '203.0.113.9',
      1,
      ['203.0.113.9'],
      ['1.1.1.1, 2.2.2.2, 203.0.113.9'],
      ['1.1.1.1', '203.0.113.9'],
    ],
    [
      'what the outermost of two trusted proxies saw, without a port',
      '203.0.113.9',
      2,
      ['1.1.1.1, 203.0.113.9, 10.0.0.2'],
      ['203.0.113.9', '10.0.0.2'],
      ['203.0.113.9:51234, 10.0.0.2:80'],
    ],
    ['the address without the port that a proxy may add', '203.0.113.9', 1, ['203.0.113.9:51234']],
    [
      'an IPv6 address without brackets or port',
      '2001:db8::9',
      1,
      ['[2001:db8::9]:51234'],
      ['[2001:db8::9]'],
      ['2001:db8::9'],
    ],
    ['an IPv4 address that IPv6 holds', '203.0.113.9', 1, ['::ffff:203.0.113.9'], ['64:ff9b::cb00:7109']],
    ['a private address, which peers may have', '10.0.0.7', 1, ['10.0.0.7:80']],
    [
      'the connection when the entry is no address',
      '127.0.0.1',
      1,
      ['unknown'],
      ['_hidden'],
      ['203.0.113.9.1'],
    ],
    ['the connection when a request bypassed the proxy', '127.0.0.1', 1, [], [' , ,']],
    ['the connection when a request bypassed one of two proxies', '127.0.0.1', 2, ['203.0.113.9']],
  ] as const)
    it(`is ${what}`, async () => {
      for (const forwarded of requests) expect(await address(forwarded, proxies)).to.equal(expected);
    });
});

describe('the rate limit (interface, section 8)', () => {
  const startLimited = async (ratePerSecond: number, burst: number, trustedProxies: number) => {
    service = await startService({ rateLimit: { ratePerSecond, burst, trustedProxies } });
    shop = await service.tenant();
  };
  let service: RunningService;
  let shop: Tenant;
  afterEach(() => service.stop());

  const scoreFrom = (forwarded: string) => {
    const text = JSON.stringify(scoreBody());
    return rawExchange(
      shop.callerUrl,
      [
        'POST /v1/client/score HTTP/1.1',
        'Host: localhost',
        'Connection: close',
        'Content-Type: application/json',
        `X-KA-Access-Key: ${shop.key}`,
        `X-Forwarded-For: ${forwarded}`,
        `Content-Length: ${text.length}`,
        '',
        text,
      ].join('\r\n'),
    );
  };

  const metrics = async () => (await call<string>('GET', `${shop.platformUrl}/metrics`, {})).body;

  it('lets a burst pass, delays what is over it, and then drops the connection', async () => {
    await startLimited(20, 5, 0);
    const startedMs = performance.now();
    const answers = await Promise.all(Array.from({ length: 100 }, () => scoreFrom('-')));
    const statuses = answers.map(rawStatus);
    const dropped = statuses.filter((status) => status === null).length;
    expect(statuses.filter((status) => status === 200)).to.have.length(100 - dropped);
    // 5 pass at once and about 40 are delayed; the time that sending takes lets a few more in.
    expect(dropped).to.be.within(1, 55);
    expect(performance.now() - startedMs).to.be.above(1000);
    const text = await metrics();
    expect(text).to.include(`scoring_rate_limited_total{effect="dropped"} ${dropped}`);
    expect(text).to.match(/scoring_rate_limited_total\{effect="delayed"\} [1-9]/);
    expect(text).not.to.match(/status="404"/);
  });

  it('is of one address behind a trusted proxy, and of one IPv6 /64, whatever else is forged', async () => {
    await startLimited(1, 1, 1);
    const dropped = async (addresses: readonly string[]) => {
      const statuses = (await Promise.all(addresses.map(scoreFrom))).map(rawStatus);
      return statuses.filter((status) => status === null).length;
    };
    expect(await dropped(['203.0.113.1', '203.0.113.2', '203.0.113.3'])).to.equal(0);
    expect(await metrics()).not.to.include('effect="delayed"');
    const six = [1, 2, 3, 4, 5, 6];
    expect(await dropped(six.map((n) => `9.9.9.${n}, 203.0.113.9`))).to.be.at.least(2);
    expect(await dropped(six.map((n) => `2001:db8::${n}`))).to.be.at.least(2);
  });

  it('comes before the check of the key', async () => {
    await startLimited(1, 1, 0);
    const headers = { 'X-KA-Access-Key': 'wrong' };
    const ask = () =>
      call('POST', `${shop.callerUrl}/v1/client/score`, headers, {}).then(
        ({ status }) => status,
        () => null,
      );
    const statuses = await Promise.all(Array.from({ length: 8 }, ask));
    expect(statuses).to.include(401);
    expect(statuses).to.include(null);
  });

  it('is off at 0', async () => {
    await startLimited(0, 1, 0);
    // Few enough at once that overload control refuses nothing.
    const answers = await Promise.all(Array.from({ length: 30 }, () => shop.score()));
    expect(answers.filter(({ status }) => status !== 200)).to.deep.equal([]);
    expect(await metrics()).not.to.include('effect=');
  });

  it("does not apply to the platform's listener", async () => {
    await startLimited(1, 1, 0);
    const answers = await Promise.all(Array.from({ length: 20 }, () => shop.ask('GET', 'decisions')));
    expect(answers.every(({ status }) => status === 200)).to.equal(true);
  });
});
