import type { OpenApiDocument, OperationObject } from '#workbench/openapi/document.ts';
import { createCallerApiDocument } from '#workbench/platform/caller-document.ts';
import { createPlatformDocument } from '#workbench/platform/platform-operations.ts';
import { DescribedApi } from './described-api.ts';
import type { Ask } from './live-api.ts';

/** JSON Schema as far as the documents describe requests with it. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly format?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly propertyNames?: Schema;
  readonly maxProperties?: number;
}

export interface DescribedParameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly schema: Schema;
}

export interface DescribedOperation {
  readonly api: DescribedApi;
  readonly method: string;
  readonly path: string;
  readonly operation: OperationObject;
}

/** Every operation of both documents. */
export function describedOperations(): readonly DescribedOperation[] {
  return [createCallerApiDocument(''), createPlatformDocument()].flatMap((document: OpenApiDocument) => {
    const api = new DescribedApi(document);
    return Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        ...{ api, path, operation },
        method: method.toUpperCase(),
      })),
    );
  });
}

export function parametersOf({ operation }: DescribedOperation): readonly DescribedParameter[] {
  return operation.parameters.map(Object).filter((parameter) => !('$ref' in parameter));
}

/** Values that parameters take. */
export const SAMPLES: Readonly<Record<string, string>> = {
  clientIdKey: 'ann',
  text: 'ann',
  list: 'rings',
  value: 'device-1',
  version: 'p2.v11',
  before: 'p2.v10',
  after: 'p2.v11',
  decisionId: 'AAAAAAAAAAAAAAAAAAAAAA.1.mwq8lds0',
  proposalId: 'none',
  keyId: 'none',
  jobId: 'none',
  'If-Match': '"1"',
};

/** A value of each parameter that an operation needs. */
export function requiredOf(described: DescribedOperation): Readonly<Record<string, string>> {
  const required = parametersOf(described).filter(({ required }) => required);
  return Object.fromEntries(
    required.map(({ name }) => {
      const value = SAMPLES[name];
      if (value === undefined) throw new Error(`SAMPLES has no value of the parameter ${name}`);
      return [name, value];
    }),
  );
}

/** The request with these values of its parameters and this body. */
export function askOf(
  described: DescribedOperation,
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
