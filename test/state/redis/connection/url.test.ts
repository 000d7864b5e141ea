import { expect } from 'chai';
import { formatAddresses, parseRedisUrl } from '#state/redis/connection/url.ts';

describe('REDIS_URL', () => {
  const none = { username: undefined, password: undefined };
  const secret = { username: undefined, password: 'secret' };
  const [a, b] = [
    { host: 'a', port: 1 },
    { host: 'b', port: 2 },
  ];
  const cluster = { kind: 'cluster', tls: false, endpoints: [a, b], ...secret };
  const sentinel = {
    kind: 'sentinel',
    endpoints: [a, { ...b, port: 26379 }],
    masterName: 'scoring',
    ...secret,
  };

  for (const [what, url, parsed] of [
    [
      'one server, by default at 6379 and database 0',
      'redis://cache',
      { kind: 'standalone', tls: false, endpoint: { host: 'cache', port: 6379 }, database: 0, ...none },
    ],
    [
      'TLS, credentials, an IPv6 address and a database',
      'rediss://me:p%40ss@[::1]:7000/3',
      {
        kind: 'standalone',
        tls: true,
        endpoint: { host: '::1', port: 7000 },
        database: 3,
        username: 'me',
        password: 'p@ss',
      },
    ],
    ['a list as a cluster', 'redis://:secret@a:1,redis://:secret@b:2', cluster],
    ['a list as a cluster', 'redis://:secret@a:1,b:2', cluster],
    ['a list as a cluster', 'redis://:secret@a:1, b:2', cluster],
    ['sentinels and their master', 'redis-sentinel://:secret@a:1,b/scoring', { ...sentinel, tls: false }],
    ['sentinels and their master', 'rediss-sentinel://:secret@a:1,b/scoring', { ...sentinel, tls: true }],
  ] as const)
    it(`takes ${what}: ${url}`, () => {
      expect(parseRedisUrl(url)).to.deep.equal(parsed);
    });

  for (const [url, complaint] of [
    ['localhost:6379', 'unknown scheme'],
    ['http://:secret@localhost', 'unknown scheme'],
    ['redis://', 'host or port is missing or wrong'],
    ['redis://:secret@:99999', 'host or port is missing or wrong'],
    ['redis://localhost:99999', 'host or port is missing or wrong'],
    ['redis://a b', 'host or port is missing or wrong'],
    ['redis://localhost/x', 'the database must be a whole number'],
    ['redis://localhost/-1', 'the database must be a whole number'],
    ['redis://:secret%@a', 'a % stands without two hexadecimal digits, where %25 would mean itself'],
    ['redis-sentinel://:secret@a:1,b:2', 'the name of the master is missing'],
  ] as const) {
    it(`refuses ${url} without repeating it`, () => {
      expect(() => parseRedisUrl(url))
        .to.throw(`REDIS_URL: ${complaint}; understood are redis://[user:password@]host:port[/database]`)
        .with.property('message')
        .that.does.not.include('secret');
    });
  }

  it('is shown by its addresses only', () => {
    expect(formatAddresses(parseRedisUrl('redis://me:secret@a:1,[::1]:2'))).to.equal('a:1, [::1]:2');
  });
});
