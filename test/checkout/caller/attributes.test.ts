import { expect } from 'chai';
import { asking } from '../../rule-fixtures/declared-attributes.ts';
import { edited } from '../../rule-fixtures/sound-rules.ts';
import { serviceOfSuite } from '../../service/running-service.ts';

const DAY_SECONDS = 24 * 3600;

const BLOCKS_FOREIGN_CARDS =
  '{ fact: attribute, params: { name: cardCountry }, operator: notEqual, value: { fact: attribute, params: { name: ipCountry } } }';

interface Reporting {
  readonly hints: {
    readonly attributes: readonly {
      readonly name: string;
      readonly sent: number;
      readonly unknown: number;
      readonly why: string | null;
    }[];
    readonly undeclaredAttributes: number;
  };
}

describe('the attributes of a checkout', () => {
  const { service, shop } = serviceOfSuite(() => ({ rules: edited(asking(BLOCKS_FOREIGN_CARDS)) }));

  const verdictOf = async (clientIdKey: string, attributes?: object, more: object = {}) => {
    const sent = attributes === undefined ? {} : { attributes };
    const { body } = await shop.verdict({ clientIdKey, orderRef: `${clientIdKey}-1`, ...sent, ...more });
    return body.verdict;
  };

  const factsOf = async (clientIdKey: string) => {
    const { body } = await shop.ask<{ decisions: readonly { facts: Record<string, unknown> }[] }>(
      'GET',
      `client?clientIdKey=${clientIdKey}`,
    );
    const facts = Object.entries(body.decisions[0]?.facts ?? {});
    return Object.fromEntries(facts.filter(([label]) => label.startsWith('attribute(')));
  };

  it('decide where a rule asks for them, and are recorded whether one asks or not', async () => {
    expect(await verdictOf('away', { cardCountry: 'DE', ipCountry: 'FR', emailAgeDays: 3 })).to.equal(
      'BLOCK',
    );
    expect(await verdictOf('home', { cardCountry: 'DE', ipCountry: 'DE' })).to.equal('GET_NEW');
    expect(await verdictOf('silent')).to.equal('GET_NEW');
    expect(await factsOf('away')).to.deep.equal({
      'attribute(cardCountry)': 'DE',
      'attribute(ipCountry)': 'FR',
      'attribute(emailAgeDays)': 3,
      'attribute(usualAmount)': null,
      'attribute(cartCategory)': null,
      'attribute(returning)': null,
    });
  });

  it('are not known with a value of another type, too long or outside oneOf, and break no checkout', async () => {
    const wrong = {
      cardCountry: 'DEU',
      ipCountry: 49,
      cartCategory: 'toys',
      emailAgeDays: true,
      shoeSize: 43,
    };
    expect(await verdictOf('wrong', wrong)).to.equal('GET_NEW');
    expect(new Set(Object.values(await factsOf('wrong')))).to.deep.equal(new Set([null]));
    const metrics = await (await fetch(`${shop.platformUrl}/metrics`)).text();
    expect(metrics).to.match(/scoring_unknown_attributes_total\{attribute="cardCountry",why="length"\} 1/);
    expect(metrics).to.match(/scoring_unknown_attributes_total\{attribute="cartCategory",why="oneOf"\} 1/);
    expect(metrics).to.match(/scoring_undeclared_attributes_total\{operation="verdict"\} 1/);
    expect(metrics).not.to.include('shoeSize');
    const { hints } = (await shop.ask<Reporting>('GET', 'reporting')).body;
    expect(hints.undeclaredAttributes).to.equal(1);
    expect(hints.attributes.find(({ name }) => name === 'ipCountry')).to.deep.equal({
      name: 'ipCountry',
      sent: 3,
      unknown: 1,
      why: 'type',
    });
  });

  it('hold for the verdicts of 24 hours after a score', async () => {
    await shop.score({ clientIdKey: 'scored', attributes: { cardCountry: 'DE', ipCountry: 'FR' } });
    expect(await verdictOf('scored')).to.equal('BLOCK');
    service.clock.moveSeconds(DAY_SECONDS);
    expect(await verdictOf('scored')).to.equal('GET_NEW');
  });

  it('of a verdict win over those of a score, also where their value is not known', async () => {
    const said = { cardCountry: 'DE', ipCountry: 'FR' };
    await shop.score({ clientIdKey: 'moved', attributes: said });
    expect(await verdictOf('moved', { ipCountry: 'DE' })).to.equal('GET_NEW');
    await shop.score({ clientIdKey: 'mistaken', attributes: said });
    expect(await verdictOf('mistaken', { ipCountry: 49 })).to.equal('GET_NEW');
    expect((await factsOf('mistaken'))['attribute(ipCountry)']).to.equal(null);
  });

  it('are a part of the request that an Idempotency-Key stands for, in whatever order', async () => {
    const ask = (attributes: object) =>
      shop.verdict({ clientIdKey: 'again', orderRef: 'again-1', attributes }, { 'Idempotency-Key': 'again' });
    expect((await ask({ cardCountry: 'DE', ipCountry: 'DE' })).status).to.equal(200);
    const repeated = await ask({ ipCountry: 'DE', cardCountry: 'DE' });
    expect([repeated.status, repeated.headers.get('idempotent-replayed')]).to.deep.equal([200, 'true']);
    expect((await ask({ cardCountry: 'DE', ipCountry: 'FR' })).status).to.equal(422);
  });

  it('split decisions in Explore by their values', async () => {
    const ask = (query: string) =>
      shop.ask<{ exploration: { values: readonly { value: string; decisions: readonly number[] }[] } }>(
        'GET',
        `explore?${query}`,
      );
    const { body } = await ask('attribute=ipCountry&span=week');
    expect(body.exploration.values.map(({ value }) => value)).to.have.members(['DE', 'FR', 'not known']);
    expect((await ask('attribute=never')).body.exploration.values).to.deep.equal([]);
  });

  it('are no members that the answer names as ignored', async () => {
    const { headers } = await shop.verdict({
      clientIdKey: 'named',
      orderRef: 'named-1',
      attributes: { shoeSize: 43, cardCountry: 'DE' },
      colour: 'red',
    });
    expect(headers.get('x-ignored-members')).to.equal('colour');
  });

  it('that are null or empty count as absent', async () => {
    expect(await verdictOf('blank', { cardCountry: null, ipCountry: '' })).to.equal('GET_NEW');
    expect(await factsOf('blank')).to.include({ 'attribute(cardCountry)': null });
  });

  it('may be 16, with texts and names of 64 characters', async () => {
    const attributes = Object.fromEntries(
      Array.from({ length: 16 }, (_, n) => [
        `${String.fromCodePoint(65 + n)}${'😀'.repeat(63)}`,
        '😀'.repeat(64),
      ]),
    );
    expect((await shop.verdict({ clientIdKey: 'many', orderRef: 'many-1', attributes })).status).to.equal(
      200,
    );
  });
});

