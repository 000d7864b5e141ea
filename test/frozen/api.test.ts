import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { breaks, DOCUMENTS, essence, plain } from './api-changes.ts';

describe('the API within v1', () => {
  for (const [who, document] of Object.entries(DOCUMENTS)) {
    it(`takes and answers ${who} as 0.1.0 did`, () => {
      const frozen = JSON.parse(readFileSync(join(import.meta.dirname, '0.1.0', `${who}.json`), 'utf8'));
      expect(breaks(frozen, essence(plain(document())))).to.deep.equal([]);
    });
  }
});

describe('a change of an API document', () => {
  const answer = (schema: object) => ({ content: { 'application/json': { schema } } });
  const document = ({
    required = ['a'],
    sent = ['X', 'Y'],
    verdicts = ['WAIT'],
    members = {},
    more = {},
  } = {}) =>
    plain({
      paths: {
        '/v1/thing': {
          post: {
            parameters: [{ in: 'query', name: 'limit', required: false, schema: { type: 'integer' } }],
            requestBody: answer({
              type: 'object',
              required,
              properties: { a: { type: 'string', enum: sent } },
            }),
            responses: { 200: answer({ $ref: '#/components/schemas/Thing' }) },
          },
          ...more,
        },
      },
      components: {
        schemas: {
          Thing: {
            type: 'object',
            required: ['verdict', 'text'],
            properties: { verdict: { type: 'string', enum: verdicts }, text: { type: 'string' }, ...members },
          },
        },
      },
    });
  const frozen = document();

  it('that adds an operation, a member or a value that may be sent breaks nothing', () => {
    const more = { get: { responses: { 200: answer({ type: 'string' }) } } };
    const now = document({ sent: ['X', 'Y', 'Z'], members: { extra: { type: 'string' } }, more });
    expect(breaks(frozen, now)).to.deep.equal([]);
  });

  it('that marks a member as deprecated breaks nothing, and one that was marked is named when it is gone', () => {
    const text = { text: { type: 'string', deprecated: true } };
    expect(breaks(frozen, document({ members: text }))).to.deep.equal([]);
    const old = { old: { type: 'string', deprecated: true } };
    expect(breaks(document({ members: old }), frozen)).to.deep.equal(['POST /v1/thing 200.old is gone']);
  });

  it('that requires more, takes less, answers otherwise or with less is named by its place', () => {
    const now = document({
      required: ['a', 'b'],
      sent: ['X'],
      verdicts: ['WAIT', 'PAUSE'],
      members: { text: { type: 'number' } },
    });
    expect(breaks(frozen, now)).to.deep.equal([
      'POST /v1/thing body.b is required now',
      'POST /v1/thing body.a takes Y no more',
      'POST /v1/thing 200.verdict may be PAUSE now',
      'POST /v1/thing 200.text was "string" and is "number"',
    ]);
  });

  it('that takes away an operation, a parameter, an answer or a member is named, too', () => {
    expect(breaks(frozen, { paths: {} })).to.deep.equal(['POST /v1/thing is gone']);
    const bare = { paths: { '/v1/thing': { post: { responses: {} } } } };
    expect(breaks(frozen, bare)).to.deep.equal([
      'POST /v1/thing query limit is gone',
      'POST /v1/thing body is gone',
      'POST /v1/thing 200 is gone',
      'POST /v1/thing 200 is gone',
    ]);
  });
});
