import { expect } from 'chai';
import { serviceOfSuite } from '../../service/running-service.ts';

interface Reporting {
  readonly hints: {
    readonly ip: { readonly sent: number; readonly absent: number; readonly why: string | null };
    readonly fingerprint: { readonly sent: number; readonly absent: number; readonly why: string | null };
    readonly placeholderClients: number;
  };
}

interface ClientFacts {
  readonly facts: Readonly<Record<string, unknown>>;
}

describe('the device that a score shows', () => {
  const { shop } = serviceOfSuite();

  const linked = async (clientIdKey: string) => {
    const { body } = await shop.ask<{ devices: readonly object[] }>(
      'GET',
      `client/links?clientIdKey=${clientIdKey}`,
    );
    return body.devices.length;
  };

  const asks = async (clientIdKey: string, ip: string) => {
    await shop.score({ clientIdKey, ip });
    await shop.verdict({ clientIdKey, orderRef: `${clientIdKey}-1` });
  };

  it('is one address however a gateway writes it', async () => {
    for (const [n, ip] of [
      '203.0.113.62:51000',
      '203.0.113.62',
      '::ffff:203.0.113.62',
      '64:ff9b::cb00:713e',
    ].entries())
      await asks(`port-${n}`, ip);
    const { body } = await shop.ask<ClientFacts>('GET', 'client?clientIdKey=port-3');
    expect(JSON.stringify(body)).to.include('"clientsOnIp(1d)":4');
  });

  it('is two addresses where NAT64 holds two', async () => {
    await asks('nat-1', '64:ff9b::c633:6601');
    await asks('nat-2', '64:ff9b::5db8:d822');
    const { body } = await shop.ask<ClientFacts>('GET', 'client?clientIdKey=nat-2');
    expect(JSON.stringify(body)).to.include('"clientsOnIp(1d)":1');
  });

  it('links nobody by a placeholder or an address that is not public', async () => {
    for (const name of ['hidden-1', 'hidden-2']) {
      await shop.score({ clientIdKey: name, ip: '10.0.0.7', fingerprint: 'undefined' });
      await shop.verdict({ clientIdKey: name, orderRef: `${name}-1` });
    }
    expect(await linked('hidden-1')).to.equal(0);
  });

  it('is counted where it says nothing, by the metrics and for the platform', async () => {
    await shop.score({ clientIdKey: 'guest', ip: 'localhost', fingerprint: 'null' });
    const metrics = await (await fetch(`${shop.platformUrl}/metrics`)).text();
    expect(metrics).to.match(/scoring_absent_hints_total\{field="ip",why="notAnAddress"\} \d/);
    expect(metrics).to.match(/scoring_absent_hints_total\{field="fingerprint",why="placeholder"\} \d/);
    expect(metrics).to.match(/scoring_placeholder_clients_total\{operation="score"\} 1/);
    const { hints } = (await shop.ask<Reporting>('GET', 'reporting')).body;
    expect(hints.ip).to.deep.include({ why: 'notPublic', absent: 3 });
    expect(hints.fingerprint).to.deep.equal({ sent: 3, absent: 3, why: 'placeholder' });
    expect(hints.placeholderClients).to.equal(1);
  });
});