describe('attributes and personal data', () => {
  const SECRET_MAIL = 'ann@example.org';
  const CLEAR_TEXT = 'Xylophone';
  const { service, shop } = serviceOfSuite(() => ({
    rules: edited(
      asking(
        '{ fact: attribute, params: { name: email }, operator: equal, value: { fact: attribute, params: { name: accountEmail } } }',
        '{ email: { type: text, pseudonym: true }, accountEmail: { type: text, pseudonym: true }, hobby: { type: text } }',
      ),
    ),
  }));

  const ask = async (clientIdKey: string, attributes: object) => {
    const { body } = await shop.verdict({ clientIdKey, orderRef: `${clientIdKey}-1`, attributes });
    return body.verdict;
  };

  const keptOf = async (clientIdKey: string) => {
    const entries = (await service.store.readJournal(null, 1000)).entries;
    const exported = await shop.ask<object>('GET', `client/export?clientIdKey=${clientIdKey}`);
    const feed = await shop.ask<object>('GET', 'events');
    return JSON.stringify([entries, exported.body, feed.body, await shop.decisions({ clientIdKey })]);
  };

  it('are compared as pseudonyms, which an export and the journal have in the place of the text', async () => {
    await shop.score({ clientIdKey: 'ann', attributes: { accountEmail: SECRET_MAIL } });
    expect(await ask('ann', { email: SECRET_MAIL, hobby: CLEAR_TEXT })).to.equal('BLOCK');
    expect(await ask('ben', { email: SECRET_MAIL, accountEmail: 'ben@example.org' })).to.equal('GET_NEW');
    const kept = await keptOf('ann');
    expect(kept).not.to.include('example.org');
    expect(kept).to.match(/"attribute\(email\)":"hmac:[\w-]{22}"/);
    expect(kept).to.include(CLEAR_TEXT);
  });

  it('are gone with the payer who is erased', async () => {
    await shop.score({ clientIdKey: 'cat', attributes: { hobby: 'Quilting' } });
    await ask('cat', { hobby: 'Quilting' });
    expect(await keptOf('cat')).to.include('Quilting');
    await shop.ask('DELETE', 'client?clientIdKey=cat');
    expect(await keptOf('cat')).not.to.include('Quilting');
  });
});
