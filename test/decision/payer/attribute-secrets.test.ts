import { expect } from 'chai';
import { joinAttributes, renameFormerPseudonyms } from '#decision/payer/attribute-secrets.ts';
import { noteAttributeValues, toReadableAttributeValues } from '#decision/payer/attribute-values.ts';
import type { AttributesUnderBothSecrets } from '#decision/payer/attributes.ts';
import { type ClientState, UNKNOWN_CLIENT_STATE } from '#decision/payer/client-state.ts';
import { getKnownHints, type Hints, rememberScore, type ScoreHints } from '#decision/payer/hints.ts';
import { encodeClientState } from '#decision/payer/state-document.ts';

const NOW = 1_800_000_000_000;

/** The pseudonym of a text under a secret with this id. */
const hmac = (text: string, id: string) => `hmac:${text.padEnd(19, '-')}${id}`;

const OLD = 'old';
const NEW = 'new';

/** Said to a node that has both secrets. */
const both = (name: string, text: string): AttributesUnderBothSecrets => ({
  attributes: { [name]: hmac(text, NEW) },
  former: { attributes: { [name]: hmac(text, OLD) } },
});

/** Said to a node that has this secret alone. */
const under = (id: string, name: string, text: string): AttributesUnderBothSecrets => ({
  attributes: { [name]: hmac(text, id) },
});

const CHANGING = { own: NEW, former: OLD };

describe('attributes of a score and of a verdict, where the secret changed in between', () => {
  it('are equal where their texts are, and both forms of both are known', () => {
    const joined = joinAttributes(under(OLD, 'card', '4242'), both('payout', '4242'), CHANGING);
    expect(joined).to.deep.equal({
      attributes: { card: hmac('4242', NEW), payout: hmac('4242', NEW) },
      former: { attributes: { card: hmac('4242', OLD), payout: hmac('4242', OLD) } },
    });
    const other = joinAttributes(under(OLD, 'card', '1881'), both('payout', '4242'), CHANGING);
    expect(other.attributes).to.deep.equal({ card: hmac('1881', OLD), payout: hmac('4242', NEW) });
  });

  it('are those of the verdict where both say one, also where it is not known', () => {
    const said = both('card', '4242');
    expect(joinAttributes(both('card', '1881'), said, CHANGING)).to.deep.equal(said);
    const unknown = { attributes: { card: null } };
    expect(joinAttributes(both('card', '1881'), unknown, CHANGING)).to.deep.equal(unknown);
    const [card, payout] = [both('card', '1881'), both('payout', '1881')];
    const held = {
      attributes: { ...card.attributes, ...payout.attributes },
      former: { attributes: { ...card.former?.attributes, ...payout.former?.attributes } },
    };
    const old = joinAttributes(both('card', '1881'), under(OLD, 'card', '4242'), { own: OLD, former: null });
    expect(old, 'a node of before').to.deep.equal(under(OLD, 'card', '4242'));
    expect(joinAttributes(held, unknown, CHANGING).former?.attributes).to.have.all.keys('payout');
  });

  it('are read under the secret that the node has, and are not known where it has none of theirs', () => {
    const held = both('card', '4242');
    const old = { own: OLD, former: null };
    expect(joinAttributes(held, {}, old)).to.deep.equal({
      attributes: { card: hmac('4242', OLD) },
      former: { attributes: { card: hmac('4242', NEW) } },
    });
    expect(joinAttributes(under(NEW, 'card', '4242'), {}, old).attributes).to.deep.equal({ card: null });
    expect(joinAttributes(held, {}, { own: 'xyz', former: 'uvw' }).attributes).to.deep.equal({ card: null });
    expect(joinAttributes(held, {}, { own: 'xyz', former: NEW }).attributes).to.deep.equal(held.attributes);
  });

  it('leave values in clear and those of no change as they are', () => {
    const clear = { attributes: { country: 'DE', age: 3, isKnown: false, none: null } };
    expect(joinAttributes(clear, {}, CHANGING)).to.deep.equal(clear);
    const [held, said] = [under(OLD, 'card', '4242'), under(OLD, 'payout', '1881')];
    expect(joinAttributes(held, said, { own: OLD, former: null })).to.deep.equal({
      attributes: { ...held.attributes, ...said.attributes },
    });
  });
});

const NOTHING: ScoreHints = {
  fingerprint: null,
  ip: null,
  jsOk: null,
  honeypotTriggered: false,
  userAgentPresent: false,
  userAgentIsAutomated: false,
  userAgentIsApp: false,
};

function scored(attributes: Readonly<Record<string, string>>): Hints {
  const asking = { request: 'a request', changes: 0, devices: { fingerprints: 0, ips: 0 } };
  return rememberScore(null, { ...NOTHING, attributes }, asking, NOW).hints;
}

/** A payer whose scores and verdicts said cards under the former secret. */
function payerOf(...cards: readonly string[]): ClientState {
  const pseudonyms = cards.map((card, index) => [`card${index}`, hmac(card, OLD)] as const);
  return {
    ...UNKNOWN_CLIENT_STATE,
    lastAt: NOW,
    hints: scored(Object.fromEntries(pseudonyms)),
    attributeValues: noteAttributeValues('', pseudonyms, NOW),
  };
}

describe('the state of a payer while the secret changes', () => {
  it('has the new pseudonym of a text in the place of the former one, beside which the score keeps it', () => {
    const payer = renameFormerPseudonyms(payerOf('one', 'two'), both('payout', 'one'));
    expect(getKnownHints(payer.hints, NOW)).to.deep.include({
      attributes: { card0: hmac('one', NEW), card1: hmac('two', OLD) },
      former: { fingerprints: [], ips: [], attributes: { card0: hmac('one', OLD) } },
    });
    expect(renameFormerPseudonyms(payer, both('payout', 'one'))).to.deep.equal(payer);
  });

  it('has a text once that was seen under both secrets, as it was seen last', () => {
    const values = noteAttributeValues(
      noteAttributeValues(
        noteAttributeValues('', [['card', 'hmac:newOne']], NOW - 3),
        [['card', 'hmac:second']],
        NOW - 2,
      ),
      [['card', 'hmac:oldOne']],
      NOW - 1,
    );
    const stated = {
      attributes: { card: 'hmac:newOne' },
      former: { attributes: { card: 'hmac:oldOne' } },
    };
    const renamed = renameFormerPseudonyms({ ...UNKNOWN_CLIENT_STATE, attributeValues: values }, stated);
    expect(toReadableAttributeValues(renamed.attributeValues)['card']).to.deep.equal([
      { token: 'second', at: NOW - 2 },
      { token: 'newOne', at: NOW - 1 },
    ]);
  });

  it('stores a renamed attribute once, though a remembered score knew it, too', () => {
    const payer = renameFormerPseudonyms(payerOf('one'), both('card0', 'one'));
    expect(encodeClientState(payer).split('"card0",[')).to.have.length(2);
  });

  it('is the same object where no secret is being changed', () => {
    const payer = payerOf('one');
    expect(renameFormerPseudonyms(payer, under(OLD, 'card0', 'one'))).to.equal(payer);
  });
});
