import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/** The page's files by name, as browsers get them. */
export type Bundle = Readonly<Record<string, string>>;

const PAGE = join(import.meta.dirname, 'page');

/** Where an image has the files that were bundled as it was built. */
const BUILT = join(import.meta.dirname, '..', '..', 'console', 'bundled.json');

/** The page's files, bundled now or with the image. */
export async function buildBundle(): Promise<Bundle> {
  return existsSync(BUILT) ? JSON.parse(readFileSync(BUILT, 'utf8')) : bundle();
}

/**
 * The page's modules with the packages that they use: all places in one file, what draws charts in one that is
 * loaded after the figures, the editor of drafts in one that is loaded when a draft is opened. The bundler ends
 * when it is done.
 */
async function bundle(): Promise<Bundle> {
  const bundler = await import('esbuild');
  try {
    const { outputFiles } = await bundler.build({
      entryPoints: ['start.ts', 'style.css'].map((name) => join(PAGE, name)),
      outdir: '/',
      chunkNames: '[name]',
      bundle: true,
      // The font is served as it is.
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

// The image begins this module by itself.
if (import.meta.main) writeFileSync(BUILT, JSON.stringify(await bundle()));
