import { expect } from 'chai';
import { openToOthers } from '../servers/open-to-others.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { call } from '../service/http-call.ts';
import { issueKey } from '../service/issued-key.ts';
import { spawnService } from '../service/service-process.ts';
import { Tenant } from '../service/tenant.ts';

describe('the output of the service', () => {
  it('contains no raw key, fingerprint, IP or User-Agent', async () => {
    const dataDir = temporaryDirectory();
    const key = await issueKey({ dataDir });
    const service = await spawnService(dataDir, { LOG_LEVEL: 'trace' });
    const shop = new Tenant(service, key);
    const secrets = {
      key: key.slice(16),
      unknownKey: 'q'.repeat(43),
      fingerprint: 'finger-print-5519',
      ip: '203.0.113.199',
      userAgent: 'SecretBrowser/55.19 HeadlessChrome',
    };
    const { fingerprint, ip, userAgent } = secrets;
    const clientIdKey = 'logged';
    await shop.score({ clientIdKey, fingerprint, ip, userAgent }, { 'User-Agent': userAgent });
    await shop.verdict({ clientIdKey, fingerprint, ip, userAgent }, { 'X-Forwarded-For': ip });
    await shop.verdict({ clientIdKey }, { 'Idempotency-Key': 'logged' });
    await new Tenant(service, `ka_0123456789ab_${secrets.unknownKey}`).score({ clientIdKey, ip });
    await shop.post('score', JSON.stringify({ fingerprint, ip, userAgent }).slice(0, -1));
    await shop.score({ clientIdKey, fingerprint: `${fingerprint}\ud800` });
    await shop.post('score', { fingerprint: [fingerprint], ip: { ip }, userAgent: 7 });
    const seen = {
      metrics: JSON.stringify(await call('GET', `${service.platformUrl}/metrics`, {})),
      decisions: JSON.stringify(await shop.decisions()),
      client: JSON.stringify((await shop.client(clientIdKey)).body),
    };
    expect(openToOthers(dataDir)).to.deep.equal([]);
    expect(await service.stop()).to.equal(0);
    expect(service.stderr()).to.include('"operation":"score"');
    expect(seen.decisions).to.include(clientIdKey);
    const told = { ...seen, stdout: service.stdout(), stderr: service.stderr() };
    for (const [where, text] of Object.entries(told)) {
      for (const [what, secret] of Object.entries(secrets)) {
        expect(text.includes(secret), `${what} in ${where}`).to.equal(false);
      }
    }
    for (const line of service.stderr().trimEnd().split('\n')) {
      const entry: { service?: string } = JSON.parse(line);
      expect(entry.service).to.equal('client-scoring');
    }
  });
});
