import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import fc from 'fast-check';
import type { OpenApiDocument } from '#workbench/openapi/document.ts';
import {
  askOf,
  type DescribedOperation,
  describedOperations,
  parametersOf,
  requiredOf,
  type Schema,
} from './described-request.ts';
import { type Ask, Live } from './live-api.ts';

/** Values that a schema allows, made from the schema alone. */
class Values {
  readonly #schemas: Readonly<Record<string, Schema>>;
  readonly #ajv = new Ajv2020({ strict: false, validateFormats: false });

  constructor({ components }: OpenApiDocument) {
    this.#schemas = Object.fromEntries(
      Object.entries(components.schemas).map(([name, schema]) => [name, Object(schema)]),
    );
    this.#ajv.addSchema({ $id: 'api', components: { schemas: components.schemas } });
  }

  /** Values that pass the whole schema, including what it excludes. */
  allowedBy(schema: Schema): fc.Arbitrary<unknown> {
    const { $ref } = schema;
    const validate = this.#ajv.compile($ref === undefined ? schema : { $ref: `api${$ref}` });
    return this.of(schema).filter((value) => validate(value));
  }

  of(schema: Schema): fc.Arbitrary<unknown> {
    const { $ref, anyOf, oneOf } = schema;
    if ($ref !== undefined) return this.of(this.#schemas[$ref.replace(/^.*\//, '')] ?? {});
    const choices = anyOf ?? oneOf;
    // Beside a type they only say what is not allowed.
    if (choices !== undefined && schema.type === undefined)
      return fc.oneof(...choices.map((choice) => this.of(choice)));
    if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
    const types = [schema.type ?? []].flat();
    return fc.oneof(...types.map((type) => this.#plain(type, schema)));
  }

  #plain(type: string, schema: Schema): fc.Arbitrary<unknown> {
    const { minItems = 0, maxItems = 3, minimum = -1000, maximum = 1_000_000_000_000 } = schema;
    switch (type) {
      case 'string':
        return textOf(schema);
      case 'boolean':
        return fc.boolean();
      case 'integer':
        return fc.integer({ min: Math.max(minimum, 0), max: Math.min(maximum, Number.MAX_SAFE_INTEGER) });
      case 'number':
        return fc.double({ min: minimum, max: maximum, noNaN: true });
      case 'array':
        return fc.array(this.of(schema.items ?? {}), {
          minLength: minItems,
          maxLength: Math.min(maxItems, 3),
        });
      case 'object':
        return this.#object(schema);
      default:
        return fc.constant(null);
    }
  }

  #object({ properties = {}, required = [], patternProperties = {} }: Schema): fc.Arbitrary<unknown> {
    const members: Record<string, fc.Arbitrary<unknown>> = {};
    for (const [name, member] of Object.entries(properties)) members[name] = this.of(member);
    const dictionary = Object.entries(patternProperties).map(([pattern, value]) =>
      fc.dictionary(fc.stringMatching(new RegExp(pattern), { maxLength: 20 }), this.of(value), {
        maxKeys: 2,
      }),
    );
    return dictionary[0] ?? fc.record(members, { requiredKeys: [...required] });
  }
}

function textOf({ pattern, format, minLength = 0, maxLength = 50 }: Schema): fc.Arbitrary<string> {
  if (format === 'date-time') {
    const range = { min: new Date('2020-01-01'), max: new Date('2030-01-01'), noInvalidDate: true };
    return fc.date(range).map((date) => date.toISOString());
  }
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern), { size: 'medium' });
  return fc
    .string({ unit: 'grapheme', minLength, maxLength: Math.max(minLength, Math.min(maxLength, 40)) })
    .filter((text) => [...text].length >= minLength && [...text].length <= maxLength);
}

const DESCRIBED = describedOperations().map((described) => ({
  ...described,
  values: new Values(described.api.document),
}));

/** Statuses of bad requests. */
const REFUSALS = [400, 405, 413, 415];

/** What holds between two members or parameters, and no schema can say; the descriptions do. */
const UNSAID =
  /must be after (?:from|againstFrom)|goes only with againstFrom|digits after the point; |must not be before from|goes with neither orderRef nor clientIdKey|is not a cursor of this installation|is for keys of the whole installation/;

describe('a request that the API documents allow', () => {
  let live: Live;
  before(async () => {
    live = await Live.start();
  });
  after(() => live.stop());

  /** Which of these requests are refused, and what is not as documented of the problems that they meet. */
  async function complaints({ api, operation: { operationId } }: DescribedOperation, asks: readonly Ask[]) {
    const found: string[] = [];
    for (const ask of asks) {
      const answer = await live.ask(ask);
      const { status, text } = answer;
      const refusedLine =
        ask.headers?.['Content-Type'] === 'application/x-ndjson' && text.includes('"error":"malformed');
      const isRefused = (REFUSALS.includes(status) || refusedLine) && !UNSAID.test(text);
      const undocumented = status < 400 ? [] : api.complaints(operationId, answer);
      if (isRefused || undocumented.length > 0)
        found.push(`${ask.method} ${ask.path} ${ask.body ?? ''}: ${status} ${undocumented} ${text}`);
    }
    return found;
  }

  for (const described of DESCRIBED) {
    const { operation, values } = described;
    const content = Object.entries(operation.requestBody?.content ?? {});

    it(`is taken by the service: ${operation.operationId}`, async () => {
      // Waiting for an event takes as long as it says, and is tested beside the feed.
      const parameters = parametersOf(described).filter(({ name }) => name !== 'wait');
      const given = fc.record(
        Object.fromEntries(parameters.map(({ name, schema }) => [name, values.allowedBy(schema)])),
        { requiredKeys: parameters.filter(({ required }) => required).map(({ name }) => name) },
      );
      const bodies = content.map(([type, { schema }]) =>
        fc.tuple(fc.constant(type), values.allowedBy(schema)),
      );
      const body = bodies.length === 0 ? fc.constant([null, null] as const) : fc.oneof(...bodies);
      const requests = fc.sample(fc.tuple(given, body), { numRuns: 20, seed: 7 });
      const asks = requests.map(([members, [type, value]]) => askOf(described, members, type, value));
      expect(await complaints(described, asks)).to.deep.equal([]);
    });

    for (const [type, { example }] of content) {
      it(`is its example as ${type}: ${operation.operationId}`, async () => {
        const answer = await live.ask(askOf(described, requiredOf(described), type, example));
        expect(REFUSALS, answer.text).to.not.include(answer.status);
        expect(answer.text).to.not.include('"malformed');
      });
    }
  }
});
