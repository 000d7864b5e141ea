import { expect } from 'chai';
import { createExamplePayments } from '../../scripts/example-data/example-payments.ts';
import { parseEventsOfRecordedLine } from '../../scripts/replay/recorded-payments.ts';

const PAYMENTS = createExamplePayments(1);

describe('example payments', () => {
  it('are the same for the same seed and others for another', () => {
    expect(createExamplePayments(1)).to.deep.equal(PAYMENTS);
    expect(createExamplePayments(2)).to.not.deep.equal(PAYMENTS);
  });

  it('are lines that a replay reads, in the order of time', () => {
    const read = PAYMENTS.flatMap((line, place) =>
      parseEventsOfRecordedLine(JSON.stringify(line), place + 1),
    );
    const payments = read.filter((event) => event.kind === 'payment');
    expect(payments.map(({ at }) => at)).to.deep.equal(
      payments.map(({ at }) => at).toSorted((a, b) => a - b),
    );
    expect(new Set(payments.map(({ orderRef }) => orderRef))).to.have.property('size', PAYMENTS.length);
  });

  it('end paid, unpaid and unknown, each often enough to be counted', () => {
    const ended = (outcome: string | undefined) => PAYMENTS.filter((line) => line.outcome === outcome).length;
    expect([ended('PAID'), ended('UNPAID'), ended(undefined)].every((count) => count >= 100)).to.equal(true);
  });

  it('share devices and addresses here and there, and do not say who means ill', () => {
    const clientsOf = (key: 'fingerprint' | 'ip') =>
      Map.groupBy(PAYMENTS, (line) => line[key])
        .values()
        .map((lines) => new Set(lines.map(({ clientIdKey }) => clientIdKey)).size);
    expect(Math.max(...clientsOf('fingerprint'))).to.equal(8);
    expect(Math.max(...clientsOf('ip'))).to.equal(8);
    const names = PAYMENTS.map(({ clientIdKey, fingerprint }) => `${clientIdKey} ${fingerprint}`);
    expect(names.every((name) => /^payer-\d+ device-\d+$/.test(name))).to.equal(true);
  });
});
