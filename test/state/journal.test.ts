import { expect } from 'chai';
import { array, assert, boolean, constantFrom, integer, option, property, record, string } from 'fast-check';
import { CLIENT_GROUPS } from '#decision/decision-words.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { OUTCOMES } from '#decision/payer/order.ts';
import { decodeJournalEntry, encodeJournalEntry, type JournalEntry } from '#state/journal.ts';

const anyAt = integer({ min: 0, max: 4_000_000_000_000 });
const maybe = option(string());
const base = {
  at: anyAt,
  platform: constantFrom(toPlatformName('shop'), toPlatformName('a-b')),
  clientIdKey: string(),
};

const scores = record({
  kind: constantFrom('score' as const),
  ...base,
  request: record({
    sellPointKey: string(),
    method: string(),
    amount: string(),
    currency: maybe,
    fingerprint: maybe,
    ip: maybe,
    jsOk: option(boolean()),
    honeypotTriggered: boolean(),
    userAgentPresent: boolean(),
    userAgentIsAutomated: boolean(),
    userAgentIsApp: boolean(),
  }),
  ruleVersion: string(),
  answer: record(
    {
      clientGroup: constantFrom(...CLIENT_GROUPS),
      paymentScore: string(),
      isBot: boolean(),
      preferredAcceptorKey: array(string()),
      payLimitValue: array(string()),
    },
    { requiredKeys: ['clientGroup', 'paymentScore', 'isBot'] },
  ),
});

const order = record({
  outcome: constantFrom(...OUTCOMES),
  cause: option(constantFrom('DECLINED' as const)),
  occurredAt: anyAt,
});
const outcomes = record(
  { kind: constantFrom('outcome' as const), ...base, orderRef: string(), order, report: order },
  { requiredKeys: ['kind', 'at', 'platform', 'clientIdKey', 'orderRef', 'order'] },
);

type Request = Extract<JournalEntry, { readonly kind: 'score' }>['request'];

describe('a journal entry as it is stored', () => {
  for (const [name, entries] of [
    ['a score', scores],
    ['an outcome', outcomes],
  ] as const)
    it(`of ${name} is read as it was written`, () => {
      assert(
        property(entries, (entry) => {
          expect(decodeJournalEntry(encodeJournalEntry(entry))).to.deep.equal(entry);
        }),
      );
    });

  const at = 1_795_000_000_000;
  const names = { at, platform: toPlatformName('shop'), clientIdKey: 'payer-1' };
  const asked = (
    device: Pick<Request, 'ip'> & Partial<Pick<Request, 'former'>>,
    jsOk: boolean | null,
  ): JournalEntry => ({
    kind: 'score',
    ...names,
    request: {
      sellPointKey: 'shop-1',
      method: 'card',
      amount: '25.00',
      currency: null,
      fingerprint: 'f',
      ...device,
      jsOk,
      honeypotTriggered: false,
      userAgentPresent: true,
      userAgentIsAutomated: false,
      userAgentIsApp: false,
    },
    ruleVersion: 'p2.v10',
    answer: { clientGroup: 'NEW', paymentScore: '0.5000', isBot: false },
  });

  it('stores outcomes and scores by position', () => {
    const order = { outcome: 'PAID', cause: null, occurredAt: at } as const;
    expect(encodeJournalEntry({ ...names, kind: 'outcome', orderRef: 'order-1', order })).to.equal(
      'o[0,1795000000000,"shop","payer-1","order-1",[0,"PAID",null,1795000000000]]',
    );
    expect(encodeJournalEntry(asked({ ip: 'i' }, true))).to.equal(
      's[1795000000000,"shop","payer-1",[131,"shop-1","card","25.00",null,"f","i"],"p2.v10",[1,"NEW","0.5000"]]',
    );
  });

  it('keeps the rare members of a score after the others', () => {
    const entry = asked({ ip: null, former: { fingerprint: 'before', ip: null } }, null);
    const text = encodeJournalEntry(entry);
    expect(text).to.include('"f",null,null,["before"]]');
    expect(decodeJournalEntry(text)).to.deep.equal(entry);
    expect(JSON.stringify(decodeJournalEntry(text))).to.equal(JSON.stringify(entry));
  });

  it('of another format is refused', () => {
    expect(() => decodeJournalEntry('x[1]')).to.throw(TypeError, 'no journal entry is stored as x[1]');
  });
});
