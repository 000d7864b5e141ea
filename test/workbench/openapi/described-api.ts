import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { ResponseObject } from '#workbench/openapi/components.ts';
import type { OpenApiDocument, OperationObject } from '#workbench/openapi/document.ts';

/** An answer as it came, for comparison with the document. */
export interface LiveAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** One documented answer of one operation. */
export interface Promised {
  readonly operationId: string;
  readonly status: string;
}

/** A code that an operation may be refused with. */
export interface Coded {
  readonly operationId: string;
  readonly code: string;
  readonly status: number;
}

/** An API document for checking live answers; objects may have no other members. */
export class DescribedApi {
  readonly document: OpenApiDocument;
  readonly #ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  readonly #validators = new Map<string, ValidateFunction>();

  constructor(document: OpenApiDocument) {
    this.document = document;
    this.#ajv.addSchema({ $id: 'api', components: { schemas: closed(document.components.schemas) } });
  }

  /** Every documented answer, `default` left out. */
  promised(): readonly Promised[] {
    return this.operations().flatMap(({ operationId, responses }) =>
      Object.keys(responses)
        .filter((status) => status !== 'default')
        .map((status) => ({ operationId, status })),
    );
  }

  /** The differences of an answer from the document; empty when there is none. */
  complaints(operationId: string, answer: LiveAnswer): readonly string[] {
    const operation = this.operations().find((one) => one.operationId === operationId);
    const response = operation && this.responseOf(operation, String(answer.status));
    if (response === undefined) return [`${operationId} is not documented with ${answer.status}`];
    return [...this.#aboutHeaders(response, answer), ...this.#aboutBody(response, answer)];
  }

  /** What an operation answers with a status, also where operations share it. */
  responseOf({ responses }: Pick<OperationObject, 'responses'>, status: string): ResponseObject | undefined {
    const response = responses[status] ?? responses['default'];
    if (response === undefined || !('$ref' in response)) return response;
    return this.document.components.responses[response.$ref.replace(/^.*\//, '')];
  }

  /** Every code that the schemas of refusals list; those of `default` by the status of their example. */
  codes(): readonly Coded[] {
    return this.operations().flatMap(({ operationId, responses }) =>
      Object.keys(responses).flatMap((status) => {
        const refusal = this.responseOf({ responses }, status)?.content?.['application/problem+json'];
        const codes: readonly string[] = Object(refusal?.schema.allOf?.[1]).properties?.code.enum ?? [];
        const { examples } = this.document.components;
        return codes.map((code) => ({
          operationId,
          code,
          status: status === 'default' ? (examples[code]?.value.status ?? 0) : Number(status),
        }));
      }),
    );
  }

  operations() {
    return Object.values(this.document.paths).flatMap((methods) => Object.values(methods));
  }

  #aboutHeaders({ headers = {} }: ResponseObject, answer: LiveAnswer): readonly string[] {
    return Object.keys(headers).flatMap((name) => {
      const described = this.document.components.headers[name];
      const value = answer.headers.get(name);
      if (described === undefined) return [`${name} is not described`];
      if (value === null) return described.required === true ? [`${name} is missing`] : [];
      const read = described.schema.type === 'integer' ? Number(value) : value;
      const validate = this.#ajv.compile(described.schema);
      return validate(read) ? [] : [`${name}: ${this.#ajv.errorsText(validate.errors)}`];
    });
  }

  #aboutBody({ content = {} }: ResponseObject, { headers, text }: LiveAnswer): readonly string[] {
    const type = headers.get('Content-Type')?.split(';')[0] ?? '';
    if (Object.keys(content).length === 0) return text === '' ? [] : ['there is a body'];
    const media = content[type];
    if (media === undefined) return [`${type} is not documented`];
    if (type === 'text/plain') return [];
    const values = type === 'application/x-ndjson' ? text.trim().split('\n') : [text];
    return values.flatMap((value) => this.schemaComplaints(media.schema, JSON.parse(value)));
  }

  #problemComplaints(parts: readonly unknown[], value: unknown): readonly string[] {
    const [{ $ref }, { properties }] = [Object(parts[0]), Object(parts[1])];
    const { code, title, retryable } = Object(value);
    const isListed = properties.code.enum.includes(code);
    const documented = Object.values(this.document.components.examples).map((example) => example.value);
    const [example] = documented.filter((one) => one.code === code && one.title === title);
    const isTitled = example !== undefined;
    return [
      ...this.schemaComplaints({ $ref }, value),
      ...(isListed ? [] : [`the code ${code} is not listed`]),
      ...(isTitled && example.retryable !== retryable ? [`retryable of ${code} is ${retryable}`] : []),
      ...(!isListed || (isTitled && properties.title.enum.includes(title))
        ? []
        : [`the title ${title} is not documented for the code ${code}`]),
    ];
  }

  /** What is wrong with a value; for examples too. */
  schemaComplaints(
    schema: { readonly $ref?: string; readonly allOf?: readonly unknown[] },
    value: unknown,
  ): readonly string[] {
    if (schema.allOf !== undefined) return this.#problemComplaints(schema.allOf, value);
    const pointer = schema.$ref ?? '';
    const validate = this.#validators.get(pointer) ?? this.#ajv.compile({ $ref: `api${pointer}` });
    this.#validators.set(pointer, validate);
    return validate(value) ? [] : (validate.errors ?? []).map((e) => `${e.instancePath} ${e.message}`);
  }
}

/** The schema without additional members in objects that name their members. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const members = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closed(value)]));
  return 'properties' in schema &&
    schema.constructor === Object &&
    'type' in schema &&
    schema.type === 'object'
    ? { ...members, additionalProperties: false }
    : members;
}
