import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { CLIENT_GROUPS, VERDICTS } from '#decision/decision-words.ts';
import { NO_DECLARED_ATTRIBUTES } from '#decision/payer/attributes.ts';
import { OPERATOR_NAMES } from '#decision/rules/condition.ts';
import { type FactSummary, listQuestionsWithFacts } from '#decision/rules/fact-finder.ts';

/** The words of rule files, which the page's editor completes and explains. */
export interface RuleWords {
  readonly facts: readonly FactSummary[];
  readonly operators: readonly string[];
  readonly groups: readonly string[];
  readonly verdicts: readonly string[];
}

/** The page's files by name, as browsers get them. */
export type PageBundle = Readonly<Record<string, string>>;

const PAGE = join(import.meta.dirname, 'page');

/** The file of a container image with the page's files, which were bundled when the image was built. */
const BUILT = join(import.meta.dirname, '..', '..', 'console', 'bundled.json');

/** Returns the page's files. They were bundled with the container image, or are bundled now. */
export async function getPageBundle(): Promise<PageBundle> {
  return existsSync(BUILT) ? JSON.parse(readFileSync(BUILT, 'utf8')) : bundle();
}

function listRuleWords(): RuleWords {
  const facts = listQuestionsWithFacts(NO_DECLARED_ATTRIBUTES, null).flatMap((question) => question.facts);
  return {
    facts: [...new Map(facts.map((fact) => [fact.name, fact])).values()],
    operators: OPERATOR_NAMES,
    groups: CLIENT_GROUPS,
    verdicts: VERDICTS,
  };
}

/**
 * Bundles the page's modules with the packages that they use. All pages are in one file. The code that draws charts
 * is in a file that a page loads after its numbers. The editor of drafts is in a file that is loaded when a draft is
 * opened. The bundler's process ends afterwards.
 */
async function bundle(): Promise<PageBundle> {
  const bundler = await import('esbuild');
  try {
    const { outputFiles } = await bundler.build({
      entryPoints: ['start.ts', 'style.css'].map((name) => join(PAGE, name)),
      outdir: '/',
      chunkNames: '[name]',
      bundle: true,
      // The words are given as a text, because a text stays in the file that uses it. An object would be a file of
      // its own that all others load first.
      define: { RULE_WORDS: JSON.stringify(JSON.stringify(listRuleWords())) },
      // The font is not bundled. It is served as it is.
      external: ['*.woff2'],
      splitting: true,
      format: 'esm',
      minify: true,
      target: 'es2023',
      charset: 'utf8',
      write: false,
      logLevel: 'silent',
    });
    return Object.fromEntries(outputFiles.map(({ path, text }) => [basename(path), text]));
  } finally {
    await bundler.stop();
  }
}

// The build of a container image runs this module as a program.
if (import.meta.main) writeFileSync(BUILT, JSON.stringify(await bundle()));
