import { NO_DECLARED_ATTRIBUTES } from '#decision/payer/attributes.ts';
import { type FactSummary, listQuestionsWithFacts, TRUE_OR_FALSE } from '#decision/rules/fact-finder.ts';
import { TABLE_NAMES, TABLES } from '#history/archive/tables.ts';
import type { ExampleObject, ReferenceObject } from './components.ts';
import type { OpenApiDocument } from './document.ts';

interface Entry {
  readonly word: string;
  readonly meaning: string;
}

/** Renders the fact catalogue as the page `/docs/facts`. */
export function renderFactsPage(): string {
  return renderPage(
    'Facts',
    'What a rule may ask for, by the question that it answers. In brackets: the value, where it is not true or false, and the longest window.',
    listQuestionsWithFacts(NO_DECLARED_ATTRIBUTES, null)
      .map(({ question, exampleIsFor, example, declares, facts }) => {
        const entries = facts.map(toFactEntry);
        return `<h2>${escapeHtml(question)}</h2>\n<p>${escapeHtml(exampleIsFor)}:</p>\n${renderDeclaration(declares)}<pre><code>${escapeHtml(example)}</code></pre>\n${renderDefinitions(entries)}`;
      })
      .join('\n'),
  );
}

/** Renders the tables and columns of the archive as the page `/docs/columns`. */
export function renderColumnsPage(): string {
  return renderPage(
    'Tables of the archive',
    'Times are UTC. What the rules saw are further columns of decisions, such as fact_paidCount; null where the rule set did not ask for the fact, or its value was not known: facts_not_known has its label then.',
    renderEntries(
      TABLE_NAMES.map((table) => [
        `${table}: ${TABLES[table].description}`,
        TABLES[table].columns.map(({ name, type, description }) => ({
          word: `${name} ${type === 'TIMESTAMP_MS' ? 'TIMESTAMP' : type}`,
          meaning: description,
        })),
      ]),
    ),
  );
}

/**
 * Renders the codes of problems as the page `/docs/codes`. A code that most operations have is listed once, at the
 * top.
 */
export function renderCodesPage(documents: readonly OpenApiDocument[]): string {
  const all = documents.flatMap(listRefusals);
  const ids = [...new Set(all.map(({ operationId }) => operationId))];
  const rows = [...Map.groupBy(all, ({ code, when }) => `${code} ${when}`).values()].flatMap((same) => {
    const without = ids.filter((id) => same.every(({ operationId }) => operationId !== id));
    if (without.length >= same.length)
      return same.map((one) => ({ ...one, place: ids.indexOf(one.operationId) }));
    const operationId = without.length === 0 ? 'all' : `all but ${without.join(', ')}`;
    return same.slice(0, 1).map((one) => ({ ...one, operationId, place: -1 }));
  });
  const lines = rows
    .toSorted((a, b) => a.place - b.place)
    .map(({ operationId, code, status, when, todo }) =>
      ['<tr>', operationId, `<code>${code}</code>`, status, escapeHtml(when), todo].join('<td>'),
    );
  return renderPage(
    'Codes of problems',
    'Why an operation refuses a request. Programs should go by the code. Repeat after Retry-After, with growing pauses, and a verdict with its Idempotency-Key.',
    `<table>\n<tr><th>operation<th>code<th>status<th>when<th>what the caller does\n${lines.join('\n')}\n</table>`,
  );
}

function listRefusals({ paths, components }: OpenApiDocument) {
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  return operations.flatMap(({ operationId, responses }) =>
    Object.values(responses).flatMap((response) => {
      const { content = {} } = '$ref' in response ? getPart(components.responses, response) : response;
      return Object.values(content['application/problem+json']?.examples ?? {}).map((example) => {
        const { summary: when, value } = getPart(components.examples, example);
        return { operationId, code: value.code, status: value.status, when, todo: adviseCaller(value) };
      });
    }),
  );
}

function getPart<Part>(parts: Readonly<Record<string, Part>>, { $ref }: ReferenceObject): Part {
  const part = parts[$ref.replace(/^.*\//, '')];
  if (part === undefined) throw new Error(`the document has no ${$ref}`);
  return part;
}

/** Says what the caller should do about a refusal, by its kind. The detail of each problem says more. */
function adviseCaller({ status, retryable }: ExampleObject['value']): string {
  if (retryable) return 'repeats it';
  if (status === 401 || status === 403) return 'asks for access, or signs in';
  return [404, 409, 412, 422].includes(status)
    ? 'looks at what is there now, and decides anew'
    : 'mends the request';
}

function renderEntries(parts: readonly (readonly [string, readonly Entry[]])[]): string {
  const shown = parts.map(
    ([heading, entries]) => `<h2>${escapeHtml(heading)}</h2>\n${renderDefinitions(entries)}`,
  );
  return shown.join('\n');
}

function renderDefinitions(entries: readonly Entry[]): string {
  const lines = entries.map(
    ({ word, meaning }) => `<dt><code>${escapeHtml(word)}</code></dt><dd>${escapeHtml(meaning)}</dd>`,
  );
  return `<dl>\n${lines.join('\n')}\n</dl>`;
}

function renderDeclaration(text: string | undefined): string {
  if (text === undefined) return '';
  return `<pre><code># ruleset.yaml\n${escapeHtml(text)}</code></pre>\n`;
}

function renderPage(title: string, intro: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Client Scoring Service: ${escapeHtml(title)}</title>
<link rel="icon" href="data:,">
<h1>${escapeHtml(title)}</h1>
<p>${escapeHtml(intro)}</p>
${body}
</html>
`;
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

/** Formats the fact as a rule writes it, with the type of its value. */
function toFactEntry({ name, values, notes, description }: FactSummary): Entry {
  const told = [...(values === TRUE_OR_FALSE ? [] : [values]), ...notes];
  return { word: told.length === 0 ? name : `${name} (${told.join('; ')})`, meaning: description };
}
