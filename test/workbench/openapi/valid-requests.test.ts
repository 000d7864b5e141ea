import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import fc from 'fast-check';
import type { OpenApiDocument, OperationObject } from '#workbench/openapi/document.ts';
import { callerDocument } from '#workbench/platform/caller-document.ts';
import { platformDocument } from '#workbench/platform/platform-operations.ts';
import { DescribedApi } from './described-api.ts';
import { type Ask, Live } from './live-api.ts';

/** JSON Schema as far as the documents describe requests with it. */
interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly format?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
}

interface DescribedParameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly schema: Schema;
}

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

interface Described {
  readonly api: DescribedApi;
  readonly method: string;
  readonly path: string;
  readonly operation: OperationObject;
  readonly values: Values;
}

function operationsOf(document: OpenApiDocument): readonly Described[] {
  const values = new Values(document);
  const api = new DescribedApi(document);
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      api,
      method: method.toUpperCase(),
      path,
      operation,
      values,
    })),
  );
}

const DESCRIBED = [callerDocument(''), platformDocument()].flatMap(operationsOf);

function parametersOf({ operation }: Described): readonly DescribedParameter[] {
  return operation.parameters.map(Object).filter((parameter) => !('$ref' in parameter));
}

/** The request with these values of its parameters and this body. */
function askOf(
  described: Described,
  given: Readonly<Record<string, unknown>>,
  type: string | null,
  body: unknown,
): Ask {
  const parameters = parametersOf(described).filter(({ name }) => given[name] !== undefined);
  const texts = (place: DescribedParameter['in']) =>
    parameters
      .filter((one) => one.in === place)
      .map(({ name }): [string, string] => [name, String(given[name])]);
  const path = texts('path').reduce(
    (path, [name, text]) => path.replace(`{${name}}`, encodeURIComponent(text)),
    described.path,
  );
  const query = new URLSearchParams(texts('query')).toString();
  return {
    method: described.method,
    path: query === '' ? path : `${path}?${query}`,
    headers: { ...Object.fromEntries(texts('header')), ...(type === null ? {} : { 'Content-Type': type }) },
    ...(type === null ? {} : { body: `${JSON.stringify(body)}\n` }),
  };
}

/** Statuses of bad requests. */
const REFUSALS = [400, 405, 413, 415];

/** What holds between two members or parameters, and no schema can say; the descriptions do. */
const UNSAID =
  /must be after (?:from|againstFrom)|digits after the point; |must not be before from|goes with neither orderRef nor clientIdKey|is no place of this installation|is for keys of the whole installation/;

describe('a request that the API documents allow', () => {
  let live: Live;
  before(async () => {
    live = await Live.start();
  });
  after(() => live.stop());

  /** Which of these requests are refused, and what is not as documented of the problems that they meet. */
  async function complaints({ api, operation: { operationId } }: Described, asks: readonly Ask[]) {
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
        // What stands in the path must be there, unless the body says so.
        const given = { clientIdKey: 'ann', list: 'rings', value: 'device-1', version: 'p2.v20' };
        const needed = parametersOf(described).some((one) => one.name === 'If-Match' && one.required)
          ? { 'If-Match': '"1"' }
          : {};
        const answer = await live.ask(askOf(described, { ...given, ...needed }, type, example));
        expect(REFUSALS, answer.text).to.not.include(answer.status);
        expect(answer.text).to.not.include('"malformed');
      });
    }
  }
});
